//! What git obeys in a git directory, and which git directories a place `.git` leads to.
//!
//! One list for every git directory: `.git` of a workspace, what a file `.git` names, the repositories of submodules
//! and worktrees, and the common directory of a worktree.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::reading::read;
use crate::contract::real_path::real;

/// Where git finds the repository of a directory.
pub(super) const GIT: &str = ".git";
/// What makes a directory a repository of git.
pub(super) const HEAD: &str = "HEAD";
/// What git obeys in a repository, and what says where its parts are.
const OF_REPOSITORY: [&str; 7] =
    ["branches", "commondir", "config", "config.worktree", "hooks", "info/attributes", "remotes"];
/// What git obeys in the git directory of a worktree.
const OF_WORKTREE: [&str; 3] = ["commondir", "config.worktree", "gitdir"];
/// Where the repositories of submodules lie, whose names may have slashes.
const MODULES: &str = "modules/**";
/// Where a repository keeps the git directories of its worktrees.
const WORKTREES: &str = "worktrees/*";
/// Longest file that names a git directory, in bytes: more than the longest path.
const LINK_BYTES_MAX: u64 = 8 * 1024;

/// What git obeys in one directory alone.
pub(super) fn obeyed_in(directory: &Path) -> Vec<PathBuf> {
    OF_REPOSITORY.map(|name| directory.join(name)).into()
}

/// What git obeys in a git directory: its own files, those of the submodules, and those of the worktrees with their
/// submodules.
pub(crate) fn obeyed_by(directory: &Path) -> Vec<PathBuf> {
    let worktrees = directory.join(WORKTREES);
    let mut places = obeyed_in(directory);
    places.push(directory.join("gitdir"));
    for modules in [directory.join(MODULES), worktrees.join(MODULES)] {
        places.extend(obeyed_in(&modules));
        // A submodule may have worktrees, too.
        places.push(modules.join("gitdir"));
    }
    places.extend(OF_WORKTREE.map(|name| worktrees.join(name)));
    places
}

/// The git directories that a place `.git` leads to, there or not: the repository, and the one that it shares with
/// others, if it is that of a worktree.
pub(super) fn at(place: &Path) -> Vec<PathBuf> {
    let above = place.parent().unwrap_or(place);
    let own = named_in(place, b"gitdir: ", above).unwrap_or_else(|| place.to_owned());
    let common = named_in(&own.join("commondir"), b"", &own);
    let common = common.filter(|common| *common != own);
    [own].into_iter().chain(common).collect()
}

/// The place that a short file names, as seen from a directory, without links.
fn named_in(file: &Path, prefix: &[u8], from: &Path) -> Option<PathBuf> {
    let text = read(file, LINK_BYTES_MAX)?;
    let name = text.strip_prefix(prefix)?.trim_ascii_end();
    let name = OsString::from_vec(name.to_vec());
    (!name.is_empty()).then(|| real(&from.join(name)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_git_directory_is_found_through_files_and_links_and_before_it_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let place = root.join(".git");
        assert_eq!(at(&place), std::slice::from_ref(&place));
        fs::write(root.join("file"), "gitdir: .bare\r\n").unwrap();
        symlink("file", &place).unwrap();
        assert_eq!(at(&place), [root.join(".bare")], "nothing is there yet");
        fs::create_dir(root.join(".bare")).unwrap();
        fs::write(root.join(".bare/commondir"), "../common\n").unwrap();
        assert_eq!(at(&place), [root.join(".bare"), root.join("common")]);
    }
}
