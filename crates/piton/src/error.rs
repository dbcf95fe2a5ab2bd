//! Why a conversation could not be opened, or did not do what was asked.
//!
//! Sessions, orders, controls and handles use this file; it uses none of those.

use std::path::PathBuf;
use std::sync::Arc;

use piton_core::command::Refusal;
use piton_core::id::{ConversationId, InquiryId};
use piton_core::view::TurnView;
use piton_store::{AppendError, LeaseError, StoreError};

use crate::files::FilesFault;
use crate::toolbox::ToolsError;

/// Why a conversation could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such conversation.
    #[error("there is no conversation {0}")]
    Unknown(ConversationId),
    /// The workspace is gone or not a directory.
    #[error("the workspace {path} cannot be used")]
    Workspace {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The path of the workspace is no text. Journals are text, so another directory would be found
    /// under what could be written down of it, and its files changed.
    #[error("the path of the workspace {} is not UTF-8", path.display())]
    WorkspaceName {
        /// The directory.
        path: PathBuf,
    },
    /// Another process is at work on it.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenError {
    /// Whether another process has the writer's place.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Lease(LeaseError::Held { .. }))
    }
}

/// Why a session could not do what was asked. What was durable stays.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The last turn is not over; say what to do with it.
    #[error("the last turn is not over")]
    Incomplete(Box<TurnView>),
    /// The message has nothing in it.
    #[error("the message is empty")]
    EmptyMessage,
    /// The files of the message cannot be sent.
    #[error(transparent)]
    Files(#[from] FilesFault),
    /// Nobody waits for an answer to this question.
    #[error("no question {0} is open")]
    NotAsked(InquiryId),
    /// The command is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// An error that the senders of other commands are told too.
    #[error(transparent)]
    Shared(Arc<SessionError>),
    /// The directory of the conversation cannot be used.
    #[error(transparent)]
    Workspace(Box<OpenError>),
    /// The tools of the conversation cannot be had.
    #[error(transparent)]
    Tools(#[from] ToolsError),
    /// The journal refused.
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// Why a command was not accepted. Nothing of it is recorded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The conversation cannot be opened.
    #[error(transparent)]
    Open(Arc<OpenError>),
    /// The command is refused.
    #[error(transparent)]
    Refused(Refusal),
    /// Another process has the writer's place, and a secret never lies beside a journal.
    #[error("another process works on the conversation, and a secret does not travel to it")]
    SecretElsewhere,
    /// The journal refused while the command was carried out.
    #[error(transparent)]
    Failed(Arc<SessionError>),
    /// The store failed.
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// The engine was dropped.
    #[error("the engine is gone")]
    EngineGone,
}
