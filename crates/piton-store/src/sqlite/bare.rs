//! A database without a single commit, in a home that speaks of conversations: somebody emptied it, took it
//! away, or put a new one in its place.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::home::DATABASE;
use super::search::INDEX;
use super::{connect, orphan};
use crate::blob;

/// A database of more bytes than this has commits: its tables take less.
const BARE_BYTES_MAX: u64 = 64 * 1024;

/// Whether the database of a home is missing or has no commit, although the home has been used. `traces` are
/// directories in which something lies only then.
pub fn is_emptied(home: &Path, traces: &[PathBuf]) -> bool {
    let path = home.join(DATABASE);
    if !is_bare(&path) || orphan::is_left(&path).unwrap_or(true) {
        return false;
    }
    traces.iter().any(|trace| has_any(trace, |_| true))
        || has_blobs(&home.join("blobs"))
        || has_texts(&home.join(INDEX)).unwrap_or(false)
}

/// Whether a database has no commit; one that cannot be asked may have some. A purge leaves one.
fn is_bare(path: &Path) -> bool {
    let bytes = fs::metadata(path).map_or(0, |file| file.len());
    if bytes == 0 || BARE_BYTES_MAX < bytes {
        return bytes == 0;
    }
    let Ok(db) = connect::connect(path) else { return false };
    db.query_row("SELECT NOT EXISTS (SELECT 1 FROM chunks)", [], |row| row.get(0)).unwrap_or(false)
}

fn has_blobs(blobs: &Path) -> bool {
    has_any(blobs, |directory| {
        has_any(directory, |path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(blob::is_digest)
        })
    })
}

fn has_texts(index: &Path) -> Result<bool, rusqlite::Error> {
    // It is not made by asking.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(index, flags)?;
    db.query_row("SELECT EXISTS (SELECT 1 FROM texts)", [], |row| row.get(0))
}

fn has_any(directory: &Path, is_it: impl Fn(&Path) -> bool) -> bool {
    let mut inside = fs::read_dir(directory).into_iter().flatten().flatten();
    inside.any(|entry| is_it(&entry.path()))
}
