//! What applies to a conversation: model, prompt, tools, limits, permissions.

pub use piton_core::event::{
    ConfigChange, Effort, InDoubtPolicy, Limits, ModelRef, PermissionMode, PermissionRule,
    Permissions, RuleEffect, RuleScope,
};
pub use piton_core::permit::Standing;
pub use piton_core::state::Config;
