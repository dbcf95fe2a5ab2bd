//! Opens the database: directories, connection, format, and what to do when it is no database.
//!
//! Opening is also recovering: `SQLite` replays what a dead process left, and nothing here asks how
//! the last process ended.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::private::{self, make_directory};
use super::{aside, failure, lock, migrate, orphan};
use crate::StoreError;

/// How long a connection waits for another process's commit, in milliseconds. Commits take well
/// below one; this is for a machine that is swapping.
const BUSY_MS: u64 = 10_000;
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
/// Memory for pages of one connection, in KiB.
const CACHE_KIB: i64 = 4096;
/// A log larger than this is moved into the file even in the middle of a burst, in bytes. The writer
/// does it earlier, between commits; see `writer`.
const LOG_BYTES_MAX: i64 = 32 * 1024 * 1024;

/// Something that a person should hear about although the store is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The database was no readable database. It was kept under another name.
    SetAside {
        /// Where it is now, its log beside it.
        aside: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The database was empty or gone. Its log had all of it, and was used.
    FromLog {
        /// The database.
        path: PathBuf,
    },
    /// The database was empty or gone, and its log has a part of it only.
    LogAside {
        /// Where the log is now.
        log: PathBuf,
    },
    /// The file system does not take a write-ahead log.
    NoLog {
        /// The database.
        path: PathBuf,
        /// What is used in its place.
        mode: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetAside { aside, detail } => write!(
                f,
                "the database was damaged ({detail}); it is kept as {0} and a new one was begun; \
                 to save what can be read: sqlite3 {0} .dump, docs/doctor.md has the rest",
                aside.display()
            ),
            Self::FromLog { path } => write!(
                f,
                "{} was empty or gone, but its log {}-wal had all of it and is used; nothing that \
                 was in the log is lost",
                path.display(),
                path.display()
            ),
            Self::LogAside { log } => write!(
                f,
                "the database was empty or gone, and its log has a part of it only; the log is \
                 kept as {} and a new database was begun; if there is a copy of the database, put \
                 it in the new one's place while no piton is at work",
                log.display()
            ),
            Self::NoLog { path, mode } => write!(
                f,
                "{} cannot have a write-ahead log, so {mode} is used: safe, but slower, and readers \
                 may have to wait; a local disk would be better",
                path.display()
            ),
        }
    }
}

/// What is wrong with a database that is empty while its log is not.
pub(super) const EMPTY: &str = "it is empty or gone, and its log is still there";

/// The name of the database in a home.
pub(super) const DATABASE: &str = "piton.db";

/// Where everything of one store lives.
#[derive(Clone, Debug)]
pub(super) struct Home {
    pub(super) database: PathBuf,
    pub(super) locks: PathBuf,
    pub(super) blobs: PathBuf,
    /// Made with the first letter.
    pub(super) inbox: PathBuf,
}

impl Home {
    pub(super) fn prepare(home: &Path) -> Result<Self, StoreError> {
        let (locks, blobs) = (home.join("locks"), home.join("blobs"));
        for directory in [&locks, &blobs] {
            make_directory(directory)?;
            private::tighten(directory);
        }
        private::tighten_home(home);
        let (database, inbox) = (home.join(DATABASE), home.join("inbox"));
        Ok(Self { database, locks, blobs, inbox })
    }
}

/// Opens the writer's connection. A damaged database is set aside, never mended or removed. Damage is
/// what opening itself meets, and what a check finds where somebody has met it earlier.
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
            // Somebody may have moved it away while it was opened. What is written into it then is
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
    for suffix in aside::SUFFIXES {
        private::tighten(&aside::with_suffix(path, suffix));
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

/// Whether a connection that closes leaves the log where it is.
const KEEPS_LOG: DbConfig = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;

/// Asks for WAL and reads back what was given: a file system without shared memory refuses it
/// without an error.
fn journal_mode(db: &Connection) -> Result<String, rusqlite::Error> {
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
