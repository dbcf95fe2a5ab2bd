//! What a typed text means beyond its words: a command of the user, files and directories that it mentions.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use piton_agent::custom_commands::{BroughtLines, CustomFault, Expanded, Piece, RanLine};
use piton_agent::{Agent, Overrides, Settings, custom_commands, mentions};

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

/// What programs are run with that the text of a command names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs<'a> {
    pub(super) settings: &'a Settings,
    /// What the sandbox is made of. Absent where a flag or the settings make no sense: then nothing of a workspace
    /// runs, and the typed text stays as it is.
    pub(super) confining: Option<(&'a Agent, &'a Overrides)>,
    pub(super) now: Now,
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
    runs: Runs<'_>,
    stage: &mut Stage<'_>,
) -> Result<Brought, Fault> {
    let settings = runs.settings;
    let Some(text) = &mut input.text else { return Ok(Brought::default()) };
    let mut brought = Brought::default();
    let mut said = Said::default();
    match custom_commands::expand(settings, text).map_err(InputFault::Custom)? {
        Some(expanded) if runs.can_run(&expanded) => {
            brought.model.clone_from(&expanded.model);
            // On the heap: few messages have such a text.
            said = Box::pin(put_together(expanded, runs, stage)).await?;
            *text = sendable(std::mem::take(&mut said.whole))?;
        }
        Some(_) | None => said.mine.clone_from(text),
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

impl Runs<'_> {
    /// Whether all that the text of a command starts can be run as it has to be.
    fn can_run(&self, expanded: &Expanded) -> bool {
        expanded.of.is_none() || self.confining.is_some() || !expanded.pieces.iter().any(is_line)
    }

    /// How the lines of a command of the workspace are run.
    fn lines_of(&self, name: &str) -> Result<BroughtLines, InputFault> {
        let Some((agent, overrides)) = self.confining else {
            let why = "what its sandbox is made of is not known".to_owned();
            return Err(InputFault::Custom(CustomFault::NotRun { name: name.to_owned(), why }));
        };
        agent.brought_lines(name, overrides).map_err(InputFault::Custom)
    }
}

fn is_line(piece: &Piece) -> bool {
    matches!(piece, Piece::Shell(_))
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
    runs: Runs<'_>,
    stage: &mut Stage<'_>,
) -> Result<Said, Fault> {
    let starts_programs = pieces.iter().any(is_line);
    if runs.now == Now::Busy && starts_programs {
        return Err(InputFault::CustomLater { name }.into());
    }
    // Nobody can tell from its words which files a line of a workspace runs, so it runs in the sandbox.
    let brought = match &of {
        Some(_) if starts_programs => Some(runs.lines_of(&name)?),
        Some(_) | None => None,
    };
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
                let words = Words { name: &name, all: &words };
                let Ended { output, how, is_ok } = match &brought {
                    Some(lines) => brought_output(&command, words, lines, stage).await?,
                    None => output_of(&command, words, runs.settings, stage).await?,
                };
                said.whole.push_str(&output);
                said.theirs.push_str(&output);
                // What stands behind it must not become one word with what stands in front.
                said.mine.push(' ');
                said.theirs.push(' ');
                if !is_ok {
                    let told = how.lines().next().unwrap_or_default().trim_end_matches(']');
                    let told = visible(told);
                    stage.output.talk(&format!("warning: it failed ({told}); the message says so"));
                    // Writing to a string cannot fail.
                    write!(said.whole, "\n[{how}]").unwrap_or_default();
                }
            }
        }
    }
    Ok(said)
}

/// Runs a line that a workspace brings to its end, or until the person or the time stops it.
async fn brought_output(
    line: &str,
    words: Words<'_>,
    lines: &BroughtLines,
    stage: &mut Stage<'_>,
) -> Result<Ended, Fault> {
    let place = if lines.is_confined() { " in the sandbox" } else { "" };
    stage.output.talk(&format!("/{} runs{place}: {}", words.name, visible(line)));
    let RanLine { output, remarks, is_ok } = tokio::select! {
        biased;
        _ = stage.signals.next() => return Err(Fault::Interrupted),
        ran = lines.run(line, words.all) => ran,
    };
    if is_ok && !remarks.is_empty() {
        stage.output.talk(&visible(&remarks));
    }
    let how = remarks.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok(Ended { output, how, is_ok })
}

/// Runs a command of the user's own to its end, or until the person or the time stops it.
async fn output_of(
    command: &str,
    words: Words<'_>,
    settings: &Settings,
    stage: &mut Stage<'_>,
) -> Result<Ended, Fault> {
    stage.output.talk(&format!("/{} runs: {}", words.name, visible(command)));
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
