//! Taking changes of files back.
//!
//! [`Undo::intend`] says as data what would be done, [`Undo::perform`] does exactly that, and
//! [`Undo::settle`] finds out after a crash whether it was done. [`Undo::take_back`] does the first two
//! at once, for a caller that records nothing.
//!
//! [`Undo::history`] lists the changes, with what became of each.
//!
//! The versions themselves are kept by every change (`change/versions.rs`).

mod back;
mod history;
mod intent;
mod take_back;

pub use self::history::{ChangeState, Past};
pub use self::intent::{UndoDone, UndoIntent, UndoSettled};
pub use self::take_back::VersionState;
pub use super::change::versions::{
    UNDO_BYTES_MAX, UNDO_DAYS_MAX, UNDO_VERSIONS_MAX, Undo, Version,
};
