//! Why there is no fork.

use piton_core::id::{ConversationId, MessageId, Seq, TurnId};
use piton_store::{AppendError, LeaseError, StoreError};

use crate::reader::FORKS_MAX;

/// Why there is no fork. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// There is no such conversation.
    #[error("there is no conversation {0}")]
    Unknown(ConversationId),
    /// It has no such turn.
    #[error("conversation {conversation} has no turn {}", turn.0)]
    NoTurn {
        /// The conversation.
        conversation: ConversationId,
        /// The turn.
        turn: TurnId,
    },
    /// It has no such message.
    #[error("conversation {conversation} has no message {message}")]
    NoMessage {
        /// The conversation.
        conversation: ConversationId,
        /// The message.
        message: MessageId,
    },
    /// It has no such entry.
    #[error("conversation {conversation} has the entries 1 to {end}, and no entry {entry}")]
    NoEntry {
        /// The conversation.
        conversation: ConversationId,
        /// The entry.
        entry: Seq,
        /// Its last one.
        end: Seq,
    },
    /// A turn begins there, and its message comes later.
    #[error(
        "entry {entry} of conversation {conversation} is in front of the message of its turn, which is entry {next}"
    )]
    NoMessageYet {
        /// The conversation.
        conversation: ConversationId,
        /// The entry.
        entry: Seq,
        /// The entry of the message.
        next: Seq,
    },
    /// Too many conversations would have to be read to read the fork.
    #[error(
        "conversation {0} is a fork of a fork, and so on, {FORKS_MAX} times already, which is the most"
    )]
    TooDeep(ConversationId),
    /// The place of the fork's writer was not to be had.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The journal refused.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for ForkError {
    fn from(error: StoreError) -> Self {
        if let StoreError::UnknownConversation(id) = error {
            return Self::Unknown(id);
        }
        Self::Store(error)
    }
}
