//! Taking changes of files back.
//!
//! The versions themselves are kept by every change (`change/versions.rs`).

mod back;
mod take_back;

pub use self::take_back::VersionState;
pub use super::change::versions::{
    UNDO_BYTES_MAX, UNDO_DAYS_MAX, UNDO_VERSIONS_MAX, Undo, Version,
};
