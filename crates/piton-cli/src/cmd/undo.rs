//! `piton undo`: takes back what a tool changed in a file, unless the file was changed since.
//!
//! The list is read from the kept versions. Taking one back is a command to the conversation that made
//! the change, wherever that is worked on.

mod back;
pub(crate) mod turn;

use piton::clock::{Clock as _, SystemClock};
use piton::undo::{FileChange, FileChangeState, FileChanges};
use piton_agent::Settings;

use self::back::{take_back, told};
use crate::flags::{Undo, Which};
use crate::output::Output;
use crate::render::age::age;
use crate::render::lines::Line;
use crate::render::visible::visible_name;
use crate::report::{Fault, Report, UndoFault};

/// Lists, shows or takes back.
pub(crate) async fn run(
    undo: &Undo,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    if let Some(number) = undo.turn {
        return turn::run(undo, number, settings, output).await;
    }
    let changes = FileChanges::new(&settings.scratch()?);
    let found = of_conversation(changes.of_all(&settings.found_from_here()?), undo.id.as_deref());
    if undo.list || undo.which == Some(Which::List) {
        list(&found, undo.json, output);
        return Ok(Report::ok("done"));
    }
    let change = match undo.number() {
        Some(number) => found.iter().find(|change| change.number == number),
        None => found.iter().find(|change| change.state != FileChangeState::TakenBack),
    };
    let Some(change @ FileChange { number, .. }) = change else {
        let Some(number) = undo.number() else {
            output.talk("Nothing to take back in this directory.");
            return Ok(Report::ok("nothing"));
        };
        return Err(UndoFault::Unknown { number }.into());
    };
    let refused = |reason: String| UndoFault::Refused { number: *number, reason };
    if undo.show {
        let content = changes.content_before(change).map_err(|error| refused(error.to_string()))?;
        let content = content.ok_or_else(|| refused("the file did not exist before".into()))?;
        let text = String::from_utf8_lossy(&content);
        if undo.json {
            output.json(&Line::Version { number: *number, path: &change.path, text: &text });
        } else {
            output.document(&text);
        }
        return Ok(Report::ok("done"));
    }
    // What was changed together is taken back together, unless one of the files is named.
    let is_beside = |other: &&FileChange| {
        let is_same = (&other.patch, &other.conversation) == (&change.patch, &change.conversation);
        other.state != FileChangeState::TakenBack && is_same && other.number != *number
    };
    let beside = found.iter().filter(is_beside);
    let beside = beside.filter(|_| undo.number().is_none() && change.patch.is_some());
    for change in [change].into_iter().chain(beside) {
        let refused = |reason: String| UndoFault::Refused { number: change.number, reason };
        let told = match take_back(change, undo.wait, settings, output).await? {
            Some(end) => told(change, end).map_err(refused)?,
            None => changes.take_back_unrecorded(change).map_err(|it| refused(it.to_string()))?,
        };
        output.talk(&told);
    }
    Ok(Report::ok("done"))
}

/// Those of a conversation, or of all whose ids begin so.
fn of_conversation(mut changes: Vec<FileChange>, typed: Option<&str>) -> Vec<FileChange> {
    let id = typed.unwrap_or_default().trim().to_lowercase();
    changes.retain(|change| change.conversation.as_str().starts_with(&id));
    changes
}

fn list(changes: &[FileChange], json: bool, output: &mut Output) {
    if changes.is_empty() && !json {
        output.talk("Nothing to take back in this directory.");
    }
    let now = SystemClock.now();
    for change in changes {
        let FileChange { number, conversation, path, state, at, .. } = change;
        let (word, state) = match state {
            FileChangeState::ChangedSince => ("changed", "changed since"),
            FileChangeState::TakenBack => ("taken_back", "taken back"),
            FileChangeState::HalfTakenBack => ("half_taken_back", "half taken back"),
            FileChangeState::Made => ("made", ""),
        };
        if json {
            let conversation = conversation.as_str();
            let (number, state, at) = (*number, word, at.0);
            output.json(&Line::Change { number, conversation, path, state, at });
            continue;
        }
        let (when, path) = (age(*at, now), visible_name(path));
        let line = format!("{number:>3}  {when:<9}  {conversation}  {path}  {state}");
        output.lines(line.trim_end());
    }
}
