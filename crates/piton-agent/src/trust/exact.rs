//! Files whose exact bytes a person approves: what names a program, and what that program is made of as far
//! as the words that start it tell.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use piton_tools::open_regular;
use sha2::{Digest as _, Sha256};

use super::place::real;

/// Most bytes of all files that are read at once to tell what a workspace brings. They are read when a turn
/// begins, and a hostile workspace has as many as it likes.
const ALL_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// Most files that words can name.
const NAMED_MAX: usize = 64;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 64 * 1024;

/// A file as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Its path from the workspace.
    pub path: String,
    /// Digest of its bytes; none if it cannot be read or is too large, so that nobody can approve it.
    pub digest: Option<String>,
}

impl Exact {
    /// A file with these bytes.
    pub(crate) fn of_bytes(path: &str, bytes: &[u8]) -> Self {
        Self { path: path.to_owned(), digest: Some(hex(&Sha256::digest(bytes))) }
    }
}

/// Reads files to the end, each once and all within one bound.
#[derive(Debug)]
pub(crate) struct Reading {
    bytes_left: u64,
    read: BTreeMap<PathBuf, Option<String>>,
}

impl Reading {
    pub(crate) fn new() -> Self {
        Self { bytes_left: ALL_BYTES_MAX, read: BTreeMap::new() }
    }

    /// The files of the workspace that words name, where a program begins at `from`. Words such as
    /// `--require=./a.js` name one behind their sign.
    pub(crate) fn named<'a>(
        &mut self,
        words: impl Iterator<Item = &'a str>,
        from: &Path,
        workspace: &Path,
    ) -> Vec<Exact> {
        let (real, mut found) = (real(workspace), BTreeMap::new());
        for word in words {
            let behind = word.split_once('=').map(|(_, behind)| behind);
            for word in [Some(word), behind].into_iter().flatten() {
                let Some(file) = plain(&from.join(word)) else { continue };
                let path = relative(&file, workspace).or_else(|| relative(&file, &real));
                if let Some(path) = path
                    && file.is_file()
                {
                    found.entry(path).or_insert(file);
                }
            }
        }
        let too_many = NAMED_MAX < found.len();
        let exact = found.into_iter().map(|(path, file)| {
            // What is too much is not approved, in place of a part that is.
            let digest = if too_many { None } else { self.digest(file) };
            Exact { path, digest }
        });
        exact.collect()
    }

    fn digest(&mut self, file: PathBuf) -> Option<String> {
        if let Some(digest) = self.read.get(&file) {
            return digest.clone();
        }
        let digest = digest_of(&file, &mut self.bytes_left).ok();
        self.read.insert(file, digest.clone());
        digest
    }
}

/// A path from the workspace, if it leads into it by its letters.
pub(crate) fn relative(file: &Path, workspace: &Path) -> Option<String> {
    let below = file.strip_prefix(workspace).ok()?;
    (!below.as_os_str().is_empty()).then(|| below.to_string_lossy().into_owned())
}

/// A path without `.` and `..`.
pub(crate) fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => plain.pop().then_some(())?,
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    Some(plain)
}

fn digest_of(file: &Path, bytes_left: &mut u64) -> io::Result<String> {
    let mut file = open_regular(file)?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE_BYTES]);
    loop {
        let read = file.read(&mut piece)?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        *bytes_left = bytes_left.saturating_sub(bytes.len() as u64);
        if *bytes_left == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        hash.update(bytes);
    }
    Ok(hex(&hash.finalize()))
}

fn hex(hash: &[u8]) -> String {
    hash.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").unwrap_or_default();
        hex
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_the_workspace_that_words_name_are_found_each_once() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        fs::create_dir_all(at.join("work/sub")).unwrap();
        for file in ["outside.js", "work/a.js", "work/sub/b.js"] {
            fs::write(at.join(file), file).unwrap();
        }
        let (work, sub) = (at.join("work"), at.join("work/sub"));
        let words =
            ["-e", "b.js", "--require=../a.js", "./b.js", "../../outside.js", "gone.js", ""];
        let found = Reading::new().named(words.into_iter(), &sub, &work);
        let paths: Vec<_> = found.iter().map(|exact| exact.path.as_str()).collect();
        assert_eq!(paths, ["a.js", "sub/b.js"]);
        assert_eq!(found[0], Exact::of_bytes("a.js", b"work/a.js"));
        assert_ne!(found[0], Exact::of_bytes("a.js", b"work/a.js "));
    }

    #[test]
    fn too_much_is_not_approved() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        fs::write(at.join("big"), "123456").unwrap();
        fs::write(at.join("small"), "1").unwrap();
        let mut reading = Reading { bytes_left: 5, read: BTreeMap::new() };
        let digests =
            |exact: Vec<Exact>| exact.iter().map(|it| it.digest.is_some()).collect::<Vec<_>>();
        assert_eq!(digests(reading.named(["small"].into_iter(), at, at)), [true]);
        assert_eq!(digests(reading.named(["big", "small"].into_iter(), at, at)), [false, true]);
        for number in 0..=NAMED_MAX {
            fs::write(at.join(number.to_string()), "").unwrap();
        }
        let names: Vec<String> = (0..=NAMED_MAX).map(|number| number.to_string()).collect();
        let found = Reading::new().named(names.iter().map(String::as_str), at, at);
        assert!(found.len() == NAMED_MAX + 1 && found.iter().all(|it| it.digest.is_none()));
    }
}
