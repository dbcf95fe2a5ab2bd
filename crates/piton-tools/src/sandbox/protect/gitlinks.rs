//! Submodules as git knows them: entries of the index that name a commit of another repository.
//!
//! `git status` runs git in each of them, which obeys the repository that it finds there. `.gitmodules` is a file like
//! any other, and says less. An index is read as git reads it, also behind a link, and in whole: one that cannot be
//! read is told of, since git may read it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use super::reading::whole;
use super::repository::{self, GIT};
use super::{DEPTH_MAX, WALKED_MAX, walk};

/// Most that is read of all indexes below a directory, in bytes.
const INDEXES_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How long a digest is, in bytes. A repository has one of these kinds.
const DIGESTS_BYTES: [usize; 2] = [20, 32];
/// The mode of an entry that names a commit.
const GITLINK: u32 = 0o160_000;
/// The mode of an entry that stands for all files of a directory: git looks into the directory where it is there.
const SPARSE: u32 = 0o040_000;
/// Where the mode stands in an entry.
const MODE_AT: usize = 24;
/// What stands in front of the digest of an entry, in bytes.
const STAT_BYTES: usize = 40;
/// The bit that says of an entry that more bits follow.
const EXTENDED: u16 = 0x4000;
/// The bits that say how long a name is. A name of so many bytes or more says it by its end.
const LENGTH: u16 = 0x0fff;
/// Entries before version 4 are as long as a multiple of this.
const ALIGNED: usize = 8;
/// The newest form of an index that is known.
const VERSION_MAX: u32 = 4;
/// The extension that says where the rest of a split index is.
const SPLIT: &[u8] = b"link";
/// The extension that says where blocks of entries begin, for threads of git.
const BLOCKS: &[u8] = b"IEOT";
/// The version of that extension that is known.
const BLOCKS_VERSION: u32 = 1;
/// The extension that says where the entries end. It stands at a fixed place before the end of the file.
const END: &[u8] = b"EOIE";
/// What stands in front of the digest in it, in bytes: its name, its length, and the end.
const END_BYTES: usize = 12;

/// The submodules below some directories, and those of submodules, whatever their depth.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Submodules {
    /// The places `.git` of submodules, there or not.
    pub(crate) places: Vec<PathBuf>,
    /// Indexes that are there and cannot be read.
    pub(crate) unread: Vec<PathBuf>,
}

impl Submodules {
    /// Looks from directories with repositories on, until nothing new is found.
    pub(crate) fn below(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        let (mut all, mut seen) = (Self::default(), BTreeSet::new());
        let (mut left, mut waiting) = (INDEXES_BYTES_MAX, roots.into_iter().collect::<Vec<_>>());
        while let Some(root) = waiting.pop() {
            // By its real name: a link could lead round in circles.
            if !root.canonicalize().is_ok_and(|real| seen.insert(real)) {
                continue;
            }
            let Some(own) = repository::at(&root.join(GIT)).into_iter().next() else { continue };
            let links = links(&root, &own, &mut left);
            let Some(links) = links.and_then(|links| links.with_those_in_sparse(&root)) else {
                all.unread.push(own.join("index"));
                continue;
            };
            for submodule in links.iter().map(|link| root.join(link)) {
                let place = submodule.join(GIT);
                if place.symlink_metadata().is_ok() {
                    waiting.push(submodule);
                }
                all.places.push(place);
            }
        }
        all.places.sort();
        all.places.dedup();
        all
    }
}

/// What an index names, as paths from the directory on that its repository is for.
#[derive(Debug, Default)]
struct Links {
    submodules: Vec<PathBuf>,
    /// Directories whose files have no entries. What is a submodule there stands in a tree of the repository.
    sparse: Vec<PathBuf>,
}

impl Links {
    fn add(&mut self, mode: u32, name: &[u8]) {
        let path = path(name.to_vec());
        let is_below = !path.as_os_str().is_empty()
            && path.components().all(|it| matches!(it, Component::Normal(_)));
        match mode {
            GITLINK if is_below => self.submodules.push(path),
            SPARSE if is_below => self.sparse.push(path),
            _ => {}
        }
    }

