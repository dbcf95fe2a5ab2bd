//! Which directory a conversation works in: the repository that a person is in, else the directory.
//!
//! The only place that decides it. Knows file names and owners, nothing of git.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What marks the root of a repository: a directory, or a file in a linked worktree or a submodule.
const MARK: &str = ".git";

/// A directory in which everybody may make files, and remove only their own: `/tmp`.
const SHARED: u32 = 0o1002;

/// The root of the repository around `directory`: the nearest directory upwards with a `.git`. None if
/// that is the user's own directory or lies above it: whoever keeps all settings in one repository
/// does not mean to work on all of them at once.
pub(crate) fn repository(directory: &Path, user_directory: Option<&Path>) -> Option<PathBuf> {
    let root = directory.ancestors().find(|at| is_marked(at))?;
    let user = user_directory.map(|user| fs::canonicalize(user).unwrap_or_else(|_| user.into()));
    let is_above = user.is_some_and(|user| user.starts_with(root));
    (!is_above).then(|| root.to_owned())
}

/// The directory that a conversation works in whose person is in `directory`.
pub fn workspace_around(directory: &Path, user_directory: Option<&Path>) -> PathBuf {
    repository(directory, user_directory).unwrap_or_else(|| directory.to_owned())
}

/// Whether a repository begins here. A mark that somebody else has put into a shared directory would
/// choose the workspace of everybody who works below it.
fn is_marked(directory: &Path) -> bool {
    let Ok(mark) = fs::metadata(directory.join(MARK)) else { return false };
    let is_shared = fs::metadata(directory).is_ok_and(|found| found.mode() & SHARED == SHARED);
    !is_shared || mark.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn root(world: &Path, directory: &str, home: &str) -> Option<String> {
        let found = repository(&world.join(directory), Some(&world.join(home)))?;
        Some(found.strip_prefix(world).unwrap().display().to_string())
    }

    #[test]
    fn the_workspace_is_the_nearest_repository_below_the_users_own_directory() {
        let world = tempfile::tempdir().unwrap();
        let world = world.path().canonicalize().unwrap();
        for directory in
            ["me/.git", "me/plain/deep", "me/repo/.git", "me/repo/src/deep", "me/repo/sub"]
        {
            fs::create_dir_all(world.join(directory)).unwrap();
        }
        fs::write(world.join("me/repo/sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        let repo = Some("me/repo".to_owned());
        assert_eq!(root(&world, "me/repo", "me"), repo);
        assert_eq!(root(&world, "me/repo/src/deep", "me"), repo);
        assert_eq!(
            root(&world, "me/repo/sub", "me"),
            Some("me/repo/sub".into()),
            "a file marks it too"
        );
        assert_eq!(root(&world, "me/plain/deep", "me"), None, "the user's own directory is none");
        assert_eq!(root(&world, "me", "me"), None);
        assert_eq!(root(&world, "me/plain/deep", "me/plain"), None, "nor is what lies above it");
        assert_eq!(root(&world, "me/plain/deep", "elsewhere"), Some("me".into()));
        std::os::unix::fs::symlink("repo", world.join("me/link")).unwrap();
        assert_eq!(
            root(&world, "me/repo/src", "me/link"),
            None,
            "a link to it is the same directory"
        );
    }

    #[test]
    fn an_own_repository_in_a_shared_directory_counts() {
        let world = tempfile::tempdir().unwrap();
        fs::create_dir_all(world.path().join("below")).unwrap();
        fs::create_dir(world.path().join(MARK)).unwrap();
        fs::set_permissions(world.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(repository(&world.path().join("below"), None).is_some());
    }
}
