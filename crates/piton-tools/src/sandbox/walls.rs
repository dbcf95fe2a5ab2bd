//! Landlock: which files, which signals, which ports.
//!
//! Two walls, one behind the other. The outer one is shared by all commands of a supervisor that
//! have the same policy, so that one can signal what another has started; the inner one is the
//! command's own, because only it may write to its own output.
//!
//! What the kernel does not know is left out here, and told by [`super::Kernel`].

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use super::carve;
use super::network::Network;
use super::policy::{Granted, Looks, Policy};

/// What we know and have tried; a newer kernel is asked for no more than that.
pub(super) const KNOWN: ABI = ABI::V7;

/// Where devices are: terminals that somebody types into, disks with all files in them. Those are read only that may
/// be written to, and those that were granted.
pub(super) const DEVICES: &str = "/dev";

/// Builds the outer wall around this thread and all it starts: reading, and reaching others.
pub(super) fn outer(policy: &Policy) -> io::Result<()> {
    let mut ruleset = Ruleset::default().scope(Scope::from_all(KNOWN)).map_err(refused)?;
    if let Some(looks) = &policy.looks {
        return looking(ruleset, looks, &policy.closed);
    }
    let closed: Vec<_> = policy.closed.iter().chain(&policy.unread).cloned().collect();
    // Every wall denies this unless it says otherwise; the inner one says where.
    ruleset = ruleset.handle_access(AccessFs::Refer).map_err(refused)?;
    if !closed.is_empty() {
        // Not directories: a right to list cannot be given to a directory without all below it.
        ruleset = ruleset.handle_access(AccessFs::ReadFile).map_err(refused)?;
    }
    let mut created = ruleset.create().map_err(refused)?;
    created = allow(created, Path::new("/"), AccessFs::Refer.into())?;
    if closed.is_empty() {
        return finish(created);
    }
    for place in carve::carve(Path::new("/"), &closed)? {
        created = allow(created, &place, AccessFs::ReadFile.into())?;
    }
    let Granted { write, read, devices, .. } = &policy.granted;
    for root in write.iter().chain(read).chain(devices) {
        for place in carve::carve(root, &within(root, &closed))? {
            created = allow(created, &place, AccessFs::ReadFile.into())?;
        }
    }
    finish(created)
}

/// What stays closed in a place that was opened by its own name: what lies in it.
fn within(root: &Path, closed: &[PathBuf]) -> Vec<PathBuf> {
    closed.iter().filter(|it| *it != root && it.starts_with(root)).cloned().collect()
}

/// For a command that only looks: all reading is closed but that of a few places.
fn looking(ruleset: Ruleset, looks: &Looks, closed: &[PathBuf]) -> io::Result<()> {
    let reading = AccessFs::from_read(KNOWN);
    let mut created = ruleset.handle_access(reading).and_then(Ruleset::create).map_err(refused)?;
    let read = looks.read.iter().map(|place| (place, reading & !AccessFs::Execute));
    let programs = looks.programs.iter().map(|place| (place, reading));
    for (root, access) in read.chain(programs) {
        for place in carve::carve(root, closed)? {
            created = allow(created, &place, access)?;
        }
    }
    finish(created)
}

/// Builds the inner wall: writing, devices, and ports. `own` is open already and may be opened again, which
/// is what `/dev/stdout` does. It may be the terminal of the command.
pub(super) fn inner(
    policy: &Policy,
    network: Network,
    own: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let writing = AccessFs::from_write(KNOWN);
    let mut ruleset = Ruleset::default().handle_access(writing).map_err(refused)?;
    // A command that only looks reads no device anyway.
    let reads = policy.looks.is_none();
    if reads {
        ruleset = ruleset.handle_access(AccessFs::ReadFile).map_err(refused)?;
    }
    // In a network of its own there is nobody to reach.
    if !policy.network && network == Network::Shared {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN)).map_err(refused)?;
    }
    let mut created = ruleset.create().map_err(refused)?;
    // Nobody needs a device of their own making, and root could make one that is a disk.
    let granted = writing & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    for root in &policy.write {
        for place in carve::carve(root, &policy.closed)? {
            created = allow(created, &place, granted)?;
        }
    }
    for root in policy.granted.write.iter().chain(&policy.granted.devices) {
        for place in carve::carve(root, &within(root, &policy.closed))? {
            created = allow(created, &place, granted)?;
        }
    }
    if reads {
        created = reading_around_devices(created, policy)?;
    }
    if let Some(own) = own {
        let read = if reads { AccessFs::ReadFile.into() } else { BitFlags::EMPTY };
        let rule = PathBeneath::new(own, AccessFs::WriteFile | AccessFs::Truncate | read);
        created = created.add_rule(rule).map_err(refused)?;
    }
    finish(created)
}

