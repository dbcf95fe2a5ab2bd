//! What can go wrong with taking a change of a file back.

use piton_core::id::ConversationId;
use piton_store::Holder;

use super::holding::holding;

/// Why a change is not taken back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UndoFault {
    /// No change has that number.
    #[error("there is no change {number} of a file in this directory")]
    Unknown {
        /// What was typed.
        number: usize,
    },
    /// Not as the file is now.
    #[error("{reason}")]
    Refused {
        /// Its number.
        number: usize,
        /// Why not.
        reason: String,
    },
    /// Tools may be at work on the same file.
    #[error("nothing is taken back while a turn of conversation {conversation} is running")]
    Running {
        /// The conversation.
        conversation: ConversationId,
    },
    /// The process at work does not react.
    #[error("{} has not reacted, and nothing was taken back", holding(holder.as_ref()))]
    NotTaken {
        /// The process.
        holder: Option<Holder>,
    },
}

impl UndoFault {
    /// What to do next, one way per line.
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown { .. } => vec!["piton undo --list shows them with their numbers".into()],
            Self::Refused { number, .. } => {
                vec![format!("piton undo --show {number} prints the old version")]
            }
            Self::Running { conversation } => {
                vec![format!("wait for its end, or: piton stop {conversation}")]
            }
            Self::NotTaken { .. } => {
                vec!["try again when it has gone, or with a longer --wait".into()]
            }
        }
    }
}
