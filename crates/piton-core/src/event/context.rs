//! What piton tells the model beside what the user said.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::Digest;

/// One thing that the model is told. A later one of the same name takes its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextItem {
    /// What it is about, such as `date`, or the path of a file of instructions.
    pub name: String,
    /// What it says, as a digest: as long as this is the same, there is nothing new to tell.
    pub digest: Digest,
    /// What the model reads. Without it, the system prompt of the conversation says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Arc<str>>,
}
