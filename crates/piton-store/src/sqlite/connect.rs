//! Connects to the database.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::{failure, orphan};
use crate::StoreError;

/// How long a connection waits for another process's commit, in milliseconds. Commits take well
/// below one; this is for a machine that is swapping.
const BUSY_MS: u64 = 10_000;
/// Memory for pages of one connection, in KiB.
const CACHE_KIB: i64 = 4096;
/// What is wrong with a database that is empty while its log is not.
const EMPTY: &str = "it is empty or gone, and its log is still there";
/// Whether a connection that closes leaves the log where it is.
pub(super) const KEEPS_LOG: DbConfig = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;

/// Opens a reader's connection to a database that a writer has prepared.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    let failed = |error| failure::database(path, &error);
    let db = connect(path)?;
    db.pragma_update(None, "query_only", true).map_err(failed)?;
    Ok(db)
}

/// Connects to a database, or makes one. Refuses an empty file with a log beside it: `SQLite` would
/// take it for a new database and remove the log.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    if orphan::is_left(path)? {
        let (path, detail) = (path.to_owned(), EMPTY.to_owned());
        return Err(StoreError::Damaged { path, detail });
    }
    connection(path).map_err(|error| failure::database(path, &error))
}

fn connection(path: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    // First of all, so that everything below waits for others in place of failing.
    db.busy_timeout(Duration::from_millis(BUSY_MS))?;
    // A connection that finds damage leaves the log as it is; the writer moves it into the file.
    keep_log(&db)?;
    db.pragma_update(None, "cache_size", -CACHE_KIB)?;
    Ok(db)
}

/// Leaves the log where it is when the connection closes, also if that is the last one.
pub(super) fn keep_log(db: &Connection) -> Result<(), rusqlite::Error> {
    db.set_db_config(KEEPS_LOG, true).map(drop)
}
