//! What was kept of a change, for people.

use std::path::{Path, PathBuf};

use super::Kept;
use super::scene::Thing;
use crate::supervise::record::change::Change;

/// Where the link leads that a place was changed to; `None` if that is no link.
pub(crate) fn link(directory: &Path, change: &Change) -> Option<PathBuf> {
    match Kept::read(directory, change.kept?).ok()?.0? {
        Thing::Link(target) => Some(target.path()),
        Thing::File { .. } | Thing::Odd => None,
    }
}
