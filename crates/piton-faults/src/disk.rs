//! A disk that loses what was not synced.
//!
//! What is written to a file stays only if that file was synced afterwards; what happens to names
//! stays only if a directory was synced afterwards. What was not synced may be lost or kept: of the
//! changes of names any first part, because file systems keep those in order; of the bytes nothing,
//! all, a half of the last write, the last write without those before it, or only their number.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::story::Op;

/// What becomes of bytes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Lost,
    Kept,
    /// The last write got half through.
    Torn,
    /// The last write came first, and the others not at all.
    Reordered,
    /// The file is as long as it was, with nothing in it.
    Zeroed,
}

impl Fate {
    const ALL: [Self; 5] = [Self::Lost, Self::Kept, Self::Torn, Self::Reordered, Self::Zeroed];
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Directory,
    File(usize),
}

type Names = BTreeMap<PathBuf, Node>;

/// What a disk has after a power cut: contents by path below the root; `None` is a directory.
pub(crate) type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

#[derive(Clone, Debug, Default)]
struct File {
    synced: Vec<u8>,
    /// What came since: a place and bytes, or a new length.
    since: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

/// The disk while things happen to it.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    root: PathBuf,
    files: Vec<File>,
    /// Names that are sure to be there.
    synced: Names,
    /// What happened to names since.
    since: Vec<Names>,
    /// Which file a name stood for last: a handle outlives the name.
    ever: BTreeMap<PathBuf, usize>,
}

impl Disk {
    /// As it is below `root` now, all of it synced.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut disk = Self {
            root: root.to_owned(),
            files: Vec::new(),
            synced: Names::new(),
            since: Vec::new(),
            ever: BTreeMap::new(),
        };
        disk.read_directory(root)?;
        Ok(disk)
    }

    fn read_directory(&mut self, directory: &Path) -> io::Result<()> {
        self.synced.insert(directory.to_owned(), Node::Directory);
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                self.read_directory(&path)?;
            } else {
                let file = File { synced: fs::read(&path)?, since: Vec::new() };
                let node = self.add(&path, file);
                self.synced.insert(path, node);
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, file: File) -> Node {
        self.files.push(file);
        let number = self.files.len() - 1;
        self.ever.insert(path.to_owned(), number);
        Node::File(number)
    }

    fn names(&self) -> &Names {
        self.since.last().unwrap_or(&self.synced)
    }

    fn rename(&mut self, change: impl FnOnce(&mut Names)) {
        let mut names = self.names().clone();
        change(&mut names);
        for (path, node) in &names {
            if let Node::File(number) = node {
                self.ever.insert(path.clone(), *number);
            }
        }
        self.since.push(names);
    }

    fn file(&mut self, path: &Path) -> Option<&mut File> {
        let number = match self.names().get(path) {
            Some(Node::File(number)) => *number,
            Some(Node::Directory) => return None,
            None => *self.ever.get(path)?,
        };
        self.files.get_mut(number)
    }

    /// Something happens.
    pub(crate) fn apply(&mut self, op: &Op) {
        match op {
            Op::Opened { path, cut } => {
                if !self.names().contains_key(path) {
                    let node = self.add(path, File::default());
                    self.rename(|names| names.extend([(path.clone(), node)]));
                } else if *cut && let Some(file) = self.file(path) {
                    file.since.push(Change::Length(0));
                }
            }
            Op::Written { path, at, bytes } => {
                if let Some(file) = self.file(path) {
                    let at = at.unwrap_or_else(|| file.now().len());
                    file.since.push(Change::Bytes(at, bytes.clone()));
                }
            }
            Op::Cut { path, length } => {
                if let Some(file) = self.file(path) {
                    file.since.push(Change::Length(*length));
                }
            }
            Op::Synced(path) => self.sync(path),
            Op::Made(path) => self.rename(|names| names.extend([(path.clone(), Node::Directory)])),
            Op::Linked { from, to } => self.rename(|names| {
                if let Some(node) = names.get(from).copied() {
                    names.insert(to.clone(), node);
                }
            }),
            Op::Removed(path) => self.rename(|names| names.retain(|name, _| name != path)),
            Op::Renamed { from, to } => self.rename(|names| {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }),
            Op::Exchanged { from, to } => self.rename(|names| {
                if let (Some(one), Some(other)) = (names.remove(from), names.remove(to)) {
                    names.insert(to.clone(), one);
                    names.insert(from.clone(), other);
                }
            }),
        }
    }

    fn sync(&mut self, path: &Path) {
        if self.names().get(path) == Some(&Node::Directory) {
            self.synced = self.names().clone();
            self.since.clear();
        } else if let Some(file) = self.file(path) {
            file.synced = file.now();
            file.since.clear();
        }
    }

    /// What a file really has, synced or not.
    pub(crate) fn really(&self, path: &Path) -> Option<Vec<u8>> {
        match self.names().get(path)? {
            Node::File(number) => self.files.get(*number).map(File::now),
            Node::Directory => None,
        }
    }

    /// Everything that may be there when the power comes back.
    pub(crate) fn after_a_cut(&self) -> BTreeSet<Tree> {
        let mut trees = BTreeSet::new();
        for names in [&self.synced].into_iter().chain(&self.since) {
            for fate in Fate::ALL {
                trees.insert(self.tree(names, fate));
            }
        }
        trees
    }

    fn tree(&self, names: &Names, fate: Fate) -> Tree {
        let mut tree = Tree::new();
        for (path, node) in names {
            let Ok(below) = path.strip_prefix(&self.root) else { continue };
            // What is in a directory that is gone is gone as well.
            let has_parent = path == &self.root
                || path.parent().is_some_and(|parent| names.contains_key(parent));
            if has_parent {
                let content = match node {
                    Node::Directory => None,
                    Node::File(number) => self.files.get(*number).map(|file| file.after(fate)),
                };
                tree.insert(below.to_owned(), content);
            }
        }
        tree
    }
}

