//! `piton undo --turn`: all changes of files that a turn made, file by file.

use std::time::Duration;

use piton::undo::{ChangedFile, FileChange, FileChanges, FileFate};
use piton_agent::Settings;
use piton_core::id::TurnId;
use piton_core::summary::name_on_one_line;
use piton_core::view::View;

use super::back;
use crate::cmd::fork::find;
use crate::flags::Undo;
use crate::output::Output;
use crate::render::visible::visible_name;
use crate::report::{Fault, ForkFault, Report, UndoFault};

/// What is wanted of the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Take them back.
    Back,
    /// Make those again that were taken back.
    Again,
}

/// Takes all changes of a turn back, or makes them again. 0 is the last turn.
pub(super) async fn run(
    undo: &Undo,
    number: u32,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (engine, id) = find(undo.id.as_deref(), settings, output).await?;
    let view = engine.view(&id).await?;
    let nowhere = || ForkFault::NoPlace { typed: number.to_string() };
    let turn = turn(&view, number).ok_or_else(nowhere)?;
    let files = engine.changes_of_turns(&id, turn, turn).await;
    engine.shutdown(Duration::ZERO).await;
    let (files, wanted) = (files?, if undo.again { Wanted::Again } else { Wanted::Back });
    preview(&files, wanted, output);
    if undo.preview {
        return Ok(Report::ok("done"));
    }
    match take_back(&files, wanted, (undo.wait, settings), output).await? {
        0 => Ok(Report::ok("done")),
        left_alone => Ok(left(left_alone)),
    }
}

fn turn(view: &View, number: u32) -> Option<TurnId> {
    let mut turns = view.turns.iter().map(|turn| turn.head.id);
    if number == 0 { turns.next_back() } else { turns.find(|turn| turn.0 == number) }
}

/// Shows what becomes of each file.
pub(crate) fn preview(files: &[ChangedFile], wanted: Wanted, output: &mut Output) {
    if files.is_empty() {
        output.talk("No file was changed there by piton, or its old version is no longer kept.");
    }
    for file in files {
        let path = visible_name(&file.path);
        let count = match file.changes.len() {
            1 => "1 change".to_owned(),
            count => format!("{count} changes"),
        };
        let fate = match (file.fate, wanted) {
            (FileFate::TakenBack, Wanted::Again) => "made again",
            (FileFate::TakenBack, Wanted::Back) => "taken back already",
            (_, Wanted::Again) => "stays: nothing of it was taken back",
            (FileFate::Restored, Wanted::Back) => "gets its old content",
            (FileFate::Removed, Wanted::Back) => "goes: it was not there before",
            (FileFate::Conflict | _, Wanted::Back) => {
                "stays: it was changed since by somebody else"
            }
        };
        output.talk(&format!("  {path}  ({count})  {fate}"));
    }
}

/// Does it, file by file. Says how many files were left as they are.
pub(crate) async fn take_back(
    files: &[ChangedFile],
    wanted: Wanted,
    (wait_s, settings): (u64, &Settings),
    output: &mut Output,
) -> Result<usize, Fault> {
    let mut left = 0;
    for file in files {
        let changes: Vec<&FileChange> = match (file.fate, wanted) {
            (FileFate::Restored | FileFate::Removed, Wanted::Back) => file.changes.iter().collect(),
            (FileFate::TakenBack, Wanted::Again) => file.changes.iter().rev().collect(),
            (FileFate::Conflict, Wanted::Back) => {
                left += 1;
                continue;
            }
            (_, Wanted::Back | Wanted::Again) => continue,
        };
        for change in changes {
            if let Err(reason) = one(change, wait_s, settings, output).await? {
                let path = name_on_one_line(&file.path);
                output.talk(&format!("`{path}` stays as it is: {reason}"));
                left += 1;
                break;
            }
        }
    }
    Ok(left)
}

/// Takes one change back, or makes it again. A reason why not leaves the others a chance.
async fn one(
    change: &FileChange,
    wait_s: u64,
    settings: &Settings,
    output: &mut Output,
) -> Result<Result<(), String>, Fault> {
    let told = match back::take_back(change, wait_s, settings, output).await {
        Ok(Some(end)) => back::told(change, end),
        Ok(None) => {
            let changes = FileChanges::new(&settings.scratch()?);
            changes.take_back_unrecorded(change).map_err(|refusal| refusal.to_string())
        }
        Err(Fault::Undo(UndoFault::Refused { reason, .. })) => Err(reason),
        Err(fault) => return Err(fault),
    };
    Ok(told.map(|told| output.talk(&told)))
}

/// Some files stay as they are.
pub(crate) fn left(files: usize) -> Report {
    Report::broken(&match files {
        1 => "1 file stays as it is.".to_owned(),
        files => format!("{files} files stay as they are."),
    })
}
