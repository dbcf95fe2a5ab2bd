//! What becomes of commands: why one is refused, and what a queued message waits for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{InquiryId, MessageId};

/// What a queued message waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueuePlace {
    /// For the open turn to complete: then it begins a turn of its own.
    #[default]
    Next,
    /// For the next model request of the open turn: then it becomes part of that turn.
    Steer,
}

impl QueuePlace {
    /// Whether it is the place that needs no word in the stored form.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
    pub(super) fn is_next(&self) -> bool {
        *self == Self::Next
    }
}

/// Why a command is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// This build does not know such a command; a newer one may.
    #[error("this version of piton does not know the command {kind:?}")]
    UnknownCommand {
        /// What the command calls itself.
        kind: String,
    },
    /// The last turn is not over, and the command does not say what becomes of it.
    #[error("the last turn is not over")]
    Incomplete,
    /// The command is about the open turn, and no turn is open.
    #[error("no turn is open")]
    NoOpenTurn,
    /// The command must wait for the running turn. Interrupting it makes room.
    #[error("a turn is running")]
    Running,
    /// The command is about a running turn, and nobody performs one.
    #[error("no turn is running")]
    NotRunning,
    /// Nobody waits for an answer to this question, or the answer does not fit it.
    #[error("no question {inquiry} is open that takes this answer")]
    NotAsked {
        /// The question.
        inquiry: InquiryId,
    },
    /// There is no such message.
    #[error("there is no message {message}")]
    UnknownMessage {
        /// The message.
        message: MessageId,
    },
    /// The message has later turns behind it. Only the newest turn is tried again.
    #[error("message {message} belongs to an earlier turn, and only the newest one is tried again")]
    OlderTurn {
        /// The message.
        message: MessageId,
    },
    /// The message does not wait any more: its turn has begun, or it went into one.
    #[error("message {message} does not wait any more: it has its turn")]
    AlreadyTaken {
        /// The message.
        message: MessageId,
    },
    /// As many messages wait as may.
    #[error("queue is full: {max} messages wait")]
    QueueFull {
        /// How many may.
        max: u32,
    },
    /// The message has nothing in it.
    #[error("the message is empty")]
    EmptyMessage,
    /// A call was started and nobody knows what became of it: that has to be settled first.
    #[error("a call is in doubt; resume or discard its turn first")]
    InDoubt,
    /// The command cannot be carried out here, for a reason outside the journal.
    #[error("{message}")]
    Impossible {
        /// The reason, for people.
        message: String,
    },
    /// A reason that this build does not know.
    #[serde(other)]
    #[error("refused for a reason that this version of piton does not know")]
    Other,
}
