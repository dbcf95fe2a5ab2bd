//! A conversation that works for a call of another one.

use piton_core::id::{CallId, ConversationId};

/// Who a worker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Worker {
    /// The call.
    pub(super) call: CallId,
    /// The conversation.
    pub(super) conversation: ConversationId,
}

impl Worker {
    /// A number for people, from 1 in each step. It names nobody: the call and the conversation do.
    pub(super) fn number(&self) -> u32 {
        self.call.index.saturating_add(1)
    }
}
