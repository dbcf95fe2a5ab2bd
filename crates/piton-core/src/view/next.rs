//! What a person can do next with a conversation, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::TurnEnd;
use crate::id::{InquiryId, MessageId};
use crate::state::{State, Turn};

/// Something that a person can do next. Whether a driver is at work is not in the journal:
/// interrupting is for a turn that is driven, resuming for one that is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Next {
    /// Answer an open question.
    Answer {
        /// The question.
        question: InquiryId,
    },
    /// Send a message that begins a turn.
    Send,
    /// Send a message into the open turn.
    Steer,
    /// Send a message that waits for the open turn to complete.
    Queue,
    /// Interrupt the driver of the open turn. What was done stays.
    Interrupt,
    /// Go on with the open turn.
    Resume,
    /// Try a message again; what came of it is hidden, and kept.
    Retry {
        /// The message.
        message: MessageId,
    },
    /// Close the open turn, and keep what is there.
    Stop,
    /// Close the open turn, and hide it.
    Discard,
    /// Take a waiting message back.
    Unqueue {
        /// The message.
        message: MessageId,
    },
}

/// What can be done next, what is asked for first.
pub(super) fn of(state: &State) -> Vec<Next> {
    let mut next = Vec::new();
    let newest = state.turns.last().filter(|turn| turn.end != Some(TurnEnd::Discarded));
    let said = newest.and_then(|turn| turn.said().last());
    let retry = said.map(|said| Next::Retry { message: said.message.clone() });
    match state.open_turn() {
        None => {
            next.push(Next::Send);
            next.extend(retry);
        }
        Some(turn) => {
            next.extend(answers(turn));
            if turn.broke.is_none() {
                next.push(Next::Interrupt);
            }
            next.extend([Next::Steer, Next::Queue, Next::Resume]);
            next.extend(retry);
            next.extend([Next::Stop, Next::Discard]);
        }
    }
    let waiting = state.queue.iter().map(|queued| queued.message.clone());
    next.extend(waiting.map(|message| Next::Unqueue { message }));
    next
}

fn answers(turn: &Turn) -> impl Iterator<Item = Next> {
    turn.pending_inquiries().map(|inquiry| Next::Answer { question: inquiry.id.clone() })
}
