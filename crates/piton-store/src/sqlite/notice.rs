//! What a person should hear about a store that was opened.

use std::fmt;
use std::path::PathBuf;

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
                 to bring back what can be read: piton doctor --salvage {0}",
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
