//! The seam to tools: which ones a conversation has.
//!
//! The engine asks whenever a turn begins, and once for a conversation that it opened to go on with a
//! turn or to leave it. Finding tools may start servers or read a directory: an implementation keeps
//! what is dear, the engine keeps what it found until the next turn.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use piton_core::id::ConversationId;
use piton_tools::Toolbox;

use crate::profile::Moment;

/// Finds the tools of conversations.
#[async_trait]
pub trait Tools: fmt::Debug + Send + Sync {
    /// The tools of this conversation, in the order in which the model reads them.
    async fn find(&self, place: ToolPlace<'_>) -> Result<Arc<Toolbox>, ToolsError>;
}

/// For which conversation tools are wanted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolPlace<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// Where it works. The directory may be gone.
    pub workspace: &'a Path,
    /// What comes next. A turn that goes on has the tools that it began with, so what was kept of them
    /// will do.
    pub moment: Moment,
}

impl<'a> ToolPlace<'a> {
    /// A conversation that works in a directory.
    pub fn new(conversation: &'a ConversationId, workspace: &'a Path, moment: Moment) -> Self {
        Self { conversation, workspace, moment }
    }
}

/// Tools that cannot be had. Nothing begins without them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolsError {
    /// What is wrong, and what to do.
    pub message: String,
}

/// The same tools for every conversation.
#[async_trait]
impl Tools for Toolbox {
    async fn find(&self, _place: ToolPlace<'_>) -> Result<Arc<Toolbox>, ToolsError> {
        Ok(Arc::new(self.clone()))
    }
}
