//! Opens the writer's connection: format, log, and what to do when the file is no database.
//!
//! Opening is also recovering: `SQLite` replays what a dead process left, and nothing here asks how
//! the last process ended.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::beside::{SUFFIXES, with_suffix};
use super::connect::{KEEPS_LOG, connect};
use super::home::Home;
use super::notice::Notice;
use super::{aside, failure, lock, migrate, private};
use crate::StoreError;

/// Times to open a database that is damaged, or that others are setting aside at this moment.
const OPEN_TRIES: u32 = 4;
/// Times to ask for WAL. The switch does not honour the busy timeout when two processes try it at
/// once, so it is repeated here.
const WAL_TRIES: u32 = 200;
const WAL_PAUSE_MS: u64 = 10;
/// Page size, in bytes, of a new database.
///
/// A commit writes every page it touched, once to the log and once to the file, so small pages write
/// least. Of the sizes 512, 1024, 2048 and 4096 the smallest writes less than half of what the
/// largest writes in a turn of small commits, and the time of a commit is the time of its fsync for
/// all four. To measure again: `cargo run --release -p piton-store --example measure`.
const PAGE_BYTES: i64 = 512;
/// A log larger than this is moved into the file even in the middle of a burst, in bytes. The writer
/// does it earlier, between commits; see `writer`.
const LOG_BYTES_MAX: i64 = 32 * 1024 * 1024;

/// Opens the writer's connection. A damaged database is set aside, never mended or removed. Damage is
/// what opening itself meets, and what a check finds where a process has met it earlier.
pub(super) fn open(home: &Home) -> Result<(Connection, Option<Notice>), StoreError> {
    let path = &home.database;
    lock::clean(&home.locks);
    let mut told = None;
    let mut tries = 1..OPEN_TRIES;
    loop {
        let finished = aside::finish(home)?;
        told = aside::examine(home)?.or(finished).or(told);
        let before = identity(path).ok();
        let is_last = tries.next().is_none();
        match writer(path) {
            Err(StoreError::Damaged { .. }) if !is_last => {
                told = aside::set_aside(home)?.or(told);
            }
            // Another process may have moved it away while it was opened. What is written into it then is
            // never seen again.
            Ok(_) if !is_last && (aside::is_under_way(path)? || is_another(path, before)) => {}
            opened => {
                let (db, notice) = opened?;
                let set = db.set_db_config(KEEPS_LOG, false);
                set.map_err(|error| failure::database(path, &error))?;
                return Ok((db, told.or(notice)));
            }
        }
    }
}

/// Whether another file lies at a path now. A file that was not there is made by opening it.
fn is_another(path: &Path, before: Option<(u64, u64)>) -> bool {
    before.is_some() && identity(path).ok() != before
}

/// Device and inode. Asked by path: opening and closing the file here would release the locks that
/// `SQLite` has on it.
pub(super) fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

fn writer(path: &Path) -> Result<(Connection, Option<Notice>), StoreError> {
    let failed = |error| failure::database(path, &error);
    let mut db = connect(path)?;
    // Before anything is in it. What belongs to it gets the mode that it has when that is made.
    for suffix in SUFFIXES {
        private::tighten(&with_suffix(path, suffix));
    }
    // Before anything is changed: a newer format must not be touched, not even its journal mode.
    migrate::format(&db, path)?;
    db.pragma_update(None, "page_size", PAGE_BYTES).map_err(failed)?;
    let mode = journal_mode(&db).map_err(failed)?;
    db.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    // Without this, fsync on macOS does not reach the disk. Elsewhere it does nothing.
    db.pragma_update(None, "fullfsync", true).map_err(failed)?;
    let pages: i64 = db.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(failed)?;
    db.pragma_update(None, "wal_autocheckpoint", LOG_BYTES_MAX / pages.max(1)).map_err(failed)?;
    migrate::migrate(&mut db, path)?;
    let notice = (mode != "wal").then(|| Notice::NoLog { path: path.to_owned(), mode });
    Ok((db, notice))
}

/// Asks for WAL and reads back what was given: a file system without shared memory refuses it
/// without an error.
pub(super) fn journal_mode(db: &Connection) -> Result<String, rusqlite::Error> {
    let ask = || db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
    for _ in 0..WAL_TRIES {
        match ask() {
            Err(error) if failure::is_busy(&error) => {
                std::thread::sleep(Duration::from_millis(WAL_PAUSE_MS));
            }
            answered => return answered,
        }
    }
    ask()
}
