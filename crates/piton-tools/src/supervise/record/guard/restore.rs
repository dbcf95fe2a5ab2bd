//! Puts a file or a link where it stood, in place of whatever stands there now.
//!
//! Who changed it may still be changing things: no link is followed on the way, and nothing is ever half written. A
//! new file takes the place of the old one, so a second name of that one leads nowhere any more. What a command has
//! put in the way is given another name, and a directory that it has closed is opened for the moment.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Uid, chmodat, fchmod, fchown, fstat, mkdirat,
    openat, renameat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::scene::{Content, FILE_BYTES_MAX, Thing};
use crate::sandbox;

/// What a directory allows that has to be made again.
const DIRECTORY_MODE: u32 = 0o755;
/// What its owner needs to change what is in it.
const OWNER_MODE: u32 = 0o700;

/// Makes a place what it was; `None` is empty. An error says why it is not. On a full disk what stands there makes
/// room: better nothing than what a command has put there.
pub(super) fn put(place: &Path, root: &Path, thing: Option<&Thing>) -> io::Result<()> {
    match make(place, root, thing) {
        Err(_) if thing.is_some() => {
            make(place, root, None).and_then(|()| make(place, root, thing))
        }
        done => done,
    }
}

/// Gives what stands at a place a name that nobody obeys.
pub(super) fn set_aside_at(place: &Path, root: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(io::Error::other("it has no name"));
    };
    let Some(parent) = way_to(parent, root, Way::AsItIs)? else { return Ok(()) };
    opened(&parent, || match set_aside(&parent, name.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    })
}

fn make(place: &Path, root: &Path, thing: Option<&Thing>) -> io::Result<()> {
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(io::Error::other("it has no name"));
    };
    let Some(thing) = thing else {
        // What is behind a link, or gone, is not there.
        let Some(parent) = way_to(parent, root, Way::AsItIs)? else { return Ok(()) };
        return opened(&parent, || remove(&parent, name.as_bytes()));
    };
    let Some(parent) = way_to(parent, root, Way::Made)? else {
        return Err(io::Error::other("there is no way to it"));
    };
    opened(&parent, || stand(&parent, name.as_bytes(), thing))
}

/// Makes a file or a link under a name, in place of what has it.
fn stand(parent: &OwnedFd, name: &[u8], thing: &Thing) -> io::Result<()> {
    match thing {
        Thing::File { mode, owner, content: Content::Whole(bytes) } => {
            let made = unnamed()?;
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let mut file = File::from(openat(parent, &made, flags, Mode::empty())?);
            let written = file.write_all(&bytes.0).and_then(|()| {
                let [user, group] = *owner;
                // Only root gives files away; all others have none to give.
                fchown(&file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group))).ok();
                fchmod(&file, Mode::from_raw_mode(*mode))?;
                Ok(())
            });
            take_place(parent, &made, name, written)
        }
        Thing::Link(target) => {
            let made = unnamed()?;
            symlinkat(target.0.as_slice(), parent, &made)?;
            take_place(parent, &made, name, Ok(()))
        }
        Thing::File { content: Content::Large { .. }, .. } => {
            Err(io::Error::other("it was too large to be kept"))
        }
        Thing::Odd => Err(io::Error::other("it was no file and no link")),
    }
}

fn unnamed() -> io::Result<String> {
    Ok(format!(".piton-{:016x}", chance()?))
}

/// Gives what was made its name, or takes it away again.
fn take_place(
    parent: &OwnedFd,
    made: &str,
    name: &[u8],
    written: io::Result<()>,
) -> io::Result<()> {
    let named = written.and_then(|()| match renameat(parent, made, parent, name) {
        Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => {
            remove(parent, name)?;
            Ok(renameat(parent, made, parent, name)?)
        }
        done => Ok(done?),
    });
    if named.is_err() {
        unlinkat(parent, made, AtFlags::empty()).ok();
    }
    named
}

fn remove(parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
    if is_large(parent, name) {
        return set_aside(parent, name);
    }
    match unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) => set_aside(parent, name),
            done => Ok(done?),
        },
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a file is too large to be kept elsewhere.
fn is_large(parent: &OwnedFd, name: &[u8]) -> bool {
    statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
        let bytes = u64::try_from(found.st_size).unwrap_or_default();
        FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && FILE_BYTES_MAX < bytes
    })
}

/// How the names of what was set aside begin and go on: with what they were, and a number of so many digits.
const ASIDE: &str = "not-obeyed-";
const ASIDE_DIGITS: usize = 16;

/// Gives something another name, under which nobody obeys it: what is in it may be too much to be kept elsewhere.
fn set_aside(parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
    let number = format!("-{:0ASIDE_DIGITS$x}", chance()?);
    let aside = [ASIDE.as_bytes(), name, number.as_bytes()].concat();
    Ok(renameat(parent, name, parent, aside.as_slice())?)
}

