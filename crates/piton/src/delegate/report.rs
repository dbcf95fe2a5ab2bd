//! What a worker gives back, read off its journal.

use piton_core::event::{BreakReason, TurnEnd};
use piton_core::id::{ConversationId, MessageId};
use piton_core::state::{State, Turn};
use piton_core::view::answer_text;
use piton_tools::{Finished, OUTPUT_BYTES_MAX};

/// The name of the message that holds the task.
pub(super) fn task_message(worker: &ConversationId) -> MessageId {
    MessageId::new(format!("task of {worker}"))
}

/// The turn that works on the task.
pub(super) fn task_turn<'a>(state: &'a State, worker: &ConversationId) -> Option<&'a Turn> {
    let task = task_message(worker);
    state.turns.iter().find(|turn| turn.said().any(|said| said.message == task))
}

/// What a worker gives back, if it has ended. One that was interrupted has not: it is resumed with the
/// call that it works for.
pub(super) fn of(state: &State, worker: &ConversationId) -> Option<Finished> {
    let turn = task_turn(state, worker)?;
    match (turn.end, &turn.broke) {
        (Some(TurnEnd::Completed), _) => Some(long(last_words(turn), Finished::ok)),
        (Some(TurnEnd::Stopped | TurnEnd::Discarded), _) => {
            Some(incomplete(turn, worker, "the user stopped it"))
        }
        (None, Some(broke)) if broke.reason != BreakReason::Interrupted => {
            Some(incomplete(turn, worker, &broke.message))
        }
        (None, _) => None,
    }
}

/// What a worker that has not done its task gives back: why, and what it has said so far (K57).
pub(super) fn incomplete(turn: &Turn, worker: &ConversationId, why: &str) -> Finished {
    let said: Vec<String> = turn.steps().filter_map(answer_text).collect();
    let said = match said.join("\n\n") {
        said if said.trim().is_empty() => "It has said nothing so far.".into(),
        said => format!("What it has said so far:\n{said}"),
    };
    let text = format!(
        "The worker did not finish: {why}. What its calls have done stays done; its conversation is \
         {worker}.\n{said}"
    );
    long(text, Finished::failed)
}

/// The answer that ends a turn.
fn last_words(turn: &Turn) -> String {
    turn.steps().next_back().and_then(answer_text).unwrap_or_default()
}

/// A result that is too long for a model is kept whole beside the journal.
fn long(text: String, finish: impl FnOnce(String) -> Finished) -> Finished {
    let full = (OUTPUT_BYTES_MAX < text.len()).then(|| text.clone().into_bytes());
    Finished { full, ..finish(text) }
}
