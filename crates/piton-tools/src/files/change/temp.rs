//! The file beside the file: where new content waits, and where displaced content is looked at.
//!
//! Its name tells whose it is, so that what a killed run left behind is found and cleaned by the
//! next run of the same call, or by the process that settles the call. The name also tells whether
//! it can hold anything but our own: `.part` is content that is still being written, `.tmp` is
//! complete and may have been exchanged with somebody else's.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use piton_core::id::{CallId, Digest};
use rustix::buffer::spare_capacity;
use rustix::fs::{
    AtFlags, Dir, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid, XattrFlags, fchmod, fchown,
    fgetxattr, flistxattr, flock, fsetxattr, fstat, fsync, openat, renameat, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::content::read_bounded;
use super::placed::Unplaced;
use crate::contract::Refusal;
use crate::fail;
use crate::files::digest;
use crate::files::workspace::Entry;

/// Mode of a new file before the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
/// Mode of a temporary file until it has the mode of the file that it replaces.
const PRIVATE_MODE: Mode = Mode::from_raw_mode(0o600);
/// How the name ends while the content is being written.
const PART: &str = ".part";
/// How it ends once the content is complete and synced.
const WHOLE: &str = ".tmp";
/// Most bytes of all names, and of one value, of extended attributes: the kernel takes no more.
const ATTRIBUTE_BYTES_MAX: usize = 64 * 1024;
/// Names that are tried before giving up.
const NAMES_TRIED_MAX: usize = 16;
/// Hexadecimal digits of the key in a name: 64 bits.
const KEY_CHARS: usize = 16;
/// Most names of a directory that are searched for leftovers.
const NAMES_READ_MAX: usize = 100_000;
/// Time between two tries to get the lock.
const LOCK_RETRY: Duration = Duration::from_millis(5);
/// Tries before going on without the lock: one second.
const LOCK_TRIES_MAX: usize = 200;

/// Makes names unique within this process.
static NONCE: AtomicU32 = AtomicU32::new(0);

/// Keeps others from changing files of `directory` until it is closed; the kernel closes it with the
/// process. The lock only makes conflicts rare: without it (a network file system, somebody who
/// never lets go) the digests still tell the truth, so it is not waited for at any price.
///
/// Says whether nobody else is at work.
pub(in crate::files) fn lock(directory: &OwnedFd) -> bool {
    for _ in 0..LOCK_TRIES_MAX {
        match flock(directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => thread::sleep(LOCK_RETRY),
            locked => return locked.is_ok(),
        }
    }
    false
}

/// Which change a temporary file belongs to. Call ids are only unique within one conversation, and
/// two conversations may share a workspace; the path and the new content tell them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::files) struct Key(String);

impl Key {
    /// Of a change to a content, or of the removal of a file.
    pub(in crate::files) fn of(path: &str, after: Option<&Digest>) -> Self {
        after.map_or_else(|| Self::new(path, &digest::of(b"")), |after| Self::new(path, after))
    }

    pub(in crate::files) fn new(path: &str, after: &Digest) -> Self {
        let whole = digest::of(format!("{path}\0{after}").as_bytes());
        Self(whole.as_str().chars().take(KEY_CHARS).collect())
    }

    /// `.piton-<call>-<key>-`, and without a call anything that has this key.
    fn is_in(&self, name: &str, call: Option<CallId>) -> bool {
        let Some(rest) = name.strip_prefix(".piton-") else { return false };
        let mut parts = rest.split('-');
        let owner = parts.next().unwrap_or_default();
        let same_call = call.is_none_or(|call| owner == call.to_string());
        same_call && parts.next() == Some(&self.0)
    }
}

/// A temporary file beside the file that is changed.
#[derive(Debug)]
pub(in crate::files) struct Temp<'a> {
    entry: &'a Entry,
    name: String,
}

