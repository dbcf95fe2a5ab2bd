//! A log whose database is empty or gone, read without `SQLite`, which takes an empty file for a new
//! database and removes the log that lies beside it.

use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

use super::beside::with_suffix;
use super::log_pages::LogPages;
use super::private;
use crate::StoreError;

/// Whether a log lies beside a database that is empty or gone.
pub(super) fn is_left(database: &Path) -> Result<bool, StoreError> {
    let database = resolved(database);
    // In this order: at its very first start a process writes into the database, then into the log.
    Ok(length(&with_suffix(&database, "-wal"))? > 0 && length(&database)? == 0)
}

/// Whether there is something in a database.
pub(super) fn is_filled(database: &Path) -> bool {
    length(database).is_ok_and(|bytes| bytes > 0)
}

/// Where a database is that may be a link, also one to a file that is gone: the log lies there.
fn resolved(database: &Path) -> PathBuf {
    let missing = |_| match (fs::read_link(database), database.parent()) {
        (Ok(target), Some(parent)) => parent.join(target),
        _ => database.to_owned(),
    };
    fs::canonicalize(database).unwrap_or_else(missing)
}

/// The length of a file; what is not there has none.
fn length(path: &Path) -> Result<u64, StoreError> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(found.len()),
        Ok(_) => Ok(u64::MAX),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(StoreError::io("look at", path, error)),
    }
}

/// Makes the log count, if it has every page of the database; says whether it has. The first page is
/// put in its place, so that `SQLite` does not take the file for a new one; it finds the others, and
/// the first one if we die in between, in the log.
pub(super) fn revive(database: &Path) -> Result<bool, StoreError> {
    let database = &resolved(database);
    let log = with_suffix(database, "-wal");
    let read = File::open(&log).and_then(|file| LogPages::read(BufReader::new(file)));
    let read = read.map_err(|error| StoreError::io("read", &log, error))?;
    let Some(page) = read.and_then(LogPages::first_page) else { return Ok(false) };
    let write = || -> io::Result<()> {
        let mut file = private::create().open(database)?;
        file.write_all(&page)?;
        file.sync_all()
    };
    write().map_err(|error| StoreError::io("write", database, error))?;
    database.parent().map_or(Ok(()), private::sync_directory)?;
    Ok(true)
}
