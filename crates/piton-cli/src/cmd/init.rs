//! `piton init`: a first `AGENTS.md`, shown before it is written.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};

use piton_agent::{Settings, init};

use crate::ask::not_understood;
use crate::flags::Init;
use crate::output::Output;
use crate::report::{Fault, Report};
use crate::signals::Signals;
use crate::terminal::Terminal;

const FILE: &str = "AGENTS.md";

/// Shows the text, and writes it if a person agrees.
pub(crate) async fn run(
    flags: Init,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let path = settings.workspace()?.join(FILE);
    if path.exists() {
        return Ok(Report::nothing(&format!("{} is there already, and stays.", path.display())));
    }
    let text = init::propose(settings.workspace()?);
    output.data(&text);
    let may_ask = settings.environment.value("PITON_NO_INPUT").is_none();
    let is_wanted = match may_ask.then(Terminal::open).and_then(Result::ok) {
        _ if flags.yes => true,
        Some(terminal) => {
            agrees(terminal, &format!("Write this to {}? [y/N] ", path.display())).await?
        }
        None => {
            output.talk("Nothing is written; to write it: piton init --yes");
            return Ok(Report::ok("shown"));
        }
    };
    if !is_wanted {
        return Ok(Report::nothing("Nothing is written."));
    }
    // Another program may have made it since: theirs stays.
    let written = OpenOptions::new().write(true).create_new(true).open(&path);
    match written.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => output.talk(&format!(
            "{} is written. Its commands were found, not run: mend what is wrong, and add what cannot be seen in the code.",
            path.display()
        )),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Ok(Report::nothing(&format!("{} is there already, and stays.", path.display())));
        }
        Err(source) => return Err(Fault::Write { path, source }),
    }
    Ok(Report::ok("written"))
}

/// Whether the person says yes.
pub(super) async fn agrees(mut terminal: Terminal, question: &str) -> Result<bool, Fault> {
    let mut signals = Signals::listen()?;
    let mut unclear = String::new();
    loop {
        // What was typed before is no answer.
        terminal.forget_typed();
        terminal.show(&format!("{unclear}{question}"));
        let line = tokio::select! {
            biased;
            _ = signals.next() => return Err(Fault::Interrupted),
            line = terminal.line() => line.ok_or(Fault::Interrupted)?,
        };
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "" | "n" | "no" => return Ok(false),
            _ => unclear = not_understood("y or n"),
        }
    }
}
