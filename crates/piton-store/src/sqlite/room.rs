//! Room in the log, made before it is needed.
//!
//! A commit that makes its file longer has to write the file's new length as well, which costs about
//! a third of the commit. So the log is made longer in large steps. What lies behind its last valid
//! frame means nothing to `SQLite`: a log that is written from its beginning again has old frames
//! there. Knows the file by its name only, and reports nothing: without room, commits are slower.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use super::beside::with_suffix;

/// Bytes by which the log grows.
const STEP_BYTES: u64 = 256 * 1024;

#[derive(Debug)]
pub(super) struct Room {
    log: PathBuf,
    /// How long the file is at least.
    length: u64,
    /// Up to where it may be in use; a guess that is rather too high.
    used: u64,
}

impl Room {
    pub(super) fn of(database: &Path) -> Self {
        Self { log: with_suffix(database, "-wal"), length: 0, used: 0 }
    }

    /// Makes room for so many bytes more.
    pub(super) fn make(&mut self, bytes: u64) {
        if self.length == 0 {
            let found = fs::metadata(&self.log).map_or(0, |log| log.len());
            (self.length, self.used) = (found, found);
        }
        self.used += bytes;
        if self.used > self.length {
            let length = self.used.next_multiple_of(STEP_BYTES);
            extend(&self.log, length);
            self.length = length;
        }
    }

    /// The log is written from its beginning again.
    pub(super) fn rewind(&mut self) {
        self.used = 0;
    }
}

#[cfg(target_os = "linux")]
fn extend(log: &Path, length: u64) {
    use rustix::fs::{FallocateFlags, fallocate};
    // Never created here, and never shortened: `SQLite` knows when it wants a log.
    if let Ok(file) = OpenOptions::new().write(true).open(log) {
        fallocate(&file, FallocateFlags::empty(), 0, length).ok();
    }
}

#[cfg(not(target_os = "linux"))]
fn extend(_log: &Path, _length: u64) {}