    /// All submodules, with every repository that is there in a sparse directory. `None` if there is more in one than
    /// is looked through.
    fn with_those_in_sparse(self, root: &Path) -> Option<Vec<PathBuf>> {
        let Self { mut submodules, sparse } = self;
        for directory in sparse {
            let is_cut =
                walk(&root.join(directory), DEPTH_MAX, &mut { WALKED_MAX }, &mut |entry, _| {
                    if entry.ends_with(GIT)
                        && let Some(place) =
                            entry.parent().and_then(|it| it.strip_prefix(root).ok())
                    {
                        submodules.push(place.to_owned());
                    }
                    false
                });
            if is_cut {
                return None;
            }
        }
        Some(submodules)
    }
}

/// What the index of a repository names. `None` if it has one that cannot be read.
fn links(root: &Path, repository: &Path, left: &mut u64) -> Option<Links> {
    let Some(bytes) = whole(&repository.join("index"), left).ok()? else {
        return Some(Links::default());
    };
    let forms = DIGESTS_BYTES.map(|digest_bytes| Form { root, repository, digest_bytes });
    // What is an index in both forms is taken for both.
    let read = forms.iter().filter_map(|form| form.links(&bytes, left));
    read.reduce(|mut all, more| {
        all.submodules.extend(more.submodules);
        all.sparse.extend(more.sparse);
        all
    })
}

fn path(name: Vec<u8>) -> PathBuf {
    OsString::from_vec(name).into()
}

/// Where the other entries of an index are.
enum Rest {
    /// There are no others.
    None,
    /// In the shared index with this digest.
    In(String),
}

/// How the index of a repository is written.
struct Form<'a> {
    root: &'a Path,
    repository: &'a Path,
    digest_bytes: usize,
}

impl Form<'_> {
    /// What is named in an index and in the shared one that it names.
    fn links(&self, bytes: &[u8], left: &mut u64) -> Option<Links> {
        let mut links = Links::default();
        let mut is_replaced = false;
        let rest = Entries::of(bytes, self.digest_bytes)?.read(|mode, name| {
            // In place of another one, which has the name.
            is_replaced |= mode == GITLINK && name.is_empty();
            links.add(mode, name);
        })?;
        let Rest::In(shared) = self.rest(bytes, &rest)? else { return Some(links) };
        let shared = self.repository.join(format!("sharedindex.{shared}"));
        let bytes = whole(&shared, left).ok()??;
        let rest = Entries::of(&bytes, self.digest_bytes)?.read(|mode, name| {
            let is_directory = || {
                let place = self.root.join(path(name.to_vec()));
                place.symlink_metadata().is_ok_and(|it| it.is_dir())
            };
            let mode = if is_replaced && is_directory() { GITLINK } else { mode };
            links.add(mode, name);
        })?;
        // git follows no further name.
        self.rest(&bytes, &rest).map(|_| links)
    }

    /// The shared index that extensions name. `None` if they cannot be read, or name other entries than those that were
    /// read.
    fn rest(&self, bytes: &[u8], behind: &Behind<'_>) -> Option<Rest> {
        // The digest of the whole stands at the end.
        let mut rest = behind.rest.get(..behind.rest.len().checked_sub(self.digest_bytes)?)?;
        let end = bytes.len().checked_sub(END_BYTES + 2 * self.digest_bytes);
        let end = end.and_then(|at| bytes.get(at..)).filter(|it| it.starts_with(END));
        if let Some(end) = end
            && usize::try_from(number(end, END_BYTES - 4)?).ok()? != bytes.len() - behind.rest.len()
        {
            return None;
        }
        let mut all = Rest::None;
        while !rest.is_empty() {
            let (name, more) = rest.split_at_checked(4)?;
            let length = usize::try_from(number(more, 0)?).ok()?;
            let (data, more) = more.get(4..)?.split_at_checked(length)?;
            if name == BLOCKS && !behind.has_blocks(data)? {
                return None;
            }
            if name == SPLIT {
                let digest = data.get(..self.digest_bytes)?;
                let digits = digest.iter().flat_map(|it| [it >> 4, it & 0xf]);
                let name: Option<String> =
                    digits.map(|digit| char::from_digit(digit.into(), 16)).collect();
                // Nothing but noughts names no file.
                let name = name?;
                if name.bytes().any(|it| it != b'0') {
                    all = Rest::In(name);
                }
            }
            rest = more;
        }
        Some(all)
    }
}

