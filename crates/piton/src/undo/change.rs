//! A change of a file, as faces see it.

use std::path::PathBuf;

use piton_core::id::{ConversationId, Digest, Timestamp};
pub use piton_tools::undo::ChangeState as FileChangeState;

/// A change that a tool made in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileChange {
    /// Which change of its workspace it is, counted from the oldest that is kept. It keeps its number
    /// when it is taken back or made again, and when others are.
    pub number: usize,
    /// The name under which its old version is kept.
    pub name: String,
    /// The conversation whose tool made it: maybe a worker.
    pub conversation: ConversationId,
    /// Where the file is.
    pub workspace: PathBuf,
    /// The file, relative to its workspace.
    pub path: String,
    /// Digest of its content before; absent if there was no file.
    pub before: Option<Digest>,
    /// Digest of its content after; absent if the file was removed.
    pub after: Option<Digest>,
    /// What became of it.
    pub state: FileChangeState,
    /// When it was made.
    pub at: Timestamp,
    /// The name of the patch that changed several files together, if this is one of them.
    pub patch: Option<String>,
}
