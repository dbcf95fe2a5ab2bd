//! What a typed text means beyond its words: a command of the user, files and directories that it mentions.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use piton_agent::custom_commands::{Expanded, Piece};
use piton_agent::{Settings, custom_commands, mentions};

use super::attach::Attached;
use super::input::Input;
use super::shell::{Ended, Running, Words};
use super::stage::Stage;
use super::text::sendable;
use crate::render::visible::{visible, visible_name};
use crate::report::{Fault, InputFault};

/// Longest time of a command in the text of a command of the user.
const SHELL_MAX: Duration = Duration::from_mins(2);

/// What goes on while something is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Now {
    /// Nothing.
    Idle,
    /// A turn, which must not be kept waiting.
    Busy,
}

/// What a typed text brings along.
#[derive(Debug, Default)]
pub(super) struct Brought {
    /// Files that it mentions, as they are typed.
    pub(super) files: Vec<PathBuf>,
    /// Who answers, if its command says so.
    pub(super) model: Option<String>,
}

/// Puts the text of a command in the place of its name, and finds what the text mentions.
pub(super) async fn understand(
    input: &mut Input,
    settings: &Settings,
    now: Now,
    stage: &mut Stage<'_>,
) -> Result<Brought, Fault> {
    let Some(text) = &mut input.text else { return Ok(Brought::default()) };
    let mut brought = Brought::default();
    let mut said = Said::default();
    match custom_commands::expand(settings, text).map_err(InputFault::Custom)? {
        Some(expanded) => {
            brought.model.clone_from(&expanded.model);
            said = put_together(expanded, settings, now, stage).await?;
            *text = sendable(std::mem::take(&mut said.whole))?;
        }
        None => said.mine.clone_from(text),
    }
    let (here, workspace) = (settings.directory()?, settings.workspace()?);
    let mut paths = Vec::new();
    for path in mentions::mentioned(&said.mine, here) {
        if mentions::leads_out(&path, here, workspace) {
            stage.output.talk(&format!(
                "warning: @{} is a link that leads out of the workspace, and does not go along; to send what \
                 it leads to, name that",
                visible_name(&path.to_string_lossy())
            ));
        } else {
            paths.push(path);
        }
    }
    // Whoever wrote a repository must not choose among the files of this machine.
    let theirs = mentions::mentioned(&said.theirs, here).into_iter();
    paths.extend(theirs.filter(|path| mentions::is_inside(path, here, workspace)));
    let mut seen = BTreeSet::new();
    for path in paths.into_iter().filter(|path| seen.insert(path.clone())) {
        let Ok(found) = fs::metadata(here.join(&path)) else { continue };
        if found.is_dir() {
            let (name, text) = mentions::listing(&path, here);
            input.listings.push(Attached::text(name, text));
        } else if 0 < found.len() || !found.is_file() {
            brought.files.push(path);
        }
    }
    Ok(brought)
}

/// What a command says, with the output of commands in their places.
#[derive(Debug, Default)]
struct Said {
    whole: String,
    /// What of it the person wrote: it may mention any file.
    mine: String,
    /// What others wrote: a repository, and the output of commands.
    theirs: String,
}

/// What a command of the user says, with the output of commands in their places.
async fn put_together(
    Expanded { name, of, words, pieces, .. }: Expanded,
    settings: &Settings,
    now: Now,
    stage: &mut Stage<'_>,
) -> Result<Said, Fault> {
    if now == Now::Busy && pieces.iter().any(|piece| matches!(piece, Piece::Shell(_))) {
        return Err(InputFault::CustomLater { name }.into());
    }
    let mut said = Said::default();
    for (place, piece) in pieces.into_iter().enumerate() {
        match piece {
            Piece::Text(text) => {
                said.whole.push_str(&text);
                // The first piece is what was typed.
                let of_person = place == 0 || of.is_none();
                let whose = if of_person { &mut said.mine } else { &mut said.theirs };
                whose.push_str(&text);
            }
            Piece::Shell(command) => {
                stage.output.talk(&format!("/{name} runs: {}", visible(&command)));
                let words = Words { name: &name, all: &words };
                let Ended { output, how, is_ok } =
                    output_of(&command, words, settings, stage).await?;
                said.whole.push_str(&output);
                said.theirs.push_str(&output);
                // What stands behind it must not become one word with what stands in front.
                said.mine.push(' ');
                said.theirs.push(' ');
                if !is_ok {
                    stage.output.talk(&format!("warning: it failed ({how}); the message says so"));
                    // Writing to a string cannot fail.
                    write!(said.whole, "\n[{how}]").unwrap_or_default();
                }
            }
        }
    }
    Ok(said)
}

/// Runs a command to its end, or until the person or the time stops it.
async fn output_of(
    command: &str,
    words: Words<'_>,
    settings: &Settings,
    stage: &mut Stage<'_>,
) -> Result<Ended, Fault> {
    let mut running = Running::start(command, words, settings).map_err(InputFault::Command)?;
    let mut time = std::pin::pin!(tokio::time::sleep(SHELL_MAX));
    loop {
        tokio::select! {
            biased;
            _ = stage.signals.next() => {
                running.kill();
                return Err(Fault::Interrupted);
            }
            next = running.next() => if next.is_none() { break },
            () = &mut time => {
                running.kill();
                break;
            }
        }
    }
    Ok(running.ended())
}