/// Whether a name is one of those: nobody obeys a file that is called so.
pub(super) fn is_aside(place: &Path) -> bool {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let number = name.strip_prefix(ASIDE).and_then(|rest| rest.rsplit_once('-'));
    number.is_some_and(|(_, number)| {
        number.len() == ASIDE_DIGITS && number.bytes().all(|it| it.is_ascii_hexdigit())
    })
}

/// A number that no command can guess, and so no name of which it can take beforehand.
fn chance() -> io::Result<u64> {
    getrandom::u64().map_err(|error| io::Error::other(error.to_string()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As far as it is there.
    AsItIs,
    /// What is missing is made, and what is no directory gets another name.
    Made,
}

/// A handle on a directory below the root, if there is one.
fn way_to(directory: &Path, root: &Path, way: Way) -> io::Result<Option<OwnedFd>> {
    let below = directory.strip_prefix(root).map_err(|_| io::Error::other("it is elsewhere"))?;
    let mut at = sandbox::open_place(root)?;
    for name in below {
        let step = || step_into(&at, name.as_bytes(), way);
        let Some(next) = opened(&at, step)? else { return Ok(None) };
        at = next;
    }
    Ok(Some(at))
}

fn step_into(at: &OwnedFd, name: &[u8], way: Way) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(at, name, flags, Mode::empty());
    match found {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if way == Way::AsItIs => return Ok(None),
        Err(Errno::NOENT) => {}
        Err(Errno::NOTDIR | Errno::LOOP) => set_aside(at, name)?,
        found => return Ok(Some(found?)),
    }
    mkdirat(at, name, Mode::from_raw_mode(DIRECTORY_MODE))?;
    Ok(Some(openat(at, name, flags, Mode::empty())?))
}

/// Does something in a directory. If that is not allowed there, its owner is allowed to, for as long as it takes.
fn opened<T>(directory: &OwnedFd, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match act() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let mode = Mode::from_raw_mode(fstat(directory)?.st_mode);
            let name = format!("/proc/self/fd/{}", directory.as_raw_fd());
            let change = |mode| chmodat(CWD, &name, mode, AtFlags::empty());
            change(mode | Mode::from_raw_mode(OWNER_MODE)).map_err(|_| error)?;
            let done = act();
            change(mode)?;
            done
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::super::scene::Scene;
    use super::*;
    use crate::supervise::record::change::Raw;

    #[test]
    fn what_stood_there_stands_there_again_whatever_came() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let place = root.join("a/b/config");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(&place, "before").unwrap();
        let before = Scene::read(std::slice::from_ref(&place));
        let thing = before.at(&place).cloned().unwrap();
        let come: [fn(&Path, &Path); 5] = [
            |place, _| fs::write(place, "after").unwrap(),
            |place, _| fs::remove_file(place).unwrap(),
            |_, root| fs::remove_dir_all(root.join("a")).unwrap(),
            |place, _| {
                fs::remove_file(place).unwrap();
                fs::create_dir(place).unwrap();
            },
            |place, root| {
                fs::remove_file(place).unwrap();
                fs::write(root.join("other"), "other").unwrap();
                symlink(root.join("other"), place).unwrap();
            },
        ];
        for (number, come) in come.into_iter().enumerate() {
            come(&place, &root);
            put(&place, &root, Some(&thing)).unwrap();
            assert_eq!(Scene::read(std::slice::from_ref(&place)), before, "{number}");
        }
        assert_eq!(fs::read_to_string(root.join("other")).unwrap(), "other");
        fs::hard_link(&place, root.join("second")).unwrap();
        put(&place, &root, Some(&thing)).unwrap();
        assert_eq!(place.metadata().unwrap().nlink(), 1, "a second name is cut off");
        put(&place, &root, None).unwrap();
        assert!(!place.exists());
        assert_eq!(fs::read_dir(root.join("a/b")).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn no_link_leads_out() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["work", "away"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("away/config"), "away").unwrap();
        symlink("../away", root.join("work/git")).unwrap();
        let (work, place) = (root.join("work"), root.join("work/git/config"));
        let thing = Thing::Link(Raw(b"x".to_vec()));
        put(&place, &work, None).unwrap();
        assert!(work.join("git").is_symlink(), "nothing stands behind it");
        put(&place, &work, Some(&thing)).unwrap();
        assert_eq!(fs::read_to_string(root.join("away/config")).unwrap(), "away");
        assert_eq!(fs::read_link(&place).unwrap(), Path::new("x"));
        let aside = fs::read_dir(&work).unwrap().find(|it| {
            it.as_ref().unwrap().file_name().to_str().unwrap().starts_with("not-obeyed-git-")
        });
        assert!(aside.unwrap().unwrap().path().is_symlink(), "what stood in the way is kept");
    }

    // As a user without rights, to whom the mode of a directory says something: `sandbox/obeyed.rs` of the CLI.
    #[test]
    fn a_directory_with_something_in_it_makes_room() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let place = root.join("config");
        fs::create_dir_all(place.join("full")).unwrap();
        let content = Content::Whole(Raw(b"before".to_vec()));
        let thing = Thing::File { mode: 0o600, owner: [0, 0], content };
        put(&place, &root, Some(&thing)).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "before");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 2, "the directory is kept");
    }
}