impl File {
    fn now(&self) -> Vec<u8> {
        self.after(Fate::Kept)
    }

    fn after(&self, fate: Fate) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        if fate == Fate::Lost {
            return bytes;
        }
        for (index, change) in self.since.iter().enumerate() {
            let is_last = index + 1 == self.since.len();
            if fate == Fate::Reordered && !is_last {
                continue;
            }
            match change {
                Change::Length(length) => bytes.resize(*length, 0),
                Change::Bytes(at, new) => {
                    let count =
                        if fate == Fate::Torn && is_last { new.len() / 2 } else { new.len() };
                    let end = at + count;
                    bytes.resize(bytes.len().max(end), 0);
                    if let (true, Some(place), Some(new)) =
                        (fate != Fate::Zeroed, bytes.get_mut(*at..end), new.get(..count))
                    {
                        place.copy_from_slice(new);
                    }
                }
            }
        }
        bytes
    }
}

/// Makes it real below `root`.
pub(crate) fn write(tree: &Tree, root: &Path) -> io::Result<()> {
    for (path, content) in tree {
        match content {
            None => fs::create_dir_all(root.join(path))?,
            Some(bytes) => fs::write(root.join(path), bytes)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> (tempfile::TempDir, Disk) {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("f"), "old").unwrap();
        let disk = Disk::read(directory.path()).unwrap();
        (directory, disk)
    }

    /// What `f` may be after a cut, without repetitions.
    fn contents(disk: &Disk) -> BTreeSet<Option<String>> {
        let trees = disk.after_a_cut();
        let found = trees.iter().map(|tree| tree.get(Path::new("f")).cloned().flatten());
        found.map(|found| found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())).collect()
    }

    fn replaced(synced: bool) -> BTreeSet<Option<String>> {
        let (directory, mut disk) = disk();
        let path = |name: &str| directory.path().join(name);
        disk.apply(&Op::Opened { path: path("t"), cut: false });
        disk.apply(&Op::Written { path: path("t"), at: None, bytes: b"newer".to_vec() });
        if synced {
            disk.apply(&Op::Synced(path("t")));
        }
        disk.apply(&Op::Renamed { from: path("t"), to: path("f") });
        contents(&disk)
    }

    #[test]
    fn a_file_that_was_synced_before_it_was_renamed_is_old_or_new() {
        assert_eq!(replaced(true), ["old", "newer"].map(|text| Some(text.to_owned())).into());
    }

    #[test]
    fn a_file_that_was_not_synced_may_be_anything() {
        let found = replaced(false);
        for text in ["old", "newer", "ne", "", "\0\0\0\0\0"] {
            assert!(found.contains(&Some(text.to_owned())), "{text:?} {found:?}");
        }
    }

    #[test]
    fn a_handle_outlives_the_name_and_names_wait_for_their_directory() {
        let (directory, mut disk) = disk();
        let path = |name: &str| directory.path().join(name);
        disk.apply(&Op::Opened { path: path("a.1"), cut: false });
        disk.apply(&Op::Linked { from: path("a.1"), to: path("a") });
        disk.apply(&Op::Removed(path("a.1")));
        disk.apply(&Op::Written { path: path("a.1"), at: None, bytes: b"x".to_vec() });
        disk.apply(&Op::Synced(path("a.1")));
        assert_eq!(disk.really(&path("a")), Some(b"x".to_vec()));
        assert!(disk.after_a_cut().iter().any(|tree| !tree.contains_key(Path::new("a"))));
        disk.apply(&Op::Synced(directory.path().to_owned()));
        let kept = |tree: &Tree| tree.get(Path::new("a")) == Some(&Some(b"x".to_vec()));
        assert!(disk.after_a_cut().iter().all(kept));
    }
}
