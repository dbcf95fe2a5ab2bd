//! What stands at protected places at one moment, byte for byte.
//!
//! Directories count for what is in them only: an empty one tells nobody anything. No link is followed, since what
//! is behind one is another place; where a link stands in the way, the link is what counts. Nothing is passed over in
//! silence: a directory that cannot be read, or has more than is looked at, is noted as such.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry, File, Metadata};
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use piton_core::id::Digest;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::files::digest;
use crate::sandbox::{self, Named, Starred};
use crate::supervise::record::change::Raw;

/// Most of a file that is kept, in bytes. A larger one is not read: how long that takes is for a command to say.
pub(super) const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Most that is kept of one place, in bytes. Each has its own: a large one leaves the others what they need.
const PLACE_BYTES_MAX: u64 = FILE_BYTES_MAX;
/// Most files and links at one place, or at all that one star stands for.
const THINGS_MAX: usize = 1_000;
/// Most entries of one directory that are read.
const ENTRIES_MAX: usize = 2 * THINGS_MAX;
/// How deep directories are looked into.
const DEPTH_MAX: usize = 32;
/// The bits of a mode that count.
const MODE_BITS: u32 = 0o7777;
/// Examples of hooks that nobody runs: git lays a dozen of them into each repository.
const INERT: &str = "sample";
/// The directory in which they lie.
const HOOKS: &str = "hooks";

/// A file or a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Thing {
    /// A file, and whose it is.
    File { mode: u32, owner: [u32; 2], content: Content },
    /// A link, and where it leads.
    Link(Raw),
    /// Something else that is no directory, a directory of which not all was looked at, or what cannot be read.
    Odd,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Content {
    Whole(Raw),
    /// What tells one state of the file from another, as far as that is known without reading it.
    Large {
        length: u64,
        state: Raw,
    },
}

impl Thing {
    /// Of the content of a file that was kept.
    pub(super) fn digest(&self) -> Option<Digest> {
        match self {
            Self::File { content: Content::Whole(bytes), .. } => Some(digest::of(&bytes.0)),
            Self::File { .. } | Self::Link(_) | Self::Odd => None,
        }
    }
}

/// What stands where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scene(BTreeMap<Raw, Thing>);

/// What is different at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) place: PathBuf,
    pub(crate) before: Option<Thing>,
    pub(crate) after: Option<Thing>,
}

impl Scene {
    /// What stands at these places, and below those that are directories.
    pub(crate) fn read(places: &[PathBuf]) -> Self {
        let mut eye = Eye::default();
        let Named { exact, starred } = Named::of(places);
        for place in exact {
            eye.turn_to(place, false, |eye| {
                if sandbox::is_way(place) {
                    eye.look_at_way(place);
                } else {
                    eye.look(place, DEPTH_MAX);
                }
            });
        }
        for Starred { above, places, is_cut } in starred {
            eye.turn_to(&above, is_cut, |eye| places.iter().for_each(|it| eye.look(it, DEPTH_MAX)));
        }
        Self(eye.things)
    }

    pub(crate) fn at(&self, place: &Path) -> Option<&Thing> {
        self.0.get(&Raw::of(place))
    }

    pub(crate) fn set(&mut self, place: &Path, thing: Option<Thing>) {
        match thing {
            Some(thing) => drop(self.0.insert(Raw::of(place), thing)),
            None => drop(self.0.remove(&Raw::of(place))),
        }
    }

    /// All places at which something stands.
    pub(crate) fn places(&self) -> impl Iterator<Item = PathBuf> {
        self.0.keys().map(Raw::path)
    }

    /// What is different afterwards. What stands above comes first.
    pub(crate) fn differences(&self, after: &Self) -> Vec<Difference> {
        let places: BTreeSet<&Raw> = self.0.keys().chain(after.0.keys()).collect();
        let differs = |place: &&Raw| self.0.get(place) != after.0.get(place);
        let difference = |place: &Raw| Difference {
            place: place.path(),
            before: self.0.get(place).cloned(),
            after: after.0.get(place).cloned(),
        };
        places.into_iter().filter(differs).map(difference).collect()
    }
}

#[derive(Default)]
struct Eye {
    things: BTreeMap<Raw, Thing>,
    /// How many more bytes may be kept.
    room: u64,
    /// How many more files and links are looked at.
    left: usize,
    /// Whether there is more than was looked at.
    is_more: bool,
}

impl Eye {
    /// Looks at a place. That there is more than is looked at is noted by itself.
    fn turn_to(&mut self, place: &Path, is_cut: bool, look: impl FnOnce(&mut Self)) {
        (self.room, self.left, self.is_more) = (PLACE_BYTES_MAX, THINGS_MAX, is_cut);
        look(self);
        if self.is_more {
            self.things.insert(Raw::of(place), Thing::Odd);
        }
    }

    /// Looks at a place that only leads to others, if it is a directory.
    fn look_at_way(&mut self, place: &Path) {
        match sandbox::open_place(place).map(|handle| File::from(handle).metadata()) {
            Ok(Ok(metadata)) if metadata.is_dir() => {}
            Ok(_) | Err(_) => self.look(place, 0),
        }
    }

