//! Taking one change back: a command to the conversation that made it, and its outcome.

use std::time::Duration;

use piton::undo::{FileChange, UndoEnd, Undoing};
use piton::view::UndoOutcome;
use piton::{CommandError, Engine, OpenError, Refusal};
use piton_agent::{Settings, engine_to_write};
use piton_core::summary::name_on_one_line;

use crate::output::Output;
use crate::report::{Fault, LetterFault, UndoFault, holding};
use crate::store;

/// Takes a change back as a command to its conversation, and waits for the outcome; none if no journal
/// knows the conversation any more, so that nobody can record anything.
pub(super) async fn take_back(
    change: &FileChange,
    wait_s: u64,
    settings: &Settings,
    output: &mut Output,
) -> Result<Option<UndoEnd>, Fault> {
    if !settings.has_database()? {
        return Ok(None);
    }
    let engine = engine_to_write(store::open(settings, output)?, settings)?;
    let done = match engine.undo(change).await {
        Ok(undoing) => ended(&engine, &undoing, wait_s, output).await?,
        Err(error) => Err(error),
    };
    engine.shutdown(Duration::ZERO).await;
    match done {
        Ok(end) => Ok(Some(end)),
        Err(CommandError::Open(error)) if matches!(&*error, OpenError::Unknown(_)) => Ok(None),
        Err(CommandError::Refused(refusal)) => Err(fault(refusal, change)),
        Err(error) => Err(LetterFault::from(error).into()),
    }
}

/// Waits for the outcome. A letter that nobody takes is taken back.
async fn ended(
    engine: &Engine,
    undoing: &Undoing,
    wait_s: u64,
    output: &mut Output,
) -> Result<Result<UndoEnd, CommandError>, Fault> {
    let id = undoing.conversation().id();
    let mut holder = None;
    if undoing.letter().is_some() {
        holder = engine.journal().status(id).await?.and_then(|listed| listed.holder);
        let who = holding(holder.as_ref());
        output.talk(&format!("Conversation {id} is held by {who}, which is asked to do it."));
    }
    // Longer than anybody waits; a clock has an end.
    let wait = Duration::from_secs(wait_s.min(u32::MAX.into()));
    if let Ok(done) = tokio::time::timeout(wait, undoing.end()).await {
        return Ok(done);
    }
    undoing.withdraw().await.map_err(LetterFault::from)?;
    // It may have been taken while it was withdrawn.
    match undoing.look().await {
        Ok(None) => Err(UndoFault::NotTaken { holder }.into()),
        Ok(Some(end)) => Ok(Ok(end)),
        Err(error) => Ok(Err(error)),
    }
}

fn fault(refusal: Refusal, change: &FileChange) -> Fault {
    let (number, conversation) = (change.number, change.conversation.root());
    if let Refusal::Impossible { message } = refusal {
        return UndoFault::Refused { number, reason: message }.into();
    }
    if refusal == Refusal::Running {
        return UndoFault::Running { conversation }.into();
    }
    LetterFault::Refused { what: "the change is not taken back", refusal, conversation }.into()
}

/// What a person hears of an outcome.
pub(super) fn told(change: &FileChange, end: UndoEnd) -> Result<String, String> {
    let UndoEnd { outcome, text, .. } = end;
    match outcome {
        UndoOutcome::Done if text.is_empty() => {
            Ok(format!("`{}`: taken back", name_on_one_line(&change.path)))
        }
        UndoOutcome::Done => Ok(text),
        UndoOutcome::Left => Err(text),
    }
}
