//! Taking a change back as data: what would be done, and what became of it.
//!
//! The intent is recorded before the file is touched. After a crash the digests in it tell whether the
//! change was taken back, so that it is neither done twice nor forgotten.

use std::path::PathBuf;

use piton_core::id::{ConversationId, Digest};
use serde::{Deserialize, Serialize};

use crate::files::change::versions::Version;

/// What taking one change back does to one file. Recorded, so new fields are optional.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoIntent {
    /// The change, by the name under which [`Undo::of`](super::Undo::of) lists it.
    pub change: String,
    /// The conversation whose change it was.
    pub conversation: ConversationId,
    /// The workspace of the file.
    pub workspace: PathBuf,
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

/// What [`Undo::perform`](super::Undo::perform) did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoDone {
    /// It was done now; the text says what.
    Now(String),
    /// It had been done before.
    Earlier,
}

/// What became of an intent whose process died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoSettled {
    /// The file has the content that was to come back.
    Done,
    /// The file has the content that was to go: it may be performed.
    NotDone,
    /// The file has another content, or another version lies beside it; the text says which.
    Conflict(String),
}

impl UndoIntent {
    pub(super) fn of(change: &str, version: &Version) -> Self {
        Self {
            change: change.to_owned(),
            conversation: version.conversation.clone(),
            workspace: version.workspace.clone(),
            path: version.path.clone(),
            before: version.after.clone(),
            after: version.before.clone(),
            again: version.undone,
            at_us: version.at_us,
        }
    }

    /// The change that is taken back.
    pub(super) fn version(&self) -> Version {
        Version {
            conversation: self.conversation.clone(),
            workspace: self.workspace.clone(),
            path: self.path.clone(),
            before: self.after.clone(),
            after: self.before.clone(),
            at_us: self.at_us,
            undone: self.again,
            in_place: false,
        }
    }
}
