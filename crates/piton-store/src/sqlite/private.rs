//! Files that nobody but their owner can read: they hold what people say and what tools have seen.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::StoreError;

/// What a new directory allows.
const DIRECTORY_MODE: u32 = 0o700;
/// What a new file allows.
const FILE_MODE: u32 = 0o600;
/// What a group and everybody else may do.
const OTHERS: u32 = 0o077;
/// All that `chmod` can set.
const SETTABLE: u32 = 0o7777;
/// How the names of files in a home begin, whichever of piton's crates made them.
const OURS: [&str; 7] = ["piton.db", "locks", "blobs", "inbox", "drafts", "scratch", "search.db"];

/// For a file that is made if it is not there.
pub(super) fn create() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(FILE_MODE);
    options
}

/// Makes a directory and its parents, and makes that survive a power cut: a synced file in a
/// directory that is gone is gone.
pub(super) fn make_directory(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        make_directory(parent)?;
    }
    match DirBuilder::new().mode(DIRECTORY_MODE).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(StoreError::io("create", path, error))
        }
        _ => parent.map_or(Ok(()), sync_directory),
    }
}

/// Makes the names in a directory survive a power cut.
pub(super) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(|error| StoreError::io("sync", path, error))
}

/// Closes a file or directory to others, if it is ours. One that cannot be closed, because its file
/// system knows no owners for instance, is no reason not to work.
pub(super) fn tighten(path: &Path) {
    let Ok(found) = fs::metadata(path) else { return };
    if found.mode() & OTHERS != 0 && found.uid() == rustix::process::geteuid().as_raw() {
        let mode = found.mode() & SETTABLE & !OTHERS;
        fs::set_permissions(path, Permissions::from_mode(mode)).ok();
    }
}

/// Closes a home to others. A directory that holds other things as well, such as `/tmp`, was never
/// only ours, and closing it would take those from people.
pub(super) fn tighten_home(home: &Path) {
    let ours = |name: &str| OURS.iter().any(|ours| name.starts_with(ours));
    let Ok(mut entries) = fs::read_dir(home) else { return };
    if entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(ours))) {
        tighten(home);
    }
}