impl<'a> Temp<'a> {
    /// Writes `content` beside `entry`, synced, with the mode that the file itself has; if there is
    /// none, with `mode`.
    pub(super) fn write(
        entry: &'a Entry,
        key: &Key,
        call: CallId,
        (content, mode): (&[u8], Option<u32>),
    ) -> Result<Self, Unplaced> {
        let failed = |error: io::Error| {
            let shown = &entry.shown;
            let refusal =
                Refusal(format!("`{shown}` is unchanged: writing beside it failed: {error}"));
            if error.kind() == io::ErrorKind::PermissionDenied {
                Unplaced::OnlyInPlace(refusal)
            } else {
                Unplaced::Refused(refusal)
            }
        };
        let (part, mut file) =
            Self::create(entry, key, call, mode).map_err(|errno| failed(errno.into()))?;
        let written = file.write_all(content).and_then(|()| {
            adopt_attributes(entry, &file, mode)?;
            if !fail::wanted("edit-not-synced") {
                fsync(&file)?;
            }
            let name = part.name.trim_end_matches(PART).to_owned() + WHOLE;
            renameat(&entry.directory, part.name(), &entry.directory, name.as_str())?;
            Ok(name)
        });
        match written {
            Ok(name) => Ok(Self { entry, name }),
            Err(error) => {
                part.remove();
                Err(failed(error))
            }
        }
    }

    /// A file that a run before this one left behind.
    pub(in crate::files) fn left_over(entry: &'a Entry, name: String) -> Self {
        Self { entry, name }
    }

    pub(in crate::files) fn name(&self) -> &str {
        &self.name
    }

    /// Gives the file itself a name beside its own, whatever it holds.
    pub(in crate::files) fn aside(
        entry: &'a Entry,
        key: &Key,
        call: CallId,
    ) -> Result<Self, Errno> {
        let (part, _) = Self::create(entry, key, call, None)?;
        let (directory, name) = (&entry.directory, entry.name.as_str());
        let aside = Self { entry, name: part.name.trim_end_matches(PART).to_owned() + WHOLE };
        let moved = renameat(directory, name, directory, aside.name());
        part.remove();
        moved.map(|()| aside)
    }

    /// The digest of what is under this name now; `None` if it is not a file of ours any more.
    pub(in crate::files) fn digest(&self) -> Option<Digest> {
        read(self.entry, &self.name).map(|bytes| digest::of(&bytes))
    }

    /// Exchanges it with the file itself, in one step.
    pub(in crate::files) fn swap(&self) -> Result<(), Errno> {
        let (directory, name) = (&self.entry.directory, self.entry.name.as_str());
        renameat_with(directory, self.name(), directory, name, RenameFlags::EXCHANGE)
    }

    /// Gives the file its own name back, unless something has it.
    pub(super) fn name_again(&self) -> Result<(), Errno> {
        let (directory, name) = (&self.entry.directory, self.entry.name.as_str());
        renameat_with(directory, self.name(), directory, name, RenameFlags::NOREPLACE)
    }

    /// Removes it. If that fails, the next run of the call tries again.
    pub(in crate::files) fn remove(&self) {
        unlinkat(&self.entry.directory, self.name.as_str(), AtFlags::empty()).ok();
    }

