//! Taking a change back as data: what would be done, and what became of it.
//!
//! The intent is recorded before the file is touched. After a crash the digests in it tell whether the
//! change was taken back, so that it is neither done twice nor forgotten.

use std::path::PathBuf;

pub use piton_core::event::UndoIntent;

use crate::files::change::versions::Version;

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

/// What taking a version back means.
pub(super) fn intent(change: &str, version: &Version) -> UndoIntent {
    UndoIntent {
        change: change.to_owned(),
        conversation: version.conversation.clone(),
        // Conversations work in directories whose paths are text.
        workspace: version.workspace.to_string_lossy().into_owned(),
        path: version.path.clone(),
        before: version.after.clone(),
        after: version.before.clone(),
        again: version.undone,
        at_us: version.at_us,
    }
}

/// The change that is taken back.
pub(super) fn version(intent: &UndoIntent) -> Version {
    Version {
        conversation: intent.conversation.clone(),
        workspace: PathBuf::from(&intent.workspace),
        path: intent.path.clone(),
        before: intent.after.clone(),
        after: intent.before.clone(),
        at_us: intent.at_us,
        undone: intent.again,
        in_place: false,
        mode: None,
        patch: None,
    }
}
