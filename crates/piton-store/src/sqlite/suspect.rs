//! A note beside a database in which damage was met, so that the next start looks at all of it.
//!
//! To look at all of it takes as long as to read all of it, so no start does so without a reason. The
//! note is that reason. It decides nothing: `aside` looks for itself.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::beside::with_suffix;
use super::private;
use crate::StoreError;

/// What the name of the note has beyond that of the database.
const NOTE: &str = ".suspect";

/// Leaves the note, if the error says that the database is damaged. If the note cannot be
/// written, on a full disk for instance, the next process that meets the damage writes it.
pub(super) fn note(database: &Path, error: &StoreError) {
    if let StoreError::Damaged { detail, .. } = error {
        leave(database, detail);
    }
}

/// Leaves the note, for people with what was found.
pub(super) fn leave(database: &Path, found: &str) {
    let note = beside(database);
    if note.exists() {
        return;
    }
    let write = || -> io::Result<()> {
        let mut file = private::create().truncate(true).open(&note)?;
        file.write_all(found.as_bytes())?;
        file.sync_all()
    };
    if write().is_ok() {
        note.parent().map_or(Ok(()), private::sync_directory).ok();
    }
}

/// Whether damage was met.
pub(super) fn is_noted(database: &Path) -> Result<bool, StoreError> {
    let note = beside(database);
    note.try_exists().map_err(|error| StoreError::io("look at", &note, error))
}

/// Takes the note away. Should it come back after a power cut, all is looked at once more.
pub(super) fn clear(database: &Path) -> Result<(), StoreError> {
    let note = beside(database);
    match fs::remove_file(&note) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", &note, error))
        }
        _ => Ok(()),
    }
}

fn beside(database: &Path) -> PathBuf {
    with_suffix(database, NOTE)
}
