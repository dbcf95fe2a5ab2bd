//! What the commands of a policy see of the file system: everything read-only, but for the places that they may
//! write to; and in those, what is protected read-only again.
//!
//! A read-only file can still be swapped with the directory that it lies in. So every directory from a place that
//! can be written down to what is protected is a mount of its own, still writable: the kernel renames no mount.
//! No mount point is ever made, so nothing appears in the workspace.
//!
//! A mount over a name dissolves when somebody outside replaces that name. [`Pins`] say what is to be there, and
//! a supervisor looks before each command whether it still is.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatVfsMountFlags, StatxFlags, statvfs, statx};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount_bind_recursive, mount_remount};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::policy::Policy;
use super::{protect, sockets, walls};

/// Most mounts that are made. What is protected beyond that is only compared after a command.
const PINS_MAX: usize = 512;
/// What is put over a socket.
const NOTHING: &str = "/dev/null";
/// Which field of a line of `mountinfo` is the place.
const PLACE_FIELD: usize = 4;

/// What is held by mounts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pins {
    held: Vec<Pin>,
    /// What was protected and there, held or not.
    found: Vec<PathBuf>,
    /// Sockets that are closed.
    #[serde(default)]
    masked: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pin {
    place: PathBuf,
    /// The number of its mount.
    mount: u64,
}

impl Pins {
    /// Whether everything is still held for a process, and nothing else is to be.
    pub(crate) fn hold(&self, policy: &Policy, process: Pid) -> bool {
        let root = PathBuf::from(format!("/proc/{}/root", process.as_raw_nonzero()));
        let is_there = |pin: &Pin| {
            let place = pin.place.strip_prefix("/").unwrap_or(&pin.place);
            number(CWD, &root.join(place)).is_ok_and(|number| number == pin.mount)
        };
        let others = sockets::others(policy);
        let are_masked =
            others.is_ok_and(|others| others.iter().all(|it| self.masked.contains(it)));
        self.held.iter().all(is_there)
            && self.found == protect::found(&policy.protect)
            && are_masked
    }
}

/// Makes the mounts, in a namespace of this process alone. `sockets` are to be closed.
pub(super) fn arrange(policy: &Policy, sockets: Vec<PathBuf>) -> io::Result<Pins> {
    let mut held = Held::default();
    let mut roots = policy.write.clone();
    // A granted file in the workspace is open as soon as it is not protected. As a mount it could not be replaced,
    // and git replaces its settings by renaming.
    let is_open = |place: &&PathBuf| !policy.write.iter().any(|root| place.starts_with(root));
    roots.extend(policy.granted.write.iter().filter(is_open).cloned());
    roots.sort();
    // The root of all cannot be a mount on itself; then there is nothing that could be read-only.
    let is_all = roots.iter().any(|root| root == Path::new("/"));
    for root in &roots {
        held.hold(root, Access::Writable)?;
    }
    if !is_all {
        close_all_but(&roots)?;
    }
    let found = protect::found(&policy.protect);
    for place in &found {
        // From the outermost, which is the first.
        let Some(root) = roots.iter().find(|root| place.starts_with(root)) else { continue };
        let above: Vec<_> =
            place.ancestors().skip(1).take_while(|it| it.starts_with(root)).collect();
        for directory in above.into_iter().rev() {
            held.hold(directory, Access::Writable)?;
        }
        held.hold(place, Access::Protected)?;
    }
    for socket in &sockets {
        held.mask(socket)?;
    }
    Ok(Pins { held: held.pins()?, found, masked: sockets })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Writable,
    /// Read-only, unless it is a directory in which something else is protected.
    Protected,
}

/// Places that are mounts on themselves.
#[derive(Debug, Default)]
struct Held {
    places: Vec<PathBuf>,
}

impl Held {
    /// Makes a mount of a place. What is not there, or a link, or a device, is none.
    fn hold(&mut self, place: &Path, access: Access) -> io::Result<()> {
        let is_held = self.places.iter().any(|known| known == place);
        if is_held && access == Access::Writable || PINS_MAX <= self.places.len() {
            return Ok(());
        }
        let Some(handle) = open(place)? else { return Ok(()) };
        if !is_held {
            let name = name(&handle);
            mount_bind_recursive(name.as_str(), name.as_str())
                .map_err(|error| failed("held", place, error))?;
            self.places.push(place.to_owned());
        }
        if access == Access::Protected {
            // Opened again: the handle is of what lies below the mount.
            let Some(handle) = open(place)? else { return Ok(()) };
            close(Path::new(&name(&handle))).map_err(|error| failed("protected", place, error))?;
        }
        Ok(())
    }