/// What stands behind the entries of an index.
struct Behind<'a> {
    rest: &'a [u8],
    /// Where each entry begins, from the beginning of the index on.
    entries: Vec<usize>,
}

impl Behind<'_> {
    /// Whether blocks begin where the entries do, and have them all.
    fn has_blocks(&self, data: &[u8]) -> Option<bool> {
        let (mut read, mut next) = (number(data, 0)? == BLOCKS_VERSION, 0);
        let blocks = data.get(4..)?.chunks(8);
        for block in blocks {
            let at = usize::try_from(number(block, 0)?).ok()?;
            read &= self.entries.get(next).is_some_and(|entry| *entry == at);
            next += usize::try_from(number(block, 4)?).ok()?;
        }
        Some(read && next == self.entries.len())
    }
}

/// The entries of an index.
struct Entries<'a> {
    /// The whole index.
    bytes: &'a [u8],
    rest: &'a [u8],
    version: u32,
    count: u32,
    digest_bytes: usize,
}

impl<'a> Entries<'a> {
    fn of(bytes: &'a [u8], digest_bytes: usize) -> Option<Self> {
        let rest = bytes.strip_prefix(b"DIRC")?;
        let (version, count) = (number(rest, 0)?, number(rest, 4)?);
        (version <= VERSION_MAX).then_some(Self {
            bytes,
            rest: rest.get(8..)?,
            version,
            count,
            digest_bytes,
        })
    }

