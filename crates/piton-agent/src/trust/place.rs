//! Where a path leads behind all links.

use std::fs;
use std::path::{Path, PathBuf};

/// A workspace by its one real name, so that no link stands for another directory later.
pub(crate) fn real(workspace: &Path) -> PathBuf {
    fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned())
}

/// Whether a path leads, behind all links, to something inside of a workspace.
pub(crate) fn is_inside(path: &Path, workspace: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|path| path.starts_with(real(workspace)))
}
