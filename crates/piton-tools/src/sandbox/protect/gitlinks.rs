//! Submodules as git knows them: entries of the index that name a commit of another repository.
//!
//! `git status` runs git in each of them, which obeys the repository that it finds there. `.gitmodules` is a file like
//! any other, and says less.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use super::reading::read;
use crate::sandbox::looks::worktree::named_in;

/// Where git finds the repository of a directory.
pub(super) const GIT: &str = ".git";
/// Most of an index that is read, in bytes.
const INDEX_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Most of a repository's settings that is read, in bytes.
const SETTINGS_BYTES_MAX: u64 = 256 * 1024;
/// Most submodules of a repository.
const LINKS_MAX: usize = 1_000;
/// The mode of an entry that names a commit.
const GITLINK: u32 = 0o160_000;
/// Where the mode stands in an entry.
const MODE_AT: usize = 24;
/// What stands in front of the digest of an entry, in bytes.
const STAT_BYTES: usize = 40;
/// The bit that says of an entry that more bits follow.
const EXTENDED: u16 = 0x4000;
/// Entries before version 4 are as long as a multiple of this.
const ALIGNED: usize = 8;
/// The extension that says where the rest of a split index is.
const SPLIT: &[u8] = b"link";

/// The submodules of the repository of a directory, as paths from there on.
pub(super) fn below(root: &Path) -> Vec<PathBuf> {
    let place = root.join(GIT);
    let repository = if place.is_dir() { Some(place) } else { named_in(&place, "gitdir: ", root) };
    repository.map_or_else(Vec::new, |repository| of(&repository))
}

fn of(repository: &Path) -> Vec<PathBuf> {
    let Some(bytes) = read(&repository.join("index"), INDEX_BYTES_MAX) else { return Vec::new() };
    let digest_bytes = digest_bytes(repository);
    let mut names = Vec::new();
    let rest = Entries::of(&bytes, digest_bytes).and_then(|entries| entries.links(&mut names));
    if let Some(shared) = rest.and_then(|rest| shared(rest, digest_bytes))
        && let Some(bytes) =
            read(&repository.join(format!("sharedindex.{shared}")), INDEX_BYTES_MAX)
    {
        Entries::of(&bytes, digest_bytes).and_then(|entries| entries.links(&mut names));
    }
    let is_below = |path: &PathBuf| path.components().all(|it| matches!(it, Component::Normal(_)));
    names.into_iter().map(path).filter(is_below).take(LINKS_MAX).collect()
}

fn path(name: Vec<u8>) -> PathBuf {
    OsString::from_vec(name).into()
}

/// How long a digest of this repository is.
fn digest_bytes(repository: &Path) -> usize {
    let settings = read(&repository.join("config"), SETTINGS_BYTES_MAX).unwrap_or_default();
    let settings = String::from_utf8_lossy(&settings);
    let is_long = |line: &str| {
        let line = line.to_ascii_lowercase();
        line.trim_start().starts_with("objectformat") && line.contains("sha256")
    };
    if settings.lines().any(is_long) { 32 } else { 20 }
}

/// The name of the shared index that the extensions of a split one name.
fn shared(mut rest: &[u8], digest_bytes: usize) -> Option<String> {
    loop {
        let (name, behind) = rest.split_at_checked(4)?;
        let length = usize::try_from(number(behind, 0)?).ok()?;
        let (data, behind) = behind.get(4..)?.split_at_checked(length)?;
        if name == SPLIT {
            let digits = data.get(..digest_bytes)?.iter().flat_map(|it| [it >> 4, it & 0xf]);
            return digits.map(|digit| char::from_digit(digit.into(), 16)).collect();
        }
        rest = behind;
    }
}

/// The entries of an index.
struct Entries<'a> {
    rest: &'a [u8],
    version: u32,
    count: u32,
    digest_bytes: usize,
}

impl<'a> Entries<'a> {
    fn of(bytes: &'a [u8], digest_bytes: usize) -> Option<Self> {
        let rest = bytes.strip_prefix(b"DIRC")?;
        let (version, count) = (number(rest, 0)?, number(rest, 4)?);
        Some(Self { rest: rest.get(8..)?, version, count, digest_bytes })
    }

    /// Takes the names of those that are submodules, and returns what stands behind all entries.
    fn links(mut self, names: &mut Vec<Vec<u8>>) -> Option<&'a [u8]> {
        let mut name = Vec::new();
        for _ in 0..self.count {
            if self.next(&mut name)? == GITLINK {
                names.push(name.clone());
            }
        }
        Some(self.rest)
    }

    /// Reads one: its mode, and its name in place of the one before.
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
    use std::process::Command;

    use super::*;

    fn git(root: &Path, arguments: &str) {
        let mut command = Command::new("git");
        command.args(arguments.split(' ')).current_dir(root).env("HOME", root);
        assert!(command.status().unwrap().success(), "{arguments}");
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
    fn what_is_no_index_has_no_submodules() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join(".git")).unwrap();
        for bytes in [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\xff\xff\xff\xffshort", b"other"] {
            fs::write(root.join(".git/index"), bytes).unwrap();
            assert!(below(root).is_empty());
        }
    }

    // A command may put one there, and whoever puts it back looks for submodules first.
    #[test]
    fn settings_that_are_a_pipe_hold_up_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        git(root, "init -q");
        git(root, &format!("update-index --add --cacheinfo 160000,{},sub", "1".repeat(40)));
        fs::remove_file(root.join(".git/config")).unwrap();
        assert!(Command::new("mkfifo").arg(root.join(".git/config")).status().unwrap().success());
        assert_eq!(below(root), [PathBuf::from("sub")]);
    }
}
