//! Opening the files of a record, and the lock on its log.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::verdict::Lock;

/// What a directory that we make allows: everything to its owner, nothing to others.
pub(crate) const PRIVATE_DIRECTORY: u32 = 0o700;
/// The same for a file.
const PRIVATE_FILE: u32 = 0o600;

/// Opens the log of a call.
pub(crate) fn open_log(directory: &Path) -> io::Result<File> {
    opening().open(directory.join("log"))
}

/// Opens the output of a call.
pub(crate) fn open_out(directory: &Path) -> io::Result<File> {
    opening().open(directory.join("out"))
}

/// Takes the lock if nobody has it. The process keeps it as long as the file is open.
pub(crate) fn lock(log: &File) -> io::Result<Lock> {
    match flock(log, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Lock::Free),
        Err(Errno::WOULDBLOCK) => Ok(Lock::Held),
        Err(error) => Err(error.into()),
    }
}

/// Looks at the lock without taking it from anybody.
pub(crate) fn peek(log: &File) -> io::Result<Lock> {
    match flock(log, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            flock(log, FlockOperation::Unlock)?;
            Ok(Lock::Free)
        }
        Err(Errno::WOULDBLOCK) => Ok(Lock::Held),
        Err(error) => Err(error.into()),
    }
}

/// Options for a private file that is only appended to.
pub(crate) fn opening() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(PRIVATE_FILE);
    options
}