    /// Puts nothing in the place of a socket.
    fn mask(&mut self, place: &Path) -> io::Result<()> {
        let Some(handle) = open(place)? else { return Ok(()) };
        mount_bind_recursive(NOTHING, name(&handle).as_str())
            .map_err(|error| failed("closed", place, error))?;
        self.places.push(place.to_owned());
        Ok(())
    }

    fn pins(self) -> io::Result<Vec<Pin>> {
        let pins = self.places.into_iter().map(|place| {
            let mount = number(CWD, &place)?;
            Ok(Pin { place, mount })
        });
        pins.collect()
    }
}

/// A handle on a place that can be held; no link is followed.
fn open(place: &Path) -> io::Result<Option<OwnedFd>> {
    if place == Path::new("/") {
        return Ok(None);
    }
    let handle = match walls::open(place) {
        Ok(handle) => handle,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => return Ok(None),
        Err(error) => return Err(failed("opened", place, error)),
    };
    let kind = fs::metadata(name(&handle))?.file_type();
    let is_device = kind.is_char_device() || kind.is_block_device();
    Ok((!is_device && !kind.is_symlink()).then_some(handle))
}

fn name(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// Makes every mount read-only that lies in none of these places.
fn close_all_but(open: &[PathBuf]) -> io::Result<()> {
    let mounts = fs::read("/proc/self/mountinfo")?;
    for line in mounts.split(|byte| *byte == b'\n') {
        let mut fields = line.split(|byte| *byte == b' ');
        let Some(place) = fields.nth(PLACE_FIELD).map(unescape) else { continue };
        // A place where the kernel mounts as soon as somebody looks: it would wait for somebody to do so.
        let is_trap = fields.skip_while(|field| *field != b"-").nth(1) == Some(b"autofs");
        if is_trap || open.iter().any(|open| place.starts_with(open)) {
            continue;
        }
        match close(&place) {
            Err(error) if place == Path::new("/") => return Err(failed("closed", &place, error)),
            // Covered by another, out of our reach, or odd: Landlock holds it as before.
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Makes a mount read-only. What else is forbidden in it stays so.
fn close(place: &Path) -> Result<(), Errno> {
    let has = statvfs(place)?.f_flag;
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let kept = kept.into_iter().filter(|(seen, _)| has.contains(*seen)).map(|(_, flag)| flag);
    let flags = kept.fold(MountFlags::BIND | MountFlags::RDONLY, |flags, flag| flags | flag);
    mount_remount(place, flags, c"")
}

/// The number of the mount that a place is in.
fn number(from: impl std::os::fd::AsFd, place: &Path) -> io::Result<u64> {
    let found = statx(from, place, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID)?;
    let is_known = StatxFlags::MNT_ID.bits() & found.stx_mask != 0;
    is_known.then_some(found.stx_mnt_id).ok_or_else(|| io::Error::other("mounts have no numbers"))
}

/// A name in `mountinfo`, where blanks and the like are three digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut name = Vec::new();
    let mut rest = field;
    while let [first, others @ ..] = rest {
        let digits = others.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let (byte, used) = match code {
            Some(code) if *first == b'\\' => (code, 4),
            Some(_) | None => (*first, 1),
        };
        name.push(byte);
        rest = rest.get(used..).unwrap_or_default();
    }
    PathBuf::from(std::ffi::OsString::from_vec(name))
}

fn failed(what: &str, place: &Path, error: Errno) -> io::Error {
    let place = String::from_utf8_lossy(place.as_os_str().as_bytes());
    io::Error::other(format!("{place} cannot be {what}: {}", io::Error::from(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mounts_are_read_as_they_are() {
        assert_eq!(unescape(br"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescape(br"/a\04"), Path::new(r"/a\04"));
        assert_eq!(unescape(b"/plain"), Path::new("/plain"));
    }

    #[test]
    fn a_place_in_no_mount_of_ours_does_not_hold() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        let me = rustix::process::getpid();
        let policy = crate::sandbox::Rules::none().at(&place);
        let mount = number(CWD, &place).unwrap();
        let pins = |mount, found: &[PathBuf]| Pins {
            held: vec![Pin { place: place.clone(), mount }],
            found: found.to_vec(),
            masked: Vec::new(),
        };
        assert!(pins(mount, &[]).hold(&policy, me));
        assert!(!pins(mount + 1, &[]).hold(&policy, me), "another mount");
        assert!(!pins(mount, &[place.join(".envrc")]).hold(&policy, me), "less than before");
        fs::write(place.join(".envrc"), "").unwrap();
        assert!(!pins(mount, &[]).hold(&policy, me), "more than before");
    }
}
