//! The names of files that lie beside a database.

use std::path::{Path, PathBuf};

/// What belongs to a database, in the order in which it is moved. The file comes last, so that no
/// log ever lies beside a new file, where `SQLite` would remove it.
pub(super) const SUFFIXES: [&str; 3] = ["-wal", "-shm", ""];

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
