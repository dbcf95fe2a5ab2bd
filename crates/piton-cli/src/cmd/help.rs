//! `piton help`: commands, and the documents for users, which are part of the binary. `piton completions`.

use std::collections::BTreeSet;

use clap::CommandFactory as _;
use piton_agent::Settings;

use crate::flags::{Completions, Flags, Help, Shell};
use crate::log;
use crate::output::Output;
use crate::render::markdown;
use crate::report::{Fault, Report};

/// The documents for users, by topic.
const TOPICS: [(&str, &str); 31] = [
    ("chat", include_str!("../../../../docs/chat.md")),
    ("models", include_str!("../../../../docs/models.md")),
    ("cost", include_str!("../../../../docs/cost.md")),
    ("context", include_str!("../../../../docs/context.md")),
    ("instructions", include_str!("../../../../docs/instructions.md")),
    ("skills", include_str!("../../../../docs/skills.md")),
    ("trust", include_str!("../../../../docs/trust.md")),
    ("input", include_str!("../../../../docs/input.md")),
    ("find", include_str!("../../../../docs/find.md")),
    ("permissions", include_str!("../../../../docs/permissions.md")),
    ("terminal", include_str!("../../../../docs/terminal.md")),
    ("ci", include_str!("../../../../docs/ci.md")),
    ("shell", include_str!("../../../../docs/shell.md")),
    ("retry", include_str!("../../../../docs/retry.md")),
    ("held", include_str!("../../../../docs/held.md")),
    ("forks", include_str!("../../../../docs/forks.md")),
    ("sandbox", include_str!("../../../../docs/sandbox.md")),
    ("edits", include_str!("../../../../docs/edits.md")),
    ("tools", include_str!("../../../../docs/tools.md")),
    ("hooks", include_str!("../../../../docs/hooks.md")),
    ("mcp", include_str!("../../../../docs/mcp.md")),
    ("subagents", include_str!("../../../../docs/subagents.md")),
    ("attach", include_str!("../../../../docs/attach.md")),
    ("serve", include_str!("../../../../docs/serve.md")),
    ("page", include_str!("../../../../docs/page.md")),
    ("import", include_str!("../../../../docs/import.md")),
    ("settings", include_str!("../../../../docs/settings.md")),
    ("doctor", include_str!("../../../../docs/doctor.md")),
    ("json", include_str!("../../../../docs/json.md")),
    ("sim", include_str!("../../../../docs/sim.md")),
    ("glossary", include_str!("../../../../docs/glossary.md")),
];

/// Shows a document, or how a command is called. A command and a topic may have one name: both are
/// shown.
pub(crate) fn run(flags: &Help, settings: &Settings, output: &mut Output) -> Result<Report, Fault> {
    let mut root = Flags::command();
    root.build();
    if flags.words.is_empty() {
        output.page_of(&root.render_long_help().to_string());
        let names: Vec<_> = TOPICS.iter().map(|(name, _)| *name).collect();
        output.page_of(&format!("\nTopics: {}\n", names.join(", ")));
        if let Some(log) = log::place(settings) {
            output.data(&format!("Log: {} (piton help doctor)\n", log.display()));
        }
        return Ok(Report::ok("done"));
    }
    let mut command = Some(&mut root);
    for word in &flags.words {
        command = command.and_then(|command| command.find_subcommand_mut(word));
    }
    let usage = command.map(|command| command.render_long_help().to_string());
    let topic = match flags.words.as_slice() {
        [word] => TOPICS.iter().find(|(name, _)| name == word).map(|(_, text)| *text),
        _ => None,
    };
    if usage.is_none() && topic.is_none() {
        return Err(Fault::NoTopic { near: near(&flags.words.join(" ")) });
    }
    if let Some(usage) = usage {
        output.page_of(&usage);
    }
    match (topic, output.page()) {
        (Some(text), Some(page)) => output.paint(&markdown::whole(text, page)),
        (Some(text), None) => output.data(text),
        (None, _) => {}
    }
    Ok(Report::ok("done"))
}

/// Commands and topics that may be meant.
fn near(typed: &str) -> Vec<String> {
    let root = Flags::command();
    let commands = root.get_subcommands().map(|command| command.get_name().to_owned());
    let topics = TOPICS.iter().map(|(name, _)| (*name).to_owned());
    let names: BTreeSet<_> = commands.chain(topics).collect();
    piton_agent::near(typed, names.iter().map(String::as_str))
}

/// Prints what a shell completes with, or a page for `man`.
pub(crate) fn completions(flags: &Completions, output: &mut Output) -> Report {
    let mut root = Flags::command();
    let mut text = Vec::new();
    let mut generate = |shell| clap_complete::generate(shell, &mut root, "piton", &mut text);
    match flags.shell {
        Shell::Bash => generate(clap_complete::Shell::Bash),
        Shell::Zsh => generate(clap_complete::Shell::Zsh),
        Shell::Fish => generate(clap_complete::Shell::Fish),
        Shell::Man => {
            // Writing to memory cannot fail.
            clap_mangen::Man::new(root).render(&mut text).unwrap_or_default();
        }
    }
    output.data(&String::from_utf8_lossy(&text));
    Report::ok("done")
}
