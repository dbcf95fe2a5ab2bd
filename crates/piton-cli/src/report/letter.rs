//! What can go wrong with a command that is left for another process.

use piton::{CommandError, FollowError, Refusal};
use piton_core::id::ConversationId;
use piton_store::Holder;

use super::code::Code;
use super::holding::holding;
use crate::render::incomplete::{self, Newest};

/// Why a command for another process did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LetterFault {
    /// It was looked at, and not obeyed.
    #[error("{what}: {refusal}")]
    Refused {
        /// What does not happen.
        what: &'static str,
        /// Why.
        refusal: Refusal,
        /// The conversation.
        conversation: ConversationId,
    },
    /// It would be refused, so it was not left.
    #[error("the message was not taken: {refusal}")]
    NotLeft {
        /// Why.
        refusal: Refusal,
        /// The conversation.
        conversation: ConversationId,
    },
    /// A message is to be tried again under the hands of another process.
    #[error("{held}")]
    RetryHeld {
        /// Who holds the conversation.
        held: String,
        /// The conversation.
        conversation: ConversationId,
    },
    /// The message waits behind a turn that nobody performs.
    #[error(
        "Your message waits in conversation {conversation}, behind an incomplete turn that nobody works on.\n{}\n\n{}",
        incomplete::waits_for(turn),
        incomplete::commands(conversation)
    )]
    Waits {
        /// The conversation.
        conversation: ConversationId,
        /// The turn.
        turn: Box<Newest>,
    },
    /// A call is in doubt, and the directory is gone in which it would be settled.
    #[error(
        "conversation {conversation} has a call whose outcome is unknown, and the directory {workspace} in \
         which that is settled is gone"
    )]
    Nowhere {
        /// The conversation.
        conversation: ConversationId,
        /// The directory.
        workspace: String,
    },
    /// Somebody took the message out of the queue.
    #[error("somebody took the message back before its turn began")]
    TakenBack {
        /// The conversation.
        conversation: ConversationId,
    },
    /// The process at work does not react.
    #[error("{} has not reacted, and the turn was not stopped", holding(holder.as_ref()))]
    NotStopped {
        /// The process.
        holder: Option<Holder>,
    },
    /// No message that waits has that number.
    #[error("there is no message {number} that waits; there are {count}")]
    NoSuchNumber {
        /// What was typed.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// The process at work has not taken it in time, and it was taken back.
    #[error("{} has not reacted, and {what}", holding(holder.as_ref()))]
    NotTaken {
        /// The process.
        holder: Option<Holder>,
        /// What does not happen.
        what: &'static str,
    },
    /// The process at work has not taken what was typed beside its turn.
    #[error("{} has not reacted, and what you typed was taken back", holding(holder.as_ref()))]
    Deaf {
        /// The process.
        holder: Option<Holder>,
    },
    /// The engine could not leave it.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The conversation cannot be followed.
    #[error(transparent)]
    Follow(#[from] FollowError),
}

impl LetterFault {
    pub(super) fn code(&self) -> Code {
        match self {
            Self::Refused { refusal: Refusal::Running | Refusal::QueueFull { .. }, .. }
            | Self::NotLeft { refusal: Refusal::QueueFull { .. }, .. }
            | Self::RetryHeld { .. }
            | Self::NotStopped { .. }
            | Self::Deaf { .. }
            | Self::NotTaken { .. } => Code::Transient,
            Self::Refused {
                refusal:
                    Refusal::NoOpenTurn
                    | Refusal::NotRunning
                    | Refusal::OlderTurn { .. }
                    | Refusal::UnknownMessage { .. },
                ..
            }
            | Self::NoSuchNumber { .. }
            | Self::NotLeft { .. }
            | Self::Nowhere { .. } => Code::Usage,
            Self::Waits { .. } => Code::Incomplete,
            Self::Refused { .. } | Self::TakenBack { .. } | Self::Command(_) | Self::Follow(_) => {
                Code::Failed
            }
        }
    }

    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Refused { .. } | Self::NotLeft { .. } => "refused",
            Self::RetryHeld { .. } => "held",
            Self::Waits { .. } => "incomplete_turn",
            Self::Nowhere { .. } => "workspace",
            Self::TakenBack { .. } => "taken_back",
            Self::NotStopped { .. } | Self::NotTaken { .. } | Self::Deaf { .. } => "not_taken",
            Self::NoSuchNumber { .. } => "unknown_message",
            Self::Command(_) | Self::Follow(_) => "store",
        }
    }

    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::Refused { refusal: Refusal::NoOpenTurn, conversation, .. } => {
                vec![format!("to begin a turn with it: piton query \"TEXT\" --id {conversation}")]
            }
            Self::Refused { refusal: Refusal::OlderTurn { message }, conversation, .. } => {
                vec![
                    format!(
                        "to try {message} again and keep what came after it: piton retry {message} --fork --id {conversation}"
                    ),
                    format!("to try the newest message again: piton retry --id {conversation}"),
                ]
            }
            Self::Refused { refusal: Refusal::QueueFull { .. }, conversation, .. }
            | Self::NotLeft { refusal: Refusal::QueueFull { .. }, conversation } => vec![
                format!(
                    "piton queue --id {conversation} shows them; piton queue rm N --id {conversation} makes room"
                ),
                "more may wait: piton config queue_max N".into(),
            ],
            Self::RetryHeld { conversation, .. } => vec![
                format!(
                    "to stop its turn: piton stop {conversation}, then: piton retry --id {conversation}"
                ),
                format!("to try it in a fork at once: piton retry --fork --id {conversation}"),
                "to wait longer for it: --lock-wait SECONDS".into(),
            ],
            Self::Refused { refusal: Refusal::UnknownMessage { .. }, conversation, .. } => {
                vec![format!("piton print --attempts {conversation} names the messages")]
            }
            Self::Refused { refusal: Refusal::InDoubt, conversation, .. } => vec![
                format!(
                    "to settle it where it was begun: piton query --continue --id {conversation}"
                ),
                format!("to discard its turn: piton query --discard-turn --id {conversation}"),
            ],
            Self::Nowhere { conversation, workspace } => vec![
                format!(
                    "to keep the turn, make the directory again, empty if need be: mkdir -p '{workspace}', \
                     then: piton query --continue --id {conversation}"
                ),
                format!("to give the turn up: piton query --discard-turn --id {conversation}"),
                format!(
                    "after either of them, another directory will do: \
                     piton query --workspace DIR --id {conversation}"
                ),
            ],
            // Its reason says what to do.
            Self::Refused { refusal: Refusal::Impossible { .. }, .. }
            | Self::NotLeft { .. }
            | Self::Waits { .. }
            | Self::NotStopped { holder: None }
            | Self::Command(_)
            | Self::Follow(_) => Vec::new(),
            Self::Refused { conversation, .. } | Self::TakenBack { conversation } => {
                vec![format!("piton print {conversation} shows what is there")]
            }
            Self::NoSuchNumber { .. } => vec!["piton queue shows them with their numbers".into()],
            Self::NotTaken { .. } => vec!["to wait longer: --wait SECONDS".into()],
            Self::Deaf { .. } => vec!["type it again in a moment".into()],
            Self::NotStopped { holder: Some(holder) } => {
                vec![format!("to end the process itself: kill {}", holder.pid)]
            }
        }
    }
}
