//! Puts a file or a link where it stood, in place of whatever stands there now.
//!
//! Who changed it may still be changing things: no link is followed on the way, and nothing is ever half written. A
//! new file takes the place of the old one, so a second name of that one leads nowhere any more.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, mkdirat, openat, renameat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::scene::{Content, Thing};
use crate::sandbox;

/// What a directory allows that has to be made again.
const DIRECTORY_MODE: u32 = 0o755;

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

fn make(place: &Path, root: &Path, thing: Option<&Thing>) -> io::Result<()> {
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(io::Error::other("it has no name"));
    };
    let Some(thing) = thing else {
        return match sandbox::open_place(parent) {
            Ok(parent) => remove(&parent, name.as_bytes()),
            // What is behind a link, or gone, is not there.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(error) => Err(error.into()),
        };
    };
    let parent = make_way(parent, root)?;
    match thing {
        Thing::File { mode, owner, content: Content::Whole(bytes) } => {
            let made = unnamed()?;
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let mut file = File::from(openat(&parent, &made, flags, Mode::empty())?);
            let written = file.write_all(&bytes.0).and_then(|()| {
                let [user, group] = *owner;
                // Only root gives files away; all others have none to give.
                fchown(&file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group))).ok();
                fchmod(&file, Mode::from_raw_mode(*mode))?;
                Ok(())
            });
            take_place(&parent, &made, name.as_bytes(), written)
        }
        Thing::Link(target) => {
            let made = unnamed()?;
            symlinkat(target.0.as_slice(), &parent, &made)?;
            take_place(&parent, &made, name.as_bytes(), Ok(()))
        }
        Thing::File { content: Content::Large { .. }, .. } => {
            Err(io::Error::other("it was too large to be kept"))
        }
        Thing::Odd => Err(io::Error::other("it was no file and no link")),
    }
}

fn unnamed() -> io::Result<String> {
    let chance = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!(".piton-{chance:016x}"))
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
            unlinkat(parent, name, AtFlags::REMOVEDIR)?;
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
    match unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) => set_aside(parent, name),
            done => Ok(done?),
        },
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Gives a directory another name, under which nobody obeys it: what is in it may be too much to be kept elsewhere.
fn set_aside(parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
    let number = std::process::id();
    let aside = [b"not-obeyed-", name, format!("-{number}").as_bytes()].concat();
    Ok(renameat(parent, name, parent, aside.as_slice())?)
}

/// Opens a directory, and makes what is missing of it below the root.
fn make_way(directory: &Path, root: &Path) -> io::Result<OwnedFd> {
    let below = directory.strip_prefix(root).map_err(|_| io::Error::other("it is elsewhere"))?;
    let mut at = sandbox::open_place(root)?;
    for name in below {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        at = match openat(&at, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                mkdirat(&at, name, Mode::from_raw_mode(DIRECTORY_MODE))?;
                openat(&at, name, flags, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Ok(at)
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
        assert!(put(&place, &work, Some(&thing)).is_err());
        put(&place, &work, None).unwrap();
        assert_eq!(fs::read_to_string(root.join("away/config")).unwrap(), "away");
    }
}