    fn create(
        entry: &'a Entry,
        key: &Key,
        call: CallId,
        mode: Option<u32>,
    ) -> Result<(Self, File), Errno> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let exists = statat(&entry.directory, entry.name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        // Content of a private file must not be readable for a moment either.
        let mode = if exists.is_ok() || mode.is_some() { PRIVATE_MODE } else { FILE_MODE };
        for _ in 0..NAMES_TRIED_MAX {
            let nonce = NONCE.fetch_add(1, Ordering::Relaxed);
            let stem = format!(".piton-{call}-{}-{}.{nonce}", key.0, std::process::id());
            let whole = format!("{stem}{WHOLE}");
            if statat(&entry.directory, whole.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                // Of a process with the same number before the last reboot.
                continue;
            }
            let name = format!("{stem}{PART}");
            match openat(&entry.directory, name.as_str(), flags, mode) {
                Ok(file) => return Ok((Self { entry, name }, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }
}

fn adopt_attributes(entry: &Entry, file: &File, mode: Option<u32>) -> io::Result<()> {
    let Ok(theirs) = statat(&entry.directory, entry.name.as_str(), AtFlags::SYMLINK_NOFOLLOW)
    else {
        let mode = mode.map(Mode::from_raw_mode);
        return Ok(mode.map_or(Ok(()), |mode| fchmod(file, mode))?);
    };
    let ours = fstat(file)?;
    if (ours.st_uid, ours.st_gid) != (theirs.st_uid, theirs.st_gid) {
        // Only a privileged process may give a file away; for everybody else nothing can take the
        // place of a file of somebody else. Before the mode, because a change of owner clears the
        // set-id bits.
        let (owner, group) = (Uid::from_raw(theirs.st_uid), Gid::from_raw(theirs.st_gid));
        fchown(file, Some(owner), Some(group)).map_err(|_| Errno::PERM)?;
    }
    adopt_extended(entry, file);
    Ok(fchmod(file, Mode::from_raw_mode(theirs.st_mode))?)
}

/// Access lists, labels and whatever else is written on the file. What may not be copied is not: the
/// edit matters more.
fn adopt_extended(entry: &Entry, file: &File) {
    let Ok(Some(theirs)) = entry.open() else { return };
    let mut names = Vec::with_capacity(ATTRIBUTE_BYTES_MAX);
    if flistxattr(&theirs, spare_capacity(&mut names)).is_err() {
        return;
    }
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = Vec::with_capacity(ATTRIBUTE_BYTES_MAX);
        if fgetxattr(&theirs, name, spare_capacity(&mut value)).is_ok() {
            fsetxattr(file, name, &value, XattrFlags::empty()).ok();
        }
    }
}

fn read(entry: &Entry, name: &str) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(&entry.directory, name, flags, Mode::empty()).ok()?);
    read_bounded(&file).ok()
}

/// Temporary files of killed runs of the same call.
#[derive(Debug)]
pub(in crate::files) struct Leftovers<'a> {
    entry: &'a Entry,
    names: Vec<String>,
}

impl<'a> Leftovers<'a> {
    /// Of one change.
    pub(in crate::files) fn find(entry: &'a Entry, key: &Key, call: Option<CallId>) -> Self {
        Self::find_any(entry, std::slice::from_ref(key), call)
    }

    /// Of several changes of the same file, in one listing of its directory.
    pub(in crate::files) fn find_any(entry: &'a Entry, keys: &[Key], call: Option<CallId>) -> Self {
        let names = Dir::read_from(&entry.directory)
            .into_iter()
            .flatten()
            .take(NAMES_READ_MAX)
            .filter_map(|found| Some(found.ok()?.file_name().to_str().ok()?.to_owned()))
            .filter(|name| keys.iter().any(|key| key.is_in(name, call)))
            .collect();
        Self { entry, names }
    }

    /// A leftover that is neither unfinished nor one of the two known versions: somebody else's
    /// content that a killed run displaced.
    pub(in crate::files) fn foreign(&self, known: &[Option<&Digest>]) -> Option<String> {
        self.names.iter().find(|name| !self.is_own(name, known)).cloned()
    }

    /// Removes what is unfinished or one of the known versions. Anything else is kept: it may be all
    /// that is left of somebody's work.
    pub(in crate::files) fn remove_own(&self, known: &[Option<&Digest>]) {
        for name in self.names.iter().filter(|name| self.is_own(name, known)) {
            Temp::left_over(self.entry, name.clone()).remove();
        }
    }

    fn is_own(&self, name: &str, known: &[Option<&Digest>]) -> bool {
        if name.ends_with(PART) {
            return true;
        }
        let Some(bytes) = read(self.entry, name) else { return false };
        known.contains(&Some(&digest::of(&bytes)))
    }
}

#[cfg(test)]
mod tests {
    use piton_core::id::TurnId;

    use super::*;

    #[test]
    fn a_key_belongs_to_one_path_content_and_call() {
        let call = |index| Some(CallId { turn: TurnId(1), step: 2, index });
        let key = Key::new("a", &digest::of(b"x"));
        let name = format!(".piton-1.2.0-{}-77.3.tmp", key.0);
        assert!(key.is_in(&name, call(0)));
        assert!(key.is_in(&name, None));
        assert!(!key.is_in(&name, call(1)));
        assert!(!Key::new("b", &digest::of(b"x")).is_in(&name, None));
        assert!(!Key::new("a", &digest::of(b"y")).is_in(&name, None));
        assert!(!key.is_in("main.rs", None));
    }
}