    fn look(&mut self, place: &Path, depth: usize) {
        if self.left == 0 {
            self.is_more = true;
            return;
        }
        match sandbox::open_place(place) {
            Ok(handle) => {
                let handle = File::from(handle);
                let Ok(metadata) = handle.metadata() else { return };
                if metadata.is_dir() {
                    self.look_into(place, &handle, depth);
                } else {
                    let thing = self.file(&handle, &metadata).unwrap_or(Thing::Odd);
                    self.note(place, thing);
                }
            }
            Err(Errno::LOOP | Errno::NOTDIR) => self.note_obstacle(place),
            // It is not there, or not for us.
            Err(_) => {}
        }
    }

    fn note(&mut self, place: &Path, thing: Thing) {
        self.left -= 1;
        self.things.insert(Raw::of(place), thing);
    }

    fn look_into(&mut self, place: &Path, handle: &File, depth: usize) {
        if self.things.contains_key(&Raw::of(place)) {
            return;
        }
        let Some(depth) = depth.checked_sub(1) else {
            self.is_more = true;
            return;
        };
        let Ok(entries) = fs::read_dir(format!("/proc/self/fd/{}", handle.as_raw_fd())) else {
            // Who knows the names in it may read them all the same.
            return self.note(place, Thing::Odd);
        };
        for (number, entry) in entries.enumerate() {
            let Some(entry) = entry.ok().filter(|_| number < ENTRIES_MAX) else {
                self.is_more = true;
                return;
            };
            if !is_inert(place, &entry) {
                self.look(&place.join(entry.file_name()), depth);
            }
        }
    }

    fn file(&mut self, handle: &File, metadata: &Metadata) -> io::Result<Thing> {
        if !metadata.is_file() {
            return Ok(Thing::Odd);
        }
        let name = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let file = File::open(name)?;
        let length = metadata.len();
        let content = if length <= FILE_BYTES_MAX.min(self.room) {
            let mut bytes = Vec::new();
            file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
            self.room = self.room.saturating_sub(length);
            Content::Whole(Raw(bytes))
        } else {
            Content::Large { length, state: Raw(state_of(metadata)) }
        };
        let owner = [metadata.uid(), metadata.gid()];
        Ok(Thing::File { mode: metadata.mode() & MODE_BITS, owner, content })
    }

    /// Notes what stands in the way to a place: the first that is no directory.
    fn note_obstacle(&mut self, place: &Path) {
        let mut ways: Vec<_> = place.ancestors().collect();
        ways.reverse();
        for way in ways {
            let Ok(metadata) = way.symlink_metadata() else { return };
            if metadata.is_dir() {
                continue;
            }
            let thing = match fs::read_link(way) {
                Ok(target) => Thing::Link(Raw::of(&target)),
                // A file: it is a place itself, or nothing is behind it.
                Err(_) if way == place => Thing::Odd,
                Err(_) => return,
            };
            return self.note(way, thing);
        }
    }
}

/// Whether an entry of a directory is an example of a hook.
fn is_inert(directory: &Path, entry: &DirEntry) -> bool {
    directory.ends_with(HOOKS)
        && Path::new(&entry.file_name()).extension() == Some(INERT.as_ref())
        && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// Which file it is, and when it was changed last. No command sets that time.
fn state_of(metadata: &Metadata) -> Vec<u8> {
    let changed = [metadata.ctime(), metadata.ctime_nsec()].map(i64::cast_unsigned);
    let [seconds, nanoseconds] = changed;
    [metadata.dev(), metadata.ino(), seconds, nanoseconds].map(u64::to_be_bytes).concat()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn what_is_different_is_found_byte_for_byte() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("hooks/deep")).unwrap();
        for (name, text) in
            [("config", "a"), ("hooks/x.sample", "s"), ("hooks/deep/run", "r"), ("mode", "m")]
        {
            fs::write(root.join(name), text).unwrap();
        }
        symlink("config", root.join("link")).unwrap();
        let places: Vec<_> = ["config", "hooks", "link", "mode", "none"]
            .iter()
            .map(|name| root.join(name))
            .collect();
        let before = Scene::read(&places);
        assert_eq!(before.0.len(), 4, "{before:?}");
        assert_eq!(before.differences(&Scene::read(&places)), []);
        fs::write(root.join("config"), b"\xff").unwrap();
        fs::write(root.join("hooks/new"), "n").unwrap();
        fs::write(root.join("hooks/y.sample"), "s").unwrap();
        fs::remove_file(root.join("hooks/deep/run")).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        symlink("mode", root.join("link")).unwrap();
        fs::set_permissions(root.join("mode"), fs::Permissions::from_mode(0o700)).unwrap();
        let after = Scene::read(&places);
        let names = before.differences(&after).into_iter().map(|it| {
            let name = it.place.strip_prefix(&root).unwrap().display().to_string();
            format!("{name} {}{}", u8::from(it.before.is_some()), u8::from(it.after.is_some()))
        });
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["config 11", "hooks/deep/run 10", "hooks/new 01", "link 11", "mode 11"]
        );
        let text = serde_json::to_string(&after).unwrap();
        assert_eq!(serde_json::from_str::<Scene>(&text).unwrap(), after);
    }

    #[test]
    fn a_link_in_the_way_is_what_counts() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("repo")).unwrap();
        fs::write(root.join("repo/config"), "secret").unwrap();
        symlink("repo", root.join("git")).unwrap();
        let scene = Scene::read(&[root.join("git"), root.join("git/config")]);
        assert_eq!(scene.places().collect::<Vec<_>>(), [root.join("git")]);
        assert_eq!(scene.at(&root.join("git")), Some(&Thing::Link(Raw(b"repo".to_vec()))));
    }
}
