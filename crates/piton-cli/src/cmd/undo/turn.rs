//! `piton undo --turn`: all changes of files that a turn made, file by file.

use std::time::Duration;

use piton::Engine;
use piton::undo::{ChangedFile, FileChange, FileChanges, FileFate};
use piton_agent::Settings;
use piton_core::id::{ConversationId, TurnId};
use piton_core::summary::name_on_one_line;
use piton_core::view::{CallState, CallView, Outcome, TurnView, View};

use super::back;
use crate::cmd::fork::find;
use crate::cmd::place::turn_at;
use crate::flags::{Place, Undo};
use crate::output::{Form, Output};
use crate::render::lines::Line;
use crate::render::visible::visible_name;
use crate::report::{Fault, Report, UndoFault};

/// The tool that runs commands.
const SHELL: &str = "shell";

/// What is wanted of the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Take them back.
    Back,
    /// Make those again that were taken back.
    Again,
}

/// What turns did: their changes of files, and what else stays.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) files: Vec<ChangedFile>,
    /// That they ran commands, whose changes nobody knows.
    ran: Option<String>,
}

impl Done {
    /// What the turns from `first` to `last` did.
    pub(crate) async fn of(
        engine: &Engine,
        (id, view): (&ConversationId, &View),
        first: TurnId,
        last: TurnId,
    ) -> Result<Self, Fault> {
        let files = engine.changes_of_turns(id, first, last).await?;
        let turns = view.turns.iter().filter(|turn| first <= turn.head.id && turn.head.id <= last);
        Ok(Self { files, ran: ran(&turns.collect::<Vec<_>>()) })
    }

    /// Shows what becomes of each file.
    pub(crate) fn show(&self, wanted: Wanted, form: Form, output: &mut Output) {
        if self.files.is_empty() && self.ran.is_none() {
            output
                .talk("No file was changed there by piton, or its old version is no longer kept.");
        }
        for file in &self.files {
            let path = visible_name(&file.path);
            let count = match file.changes.len() {
                1 => "1 change".to_owned(),
                count => format!("{count} changes"),
            };
            output.talk(&format!("  {path}  ({count})  {}", fate(file.fate, wanted)));
            if form == Form::Json {
                output.json(&line(file, false));
            }
        }
        if let Some(ran) = &self.ran {
            output.talk(ran);
        }
    }

    /// Does it, file by file. Says how many files were left as they are.
    pub(crate) async fn take_back(
        &self,
        wanted: Wanted,
        (wait_s, form, settings): (u64, Form, &Settings),
        output: &mut Output,
    ) -> Result<usize, Fault> {
        let mut left = 0;
        for file in &self.files {
            let changes: Vec<&FileChange> = match (file.fate, wanted) {
                (FileFate::Restored | FileFate::Removed, Wanted::Back) => {
                    file.changes.iter().collect()
                }
                (FileFate::TakenBack, Wanted::Again) => file.changes.iter().rev().collect(),
                (_, Wanted::Back | Wanted::Again) => Vec::new(),
            };
            let stays = matches!(file.fate, FileFate::Conflict | FileFate::ChangedAgain(_));
            let mut is_left = stays && wanted == Wanted::Back;
            let is_meant = !changes.is_empty();
            for change in changes {
                if let Err(reason) = one(change, wait_s, settings, output).await? {
                    let path = name_on_one_line(&file.path);
                    output.talk(&format!("`{path}` stays as it is: {reason}"));
                    is_left = true;
                    break;
                }
            }
            left += usize::from(is_left);
            if form == Form::Json {
                output.json(&line(file, is_meant && !is_left));
            }
        }
        Ok(left)
    }
}

/// Takes all changes of a turn back, or makes them again. 0 is the last turn.
pub(super) async fn run(
    undo: &Undo,
    number: i64,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (engine, id) = find(undo.id.as_deref(), settings, output).await?;
    let done = of_turn(&engine, &id, number).await;
    engine.shutdown(Duration::ZERO).await;
    let (done, wanted) = (done?, if undo.again { Wanted::Again } else { Wanted::Back });
    let form = if undo.json { Form::Json } else { Form::Text };
    let report = Report::ok("done").about(&id, None);
    if undo.preview {
        done.show(wanted, form, output);
        return Ok(report);
    }
    done.show(wanted, Form::Text, output);
    match done.take_back(wanted, (undo.wait, form, settings), output).await? {
        0 => Ok(report),
        left_alone => Ok(left(left_alone).about(&id, None)),
    }
}

async fn of_turn(engine: &Engine, id: &ConversationId, number: i64) -> Result<Done, Fault> {
    let view = engine.view(id).await?;
    let last = view.turns.last().map(|turn| turn.head.id).filter(|_| number == 0);
    let turn = match last {
        Some(last) => last,
        None => turn_at(&view, &Place::Turn(number))?,
    };
    Done::of(engine, (id, &view), turn, turn).await
}

/// What is said of turns that ran commands.
fn ran(turns: &[&TurnView]) -> Option<String> {
    let with: Vec<(TurnId, usize)> = turns
        .iter()
        .map(|turn| (turn.head.id, turn.calls().filter(|call| is_command(call)).count()))
        .filter(|(_, commands)| 0 < *commands)
        .collect();
    let commands: usize = with.iter().map(|(_, commands)| commands).sum();
    let what = if commands == 1 { "1 command".to_owned() } else { format!("{commands} commands") };
    let numbers: Vec<String> = with.iter().map(|(turn, _)| turn.0.to_string()).collect();
    let which = match numbers.as_slice() {
        [] => return None,
        [only] => format!("Turn {only}"),
        [front @ .., last] => format!("Turns {} and {last}", front.join(", ")),
    };
    Some(format!("{which} ran {what}; what commands change is not taken back."))
}

fn is_command(call: &CallView) -> bool {
    let was_refused = matches!(call.state, CallState::Done { outcome: Outcome::Denied, .. });
    &*call.tool == SHELL && call.started.is_some() && !was_refused
}

/// What becomes of a file, for a person.
fn fate(fate: FileFate, wanted: Wanted) -> String {
    match (fate, wanted) {
        (FileFate::TakenBack, Wanted::Again) => "made again".into(),
        (FileFate::TakenBack, Wanted::Back) => "taken back already".into(),
        (_, Wanted::Again) => "stays: nothing of it was taken back".into(),
        (FileFate::Restored, Wanted::Back) => "gets its old content".into(),
        (FileFate::Removed, Wanted::Back) => "goes: it was not there before".into(),
        (FileFate::ChangedAgain(turn), Wanted::Back) => {
            format!("stays: it was changed again in turn {}", turn.0)
        }
        (FileFate::Conflict | _, Wanted::Back) => {
            "stays: it was changed since by somebody else".into()
        }
    }
}

/// What becomes of a file, for programs.
fn line(file: &ChangedFile, done: bool) -> Line<'_> {
    let (fate, changed_again_in) = match file.fate {
        FileFate::Restored => ("restored", None),
        FileFate::Removed => ("removed", None),
        FileFate::TakenBack => ("taken_back", None),
        FileFate::ChangedAgain(turn) => ("changed_again", Some(turn.0)),
        FileFate::Conflict | _ => ("conflict", None),
    };
    let (path, changes) = (file.path.as_str(), file.changes.len());
    Line::File { path, changes, fate, changed_again_in, done }
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
