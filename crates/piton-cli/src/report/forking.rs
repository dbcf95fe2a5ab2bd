//! What can go wrong with forking a conversation, and what to do then.

use piton::ForkError;
use piton_store::{AppendError, LeaseError, StoreError};

use super::code::Code;
use super::storing::storing;

/// How to find a place.
const TURNS: &str = "piton rewind shows the turns with their numbers";

/// Why a conversation is not forked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForkFault {
    /// The engine says why.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// The conversation has no such turn or message.
    #[error("the conversation has no turn and no message {typed}")]
    NoPlace {
        /// What was typed.
        typed: String,
    },
}

impl From<StoreError> for ForkFault {
    fn from(error: StoreError) -> Self {
        Self::Fork(error.into())
    }
}

impl ForkFault {
    /// How bad it is.
    pub(super) fn code(&self) -> Code {
        match self {
            Self::NoPlace { .. }
            | Self::Fork(
                ForkError::Unknown(_)
                | ForkError::NoTurn { .. }
                | ForkError::NoMessage { .. }
                | ForkError::NoEntry { .. }
                | ForkError::NoMessageYet { .. }
                | ForkError::TooDeep(_),
            ) => Code::Usage,
            Self::Fork(_) => Code::Failed,
        }
    }

    /// What to do next, one way per line.
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::NoPlace { .. } => vec![TURNS.into()],
            Self::Fork(
                ForkError::NoTurn { conversation, .. } | ForkError::NoMessage { conversation, .. },
            ) => {
                vec![format!("piton rewind --id {conversation} shows the turns with their numbers")]
            }
            Self::Fork(ForkError::Unknown(_)) => {
                vec!["piton ls --all shows all conversations".into()]
            }
            Self::Fork(ForkError::NoEntry { .. }) => {
                vec!["piton print --json --raw shows the entries with their numbers".into()]
            }
            Self::Fork(ForkError::NoMessageYet { conversation, next, .. }) => vec![
                format!("to share the message too: piton fork {conversation} --entry {next}"),
                format!("in front of a turn: piton fork {conversation} --before TURN"),
            ],
            Self::Fork(ForkError::TooDeep(_)) => vec![
                "fork an earlier turn with --at TURN: it hangs on the conversation that has it"
                    .into(),
            ],
            Self::Fork(
                ForkError::Lease(LeaseError::Store(error))
                | ForkError::Append(AppendError::Store(error))
                | ForkError::Store(error),
            ) => storing(error),
            Self::Fork(_) => Vec::new(),
        }
    }
}
