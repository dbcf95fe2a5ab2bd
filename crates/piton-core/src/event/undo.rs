//! Taking a change of a file back: what was meant, and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{ConversationId, Digest};

/// What taking one change back does to one file. The digests tell after a crash whether it was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoIntent {
    /// The change, by the name under which it is kept.
    pub change: String,
    /// The conversation whose change it was.
    pub conversation: ConversationId,
    /// The workspace of the file.
    pub workspace: String,
    /// The file, relative to the workspace.
    pub path: String,
    /// Digest of the content that is there now and goes; absent if there is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// Digest of the content that comes back; absent if the file is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// Whether the change was taken back before, and is made again.
    #[serde(default)]
    pub again: bool,
    /// When the change was made, in microseconds since the epoch.
    pub at_us: u64,
}

/// What became of an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UndoOutcome {
    /// The file has the content that was to come back.
    Done,
    /// The file stays as it is: it is not as the change left it.
    Left,
}