/// Reading of everything but devices, and of those that are open.
fn reading_around_devices(
    mut created: RulesetCreated,
    policy: &Policy,
) -> io::Result<RulesetCreated> {
    let all = Path::new(DEVICES);
    for place in carve::carve(Path::new("/"), &[all.to_owned()])? {
        created = allow(created, &place, AccessFs::ReadFile.into())?;
    }
    let Granted { write, read, devices, .. } = &policy.granted;
    for place in policy.write.iter().chain(write).chain(read).chain(devices) {
        if place.starts_with(all) || all.starts_with(place) {
            let device = if place.starts_with(all) { place } else { all };
            created = allow(created, device, AccessFs::ReadFile.into())?;
        }
    }
    Ok(created)
}

fn allow(
    created: RulesetCreated,
    place: &Path,
    access: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    match open(place) {
        Ok(handle) => created.add_rule(PathBeneath::new(handle, access)).map_err(refused),
        // What is not there cannot be written to, and what cannot be seen cannot be opened. A link
        // was put there after the policy was made, and opens nothing.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => Ok(created),
        Err(errno) => Err(io::Error::other(format!(
            "the sandbox cannot be built at {}: {}",
            place.display(),
            io::Error::from(errno)
        ))),
    }
}

/// A handle that follows no link: a command may have replaced what the policy names by one.
pub(crate) fn open(place: &Path) -> Result<OwnedFd, Errno> {
    static IS_REFUSED: AtomicBool = AtomicBool::new(false);
    if IS_REFUSED.load(Ordering::Relaxed) {
        return open_by_steps(place);
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, place, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // We are in such a sandbox ourselves, as a process that starts a command is.
        Err(Errno::NOSYS) => {
            IS_REFUSED.store(true, Ordering::Relaxed);
            open_by_steps(place)
        }
        opened => opened,
    }
}

/// The same without a call that a sandbox of ours does not have.
fn open_by_steps(place: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut names = place.components().filter(|part| matches!(part, Component::Normal(_)));
    // No step is needed to the first name: it lies in the root of all.
    let first = Path::new("/").join(names.next().unwrap_or(Component::RootDir));
    let mut at = no_link(openat(CWD, &first, flags, Mode::empty())?)?;
    for name in names {
        at = no_link(openat(&at, name.as_os_str(), flags, Mode::empty())?)?;
    }
    Ok(at)
}

fn no_link(handle: OwnedFd) -> Result<OwnedFd, Errno> {
    let is_link = FileType::from_raw_mode(fstat(&handle)?.st_mode) == FileType::Symlink;
    if is_link { Err(Errno::LOOP) } else { Ok(handle) }
}

fn finish(created: RulesetCreated) -> io::Result<()> {
    created.restrict_self().map(drop).map_err(refused)
}

fn refused(error: RulesetError) -> io::Error {
    io::Error::other(format!("the sandbox cannot be built: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_opened_by_steps_and_through_no_link() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        for opened in [open, open_by_steps] {
            assert!(opened(&root.join("a/b")).is_ok());
            assert!(opened(Path::new("/")).is_ok());
            assert_eq!(opened(&root.join("link/b")).err(), Some(Errno::LOOP));
            assert_eq!(opened(&root.join("link")).err(), Some(Errno::LOOP));
            assert_eq!(opened(&root.join("none")).err(), Some(Errno::NOENT));
        }
    }
}
