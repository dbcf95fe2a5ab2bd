//! What a tool or a command did to the world.

use piton_core::event::EffectClass;
use piton_core::id::{CallId, ConversationId};

/// An effect that was really done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The conversation of the call.
    pub conversation: ConversationId,
    /// The call that did it.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Its class.
    pub class: EffectClass,
}
