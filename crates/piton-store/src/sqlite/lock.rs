//! Locks that die with their process: an OS lock on a file in `locks`.
//!
//! The file means nothing, the lock on it means everything. A file that a killed process left behind
//! is therefore harmless; the next holder of the lock, or the next start, removes it. Knows nothing of
//! conversations but their names.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_core::id::ConversationId;

use super::private;
use crate::{Holder, StoreError, blob};

/// Times to try for a lock before it counts as held. A reader who asks for the holder has the lock
/// shared for a few microseconds, and that must not look like a second writer.
const LOCK_TRIES: u32 = 12;
const LOCK_PAUSE_MS: u64 = 1;
/// Times to ask who holds a lock that is being taken at this moment.
const HOLDER_TRIES: u32 = 3;
/// Longest description of a holder, in bytes.
const HOLDER_BYTES_MAX: u64 = 4096;
/// Longest name of a conversation that is used as the name of a file, in bytes.
const PLAIN_NAME_BYTES_MAX: usize = 64;
/// Files looked at by one cleaning.
const CLEAN_FILES_MAX: usize = 1000;

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Says who holds it, for people. Not synced: after a power cut nobody holds anything.
    pub(super) fn describe(&mut self, holder: &Holder) -> Result<(), StoreError> {
        let text = serde_json::to_vec(holder).map_err(io::Error::from);
        let written = text.and_then(|text| {
            if 0 < self.file.metadata()?.len() {
                self.file.set_len(0)?;
            }
            self.file.write_all(&text)
        });
        written.map_err(|error| StoreError::io("write", &self.path, error))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Unlink while the lock is held: a process that opened the file before this and locks it after
        // this finds that the path no longer leads to it, and starts again. If the file cannot be
        // removed it stays and is harmless. Closing the file gives up the lock.
        if is_at(&self.file, &self.path).unwrap_or(false) {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// The lock file of a conversation. Names that could be paths, or be taken for one another by a file
/// system that ignores case, are replaced by their digest.
pub(super) fn path(locks: &Path, conversation: &ConversationId) -> PathBuf {
    locks.join(file_name(conversation))
}

/// The name of that file.
pub(super) fn file_name(conversation: &ConversationId) -> String {
    format!("{}.lock", plain_name(conversation))
}

/// The conversation's name as a part of a file's name. Names come from outside, and file systems have
/// ideas of their own about some of them.
pub(super) fn plain_name(conversation: &ConversationId) -> String {
    let name = conversation.as_str();
    let plain = |letter: u8| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if !name.is_empty() && name.len() <= PLAIN_NAME_BYTES_MAX && name.bytes().all(plain) {
        name.to_owned()
    } else {
        format!("={}", blob::digest(name.as_bytes()))
    }
}

/// Takes a lock; `None` if it is held, by this process or by another.
pub(super) fn take(path: &Path) -> Result<Option<Lock>, StoreError> {
    let failed = |error| StoreError::io("lock", path, error);
    for attempt in 0..LOCK_TRIES {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(LOCK_PAUSE_MS));
        }
        let file = private::create().read(true).open(path).map_err(failed)?;
        match file.try_lock() {
            // The holder before us may have unlinked the file between our open and our lock. Then
            // we hold a file without a name, which keeps nobody out.
            Ok(()) if is_at(&file, path).map_err(failed)? => {
                return Ok(Some(Lock { file, path: path.to_owned() }));
            }
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
    Ok(None)
}

/// Says who holds a lock. Anything that cannot be read is "nobody that could be named".
pub(super) fn holder(path: &Path) -> Option<Holder> {
    for _ in 0..HOLDER_TRIES {
        let file = File::open(path).ok()?;
        if is_free(&file) {
            return None;
        }
        let mut text = Vec::new();
        file.take(HOLDER_BYTES_MAX).read_to_end(&mut text).ok()?;
        // Empty or half written: the holder is describing itself at this moment.
        if let Ok(holder) = serde_json::from_slice(&text) {
            return Some(holder);
        }
        std::thread::sleep(Duration::from_millis(LOCK_PAUSE_MS));
    }
    None
}

/// Whether any lock but `except` is held.
pub(super) fn any_held(locks: &Path, except: &str) -> Result<bool, StoreError> {
    any_other_held(locks, &[except.to_owned()])
}

/// Whether any lock but some is held.
pub(super) fn any_other_held(locks: &Path, except: &[String]) -> Result<bool, StoreError> {
    let failed = |error| StoreError::io("read", locks, error);
    for entry in fs::read_dir(locks).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_str().is_some_and(|name| except.iter().any(|it| it == name)) {
            continue;
        }
        match File::open(entry.path()) {
            Ok(file) if !is_free(&file) => return Ok(true),
            _ => {}
        }
    }
    Ok(false)
}

/// J80, J82: takes away what killed processes left. A file that is locked belongs to a live
/// process and stays. A failure is no reason not to start: stale files are harmless.
pub(super) fn clean(locks: &Path) {
    let Ok(entries) = fs::read_dir(locks) else { return };
    for entry in entries.flatten().take(CLEAN_FILES_MAX) {
        let path = entry.path();
        if let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            drop(Lock { file, path });
        }
    }
}

/// Nobody holds it, if we can share it. The shared lock goes when the file is closed, or here.
fn is_free(file: &File) -> bool {
    file.try_lock_shared().is_ok() && file.unlock().is_ok()
}

/// Whether the path still leads to this very file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_paths_become_digests() {
        let name = |id: &str| {
            let path = path(Path::new("l"), &ConversationId::new(id));
            path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(name("0a1b-c_d"), "0a1b-c_d.lock");
        for id in ["", "../x", "A", "a/b", "é", &"a".repeat(65), "=aside"] {
            assert!(name(id).starts_with('=') && name(id).len() == 70, "{id}");
        }
    }
}