    /// Shows the mode and the name of each, and returns what stands behind all of them.
    fn read(mut self, mut show: impl FnMut(u32, &[u8])) -> Option<Behind<'a>> {
        let (mut name, mut entries) = (Vec::new(), Vec::new());
        for _ in 0..self.count {
            entries.push(self.bytes.len() - self.rest.len());
            let mode = self.next(&mut name)?;
            show(mode, &name);
        }
        Some(Behind { rest: self.rest, entries })
    }

    /// Reads one: its mode, and its name in place of the one before. `None` if its length and the end of its name do
    /// not agree: git goes by the length.
    fn next(&mut self, name: &mut Vec<u8>) -> Option<u32> {
        let entry = self.rest;
        let mode = number(entry, MODE_AT)?;
        let flags_at = STAT_BYTES + self.digest_bytes;
        let flags = u16::from_be_bytes(entry.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let head = flags_at + if flags & EXTENDED == 0 { 2 } else { 4 };
        let mut rest = entry.get(head..)?;
        let kept = if self.version < 4 { 0 } else { name.len().checked_sub(varint(&mut rest)?)? };
        name.truncate(kept);
        let length = rest.iter().position(|byte| *byte == 0)?;
        name.extend(rest.get(..length)?);
        let stated = usize::from(flags & LENGTH);
        if stated != name.len().min(LENGTH.into()) {
            return None;
        }
        self.rest = if self.version < 4 {
            let end = (head + length) / ALIGNED * ALIGNED + ALIGNED;
            entry.get(end..)?
        } else {
            rest.get(length + 1..)?
        };
        Some(mode)
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number of as many bytes as it needs, as git writes how much of a name to cut off.
fn varint(bytes: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value = value.checked_shl(7)?.checked_add(usize::from(first & 0x7f))?;
        if first & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};

    use super::*;

    fn git(root: &Path, arguments: &str) {
        let mut command = Command::new("git");
        command.args(arguments.split(' ')).current_dir(root).env("HOME", root);
        assert!(command.status().unwrap().success(), "{arguments}");
    }

    fn below(root: &Path) -> Vec<PathBuf> {
        let Submodules { places, unread } = Submodules::below([root.to_owned()]);
        assert_eq!(unread, [] as [PathBuf; 0]);
        let name = |place: &PathBuf| place.parent().unwrap().strip_prefix(root).unwrap().to_owned();
        places.iter().map(name).collect()
    }

    /// Adds submodules by one command, which writes an index for threads.
    fn add_all<'a>(root: &Path, names: impl Iterator<Item = &'a str>) {
        let digest = "1".repeat(40);
        let list: Vec<_> = names.map(|name| format!("160000 {digest}\t{name}\n")).collect();
        let mut adding = Command::new("git");
        adding.args(["update-index", "--add", "--index-info"]).current_dir(root);
        adding.env("GIT_TEST_INDEX_THREADS", "4").stdin(Stdio::piped());
        let mut adding = adding.spawn().unwrap();
        adding.stdin.take().unwrap().write_all(list.concat().as_bytes()).unwrap();
        assert!(adding.wait().unwrap().success());
    }

    fn unread(root: &Path) -> Vec<PathBuf> {
        Submodules::below([root.to_owned()]).unread
    }

    #[test]
    fn submodules_are_found_in_an_index_of_every_form() {
        for (format, form) in [
            ("sha1", "--index-version=2"),
            ("sha1", "--index-version=4"),
            ("sha1", "--split-index"),
            ("sha256", "--index-version=4"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path();
            git(root, &format!("init -q --object-format={format}"));
            assert!(below(root).is_empty());
            let digest = "1".repeat(if format == "sha1" { 40 } else { 64 });
            let names: Vec<_> =
                (0..20).map(|number| format!("d{}/{number}", "eep".repeat(number))).collect();
            for name in &names {
                fs::create_dir_all(root.join(name)).unwrap();
                fs::write(root.join(name).join("file"), "x").unwrap();
            }
            git(root, "add --intent-to-add .");
            let mut wanted = Vec::new();
            for name in names.iter().step_by(3) {
                git(root, &format!("update-index --add --cacheinfo 160000,{digest},{name}-module"));
                wanted.push(PathBuf::from(format!("{name}-module")));
            }
            git(root, &format!("update-index {form}"));
            let mut found = below(root);
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted, "{format} {form}");
        }
    }

    #[test]
    fn an_index_that_cannot_be_read_is_told_of() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join(".git")).unwrap();
        let index = root.join(".git/index");
        assert_eq!(unread(root), [] as [PathBuf; 0]);
        for bytes in [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\xff\xff\xff\xffshort", b"other"] {
            fs::write(&index, bytes).unwrap();
            assert_eq!(unread(root), std::slice::from_ref(&index));
        }
        fs::File::create(&index).unwrap().set_len(INDEXES_BYTES_MAX + 1).unwrap();
        assert_eq!(unread(root), std::slice::from_ref(&index), "it is too large");
        fs::remove_file(&index).unwrap();
        // Nobody is held up.
        assert!(Command::new("mkfifo").arg(&index).status().unwrap().success());
        assert_eq!(unread(root), std::slice::from_ref(&index));
        fs::remove_file(&index).unwrap();
        symlink("none", &index).unwrap();
        assert_eq!(unread(root), [index]);
    }

    #[test]
    fn an_index_and_a_shared_one_are_read_behind_links() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        git(root, "init -q");
        git(root, &format!("update-index --add --cacheinfo 160000,{},sub", "1".repeat(40)));
        git(root, "update-index --split-index");
        let repository = root.join(".git");
        let names = fs::read_dir(&repository).unwrap().flatten();
        let names = names.map(|it| it.file_name().into_string().unwrap());
        for name in names.filter(|name| name.contains("index")).collect::<Vec<_>>() {
            let moved = format!("moved-{name}");
            fs::rename(repository.join(&name), repository.join(&moved)).unwrap();
            symlink(&moved, repository.join(&name)).unwrap();
        }
        assert_eq!(below(root), [PathBuf::from("sub")]);
    }

    // In a split index the name of an entry in another one's place stands in the shared file only.
    #[test]
    fn a_file_that_becomes_a_submodule_in_a_split_index_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        git(root, "init -q");
        for name in ["sub", "z"] {
            fs::write(root.join(name), "x").unwrap();
        }
        git(root, "add .");
        git(root, "update-index --split-index");
        let digest = "1".repeat(40);
        git(root, &format!("update-index --cacheinfo 160000,{digest},sub"));
        fs::remove_file(root.join("sub")).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        assert_eq!(below(root), [PathBuf::from("sub")]);
    }

    #[test]
    fn submodules_of_submodules_are_found_however_many_stand_in_front() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let digest = "1".repeat(40);
        let deep = root.join("zsub/deep");
        for place in [&root, &root.join("zsub"), &deep] {
            fs::create_dir_all(place).unwrap();
            git(place, "init -q");
        }
        symlink("..", root.join("zsub/round")).unwrap();
        let add = |place: &Path, name| {
            git(place, &format!("update-index --add --cacheinfo 160000,{digest},{name}"));
        };
        add(&root.join("zsub"), "deep");
        add(&root.join("zsub"), "round");
        let names: Vec<_> = (0..1_050).map(|number| format!("a{number:05}")).collect();
        add_all(&root, names.iter().map(String::as_str).chain(["zsub"]));
        let found = below(&root);
        assert_eq!(found.len(), 1_053);
        assert!(found.contains(&"zsub/deep".into()) && found.contains(&"zsub/round".into()));
    }

    // git goes by the length: behind `a` it would read what our reader takes for other entries.
    #[test]
    fn a_name_that_is_not_as_long_as_it_says_makes_an_index_unreadable() {
        for version in [2, 4] {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path();
            git(root, "init -q");
            let digest = "1".repeat(40);
            for name in ["a", "sub"] {
                git(root, &format!("update-index --add --cacheinfo 160000,{digest},{name}"));
            }
            git(root, &format!("update-index --index-version={version}"));
            assert_eq!(below(root).len(), 2);
            let index = root.join(".git/index");
            let mut bytes = fs::read(&index).unwrap();
            let flags = 12 + STAT_BYTES + DIGESTS_BYTES[0];
            bytes[flags + 1] = 74;
            fs::write(&index, bytes).unwrap();
            assert_eq!(unread(root), [index], "{version}");
        }
    }

    // Threads of git begin at blocks, wherever those are said to be.
    #[test]
    fn blocks_that_are_elsewhere_make_an_index_unreadable() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        git(root, "init -q");
        let names: Vec<_> = (0..100).map(|number| format!("m{number:05}")).collect();
        add_all(root, names.iter().map(String::as_str));
        assert_eq!(below(root).len(), 100);
        let index = root.join(".git/index");
        let whole = fs::read(&index).unwrap();
        let at = |name: &[u8]| whole.windows(4).rposition(|it| it == name).unwrap();
        // The first block, and the end of all.
        for (name, place) in [(BLOCKS, 12), (END, 8)] {
            let mut bytes = whole.clone();
            bytes[at(name) + place + 3] ^= 8;
            fs::write(&index, bytes).unwrap();
            assert_eq!(unread(root), std::slice::from_ref(&index), "{place}");
        }
    }

    // Which of them are submodules stands in a tree, which git reads.
    #[test]
    fn repositories_in_a_sparse_directory_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        git(root, "init -q");
        for name in ["in", "out/deep"] {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join("file"), "x").unwrap();
        }
        git(root, "add .");
        git(root, "-c user.name=n -c user.email=e commit -qm x");
        git(root, "sparse-checkout set --cone --sparse-index in");
        assert!(below(root).is_empty());
        fs::create_dir_all(root.join("out/deep/evil")).unwrap();
        git(&root.join("out/deep/evil"), "init -q");
        assert_eq!(below(root), [PathBuf::from("out/deep/evil")]);
    }
}
