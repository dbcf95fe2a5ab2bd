//! The commands of a chat: lines that begin with a slash.

use std::fmt::Write as _;

/// One row of the table of commands.
#[derive(Debug)]
struct Row {
    name: &'static str,
    /// What is written behind the name.
    takes: &'static str,
    /// What it does, for the help.
    does: &'static str,
    /// Whether it can be said while a turn runs.
    busy: bool,
}

/// The commands, in the order of the help.
const ROWS: [Row; 31] = [
    row("new", "", "begin another conversation", false),
    row("resume", "[ID]", "go on with another conversation; without an id, choose one", false),
    row("fork", "[TURN]", "go on in a fork; with a number, in one in front of that turn", false),
    row(
        "rewind",
        "[TURN]",
        "show the turns, or go back in front of one; files are asked about",
        false,
    ),
    row("continue", "", "go on with the incomplete turn", false),
    row(
        "retry",
        "[MODEL]",
        "try the last message again from scratch, or with another model",
        false,
    ),
    row("edit", "[TEXT]", "change the last message and send that, in a fork", false),
    row("discard", "", "discard the incomplete turn; it stays in the journal, hidden", false),
    row("model", "[MODEL]", "show who answers, or choose", false),
    row("effort", "[LEVEL]", "show how much the model thinks, or choose", false),
    row("limit", "[$N|N|steps N|off]", "show what a turn may cost or use, or set it", false),
    row("mode", "[MODE]", "show what may run without asking, or choose", false),
    row(
        "permissions",
        "[revoke N]",
        "show the rules that say what may run, or take one back",
        false,
    ),
    row(
        "dirs",
        "[add|remove DIR]",
        "show the directories beside the workspace, or change them",
        false,
    ),
    row("mcp", "[tools]", "show the servers of tools, or what they offer", false),
    row("print", "[TURNS]", "show the conversation again, or turns of it: 3, 2..4, -1", false),
    row("attempts", "[TURNS]", "show all attempts of the last message, or of other turns", false),
    row("rename", "TITLE", "give the conversation another title", false),
    row("export", "[FILE]", "write the conversation to a file: .md, .html or .jsonl", false),
    row("archive", "", "put the conversation away; the next message begins another one", false),
    row("status", "", "show the conversation, who answers, and how", false),
    row("diff", "", "show what the conversation changed in files", false),
    row("undo", "[N]", "take the last change of a file back; with a number, change N", false),
    row("compact", "[FOCUS]", "sum up the older part, so that requests are smaller", false),
    row("uncompact", "", "take the summary off", false),
    row("tokens", "", "show what the conversation has used", true),
    row(
        "queue",
        "[TEXT|drop|…]",
        "show the messages that wait, add one, or edit|move|rm|steer|next N",
        true,
    ),
    row("steer", "TEXT", "say something to the turn that runs, before its next request", true),
    row("btw", "TEXT", "ask something on the side: no tools, no trace in the conversation", true),
    row("help", "", "show this", true),
    row("quit", "", "leave; a turn that runs is stopped, and everything is kept", true),
];

/// Other names of commands.
const OTHER_NAMES: [(&str, &str); 5] =
    [("exit", "quit"), ("clear", "new"), ("budget", "limit"), ("cost", "tokens"), ("?", "help")];

const fn row(name: &'static str, takes: &'static str, does: &'static str, busy: bool) -> Row {
    Row { name, takes, does, busy }
}

/// A command of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slash {
    /// Its name, as the table has it.
    pub(crate) name: &'static str,
    /// What is written behind it.
    pub(crate) words: String,
}

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Something to say to the model.
    Message(String),
    /// A command of the chat.
    Command(Slash),
    /// A command for the shell.
    Shell(String),
    /// A name that no command has.
    Unknown(String),
}

/// Reads a line. `is_custom` says whether the user has a command of that name, which is a message.
pub(crate) fn meaning(line: &str, is_custom: impl Fn(&str) -> bool) -> Meaning {
    let trimmed = line.trim();
    if let Some(command) = trimmed.strip_prefix('!').filter(|command| !command.trim().is_empty()) {
        return Meaning::Shell(command.trim().to_owned());
    }
    let Some(rest) = line.strip_prefix('/') else { return Meaning::Message(line.to_owned()) };
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, it)| it);
    if let Some(row) = ROWS.iter().find(|row| row.name == known) {
        return Meaning::Command(Slash { name: row.name, words: words.trim().to_owned() });
    }
    // A path is no command, and neither is a comment of some language.
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|it| it.is_alphanumeric() || "-_:.".contains(it))
    };
    if is_name(name) && !is_custom(name) {
        Meaning::Unknown(name.to_owned())
    } else {
        Meaning::Message(line.to_owned())
    }
}

impl Slash {
    /// Whether it can be said while a turn runs.
    pub(crate) fn is_possible_while_busy(&self) -> bool {
        ROWS.iter().any(|row| row.name == self.name && row.busy)
    }
}

/// The names of all commands.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

/// The help.
pub(crate) fn help() -> String {
    let left = |row: &Row| format!("/{} {}", row.name, row.takes);
    let width = ROWS.iter().map(|row| left(row).len()).max().unwrap_or_default();
    let mut help = String::new();
    for row in &ROWS {
        // Writing to a string cannot fail.
        writeln!(help, "  {:width$}  {}", left(row), row.does).unwrap_or_default();
    }
    help
        + "  !COMMAND                run a command of yours; its output goes along with your next message
  @PATH                   attach a file or a listing; Tab completes paths and commands

  Enter sends, Alt-Enter or \\ and Enter begins another line, Ctrl-D leaves.
  While a turn runs: a line is queued, Ctrl-C or Escape stops the turn and keeps its work."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(name: &'static str, words: &str) -> Meaning {
        Meaning::Command(Slash { name, words: words.into() })
    }

    #[test]
    fn a_line_is_a_message_or_a_command() {
        let message = |text: &str| Meaning::Message(text.into());
        for (line, expected) in [
            ("hello", message("hello")),
            ("/new", command("new", "")),
            ("/exit", command("quit", "")),
            ("/budget $2", command("limit", "$2")),
            ("/model  demo ", command("model", "demo")),
            ("/btw what is\nthis?", command("btw", "what is\nthis?")),
            ("/review now", message("/review now")),
            ("/usr/bin is a path", message("/usr/bin is a path")),
            ("// a comment", message("// a comment")),
            (" /new is a message", message(" /new is a message")),
            ("/modle x", Meaning::Unknown("modle".into())),
            ("!ls -l", Meaning::Shell("ls -l".into())),
            ("!", message("!")),
            ("/", message("/")),
        ] {
            assert_eq!(meaning(line, |name| name == "review"), expected, "{line}");
        }
    }

    // K60
    #[test]
    fn what_changes_the_conversation_waits_until_a_turn_is_over() {
        let busy = |name| Slash { name, words: String::new() }.is_possible_while_busy();
        assert!(["btw", "queue", "steer", "tokens", "help", "quit"].into_iter().all(busy));
        assert!(!["new", "resume", "model", "mode", "undo"].into_iter().any(busy));
    }

    #[test]
    fn the_help_names_every_command_and_fits_a_screen() {
        let help = help();
        assert!(names().all(|name| help.contains(&format!("  /{name} "))), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 96), "{help}");
    }
}
