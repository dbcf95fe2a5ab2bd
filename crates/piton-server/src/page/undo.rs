//! Taking changes of files back: what it would do, and doing it. The rules are those of `piton undo`.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{Html, IntoResponse as _, Response};
use piton::id::{CallId, TurnId};
use piton::undo::{ChangedFile, FileChange, FileChangeState, FileFate};
use piton::view::{CallView, TurnView, UndoOutcome};
use piton::{ConversationId, ForkAt};
use piton_page::{Change, Fate, Markup};

use super::documents::part;
use super::form::{Done, Form, is_module};
use super::forms::mark;
use crate::access::Who;
use crate::fault::{Fault, Kind};
use crate::shared::Shared;

/// Longest wait for a process that has to take a change back.
const UNDO_WAIT: Duration = Duration::from_secs(10);
/// The tool that runs commands.
const SHELL: &str = "shell";

/// What taking the changes of a call back would do.
pub(super) async fn preview(
    State(shared): State<Shared>,
    Path((id, call)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let id = shared.known(&id).await?;
    let call = read_call(&call)?;
    let changes: Vec<_> =
        shared.engine().changes_of_call(&id, call).await?.iter().map(change).collect();
    let body = piton_page::undo(&format!("/c/{id}/undo/{call}"), &changes);
    answer(&shared, &id, &headers, ("Undo", body)).await
}

/// Takes a change of a call back, or makes it again.
pub(super) async fn undo(
    State(shared): State<Shared>,
    Path((id, call)): Path<(String, String)>,
    _who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let id = shared.writable(&id).await?;
    let call = read_call(&call)?;
    let number = form.number("change").and_then(|number| usize::try_from(number).ok());
    let changes = shared.engine().changes_of_call(&id, call).await?;
    let change = changes.iter().find(|change| Some(change.number) == number);
    let change = change.ok_or_else(|| Fault::not_found("the old version is no longer kept"))?;
    let is_back = change.state == FileChangeState::TakenBack;
    // Another tab may have been faster.
    if is_back == (form.get("do") == Some("again")) {
        take_back(&shared, change).await?;
    }
    Ok(form.done(&format!("/c/{id}")))
}

/// What going back in front of a turn would do to files.
pub(super) async fn back_preview(
    State(shared): State<Shared>,
    Path((id, turn)): Path<(String, u32)>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let id = shared.known(&id).await?;
    let view = shared.engine().view(&id).await?;
    let files = files_from(&shared, &id, turn).await?;
    let files: Vec<_> = files.iter().map(file).collect();
    let from = view.turns.iter().filter(|it| turn <= it.head.id.0);
    let ran = from.flat_map(TurnView::calls).filter(|call| is_command(call)).count();
    let body = piton_page::back(&format!("/c/{id}/back/{turn}"), &files, ran);
    answer(&shared, &id, &headers, ("Go back", body)).await
}

/// Forks in front of a turn, and takes the files back, if that is wanted: those first, because they can
/// refuse.
pub(super) async fn back(
    State(shared): State<Shared>,
    Path((id, turn)): Path<(String, u32)>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let id = shared.writable(&id).await?;
    if form.get("do") == Some("files") {
        for file in files_from(&shared, &id, turn).await? {
            if !matches!(file.fate, FileFate::Restored | FileFate::Removed) {
                continue;
            }
            for change in &file.changes {
                take_back(&shared, change).await?;
            }
        }
    }
    let fork = shared.engine().fork(&id, &ForkAt::BeforeTurn(TurnId(turn)), None).await?;
    mark(&shared, fork.id(), &who).await?;
    Ok(form.leads_to(&format!("/c/{}", fork.id())))
}

/// Does it, and waits for the outcome. A file that stays as it is, is an error that says why.
async fn take_back(shared: &Shared, change: &FileChange) -> Result<(), Fault> {
    let undoing = shared.engine().undo(change).await?;
    let Ok(end) = tokio::time::timeout(UNDO_WAIT, undoing.end()).await else {
        undoing.withdraw().await?;
        let busy = "the process that works on the conversation does not answer";
        return Err(Fault::new(Kind::Refused, busy).hint("try again when its turn is over"));
    };
    let end = end?;
    match end.outcome {
        UndoOutcome::Done => Ok(()),
        UndoOutcome::Left => Err(Fault::new(Kind::Refused, end.text)),
    }
}

/// What the turns from one on changed in files.
async fn files_from(
    shared: &Shared,
    id: &ConversationId,
    turn: u32,
) -> Result<Vec<ChangedFile>, Fault> {
    let last = TurnId(u32::MAX);
    Ok(shared.engine().changes_of_turns(id, TurnId(turn), last).await?)
}

fn read_call(typed: &str) -> Result<CallId, Fault> {
    typed.parse().map_err(|_| Fault::not_found("there is no such call"))
}

fn change(change: &FileChange) -> Change {
    let fate = match change.state {
        FileChangeState::ChangedSince => Fate::Conflict,
        FileChangeState::TakenBack => Fate::TakenBack,
        FileChangeState::Made | FileChangeState::HalfTakenBack if change.before.is_none() => {
            Fate::Removed
        }
        FileChangeState::Made | FileChangeState::HalfTakenBack => Fate::Restored,
    };
    Change { number: change.number, path: change.path.clone(), fate }
}

fn file(file: &ChangedFile) -> Change {
    let fate = match file.fate {
        FileFate::Restored => Fate::Restored,
        FileFate::Removed => Fate::Removed,
        FileFate::ChangedAgain(turn) => Fate::ChangedAgain(turn.0),
        FileFate::TakenBack => Fate::TakenBack,
        FileFate::Conflict | _ => Fate::Conflict,
    };
    Change { number: 0, path: file.path.clone(), fate }
}

fn is_command(call: &CallView) -> bool {
    &*call.tool == SHELL && call.started.is_some()
}

/// A part of the page: alone for the module, else as a page.
async fn answer(
    shared: &Shared,
    id: &ConversationId,
    headers: &HeaderMap,
    (title, body): (&str, Markup),
) -> Result<Response, Fault> {
    if is_module(headers) {
        return Ok(Html(body.into_string()).into_response());
    }
    Ok(part(shared, id, title, body).await?.into_response())
}
