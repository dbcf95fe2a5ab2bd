//! The repository of a workspace that is a linked worktree of git, so that looking works there too.
//!
//! The file `.git` of such a workspace names a place outside. Whoever wrote the workspace could name any
//! place, so it counts only if that place names the workspace as well: only git itself, run by the user,
//! has written there.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Longest file that names a place, in bytes: more than the longest path.
const LINK_BYTES_MAX: u64 = 8 * 1024;

/// The repository outside that the workspace is a worktree of.
pub(super) fn repository(workspace: &Path) -> Option<PathBuf> {
    let link = workspace.join(".git");
    let own = named_in(&link, "gitdir: ", workspace)?;
    let back = named_in(&own.join("gitdir"), "", &own)?;
    let common = named_in(&own.join("commondir"), "", &own)?;
    let is_mutual = back == link.canonicalize().ok()?;
    let is_its_worktree = own.parent() == Some(&common.join("worktrees"));
    let is_repository = common.join("HEAD").is_file() && common.join("objects").is_dir();
    let is_outside = !own.starts_with(workspace) && !workspace.starts_with(&own);
    (is_mutual && is_its_worktree && is_repository && is_outside).then_some(common)
}

/// The place that a short file names, from a directory on, behind all links.
pub(in crate::sandbox) fn named_in(file: &Path, prefix: &str, from: &Path) -> Option<PathBuf> {
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(file).ok()?.take(LINK_BYTES_MAX).read_to_string(&mut text).ok()?;
    from.join(text.strip_prefix(prefix)?.trim_end_matches('\n')).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_worktree_counts_only_if_its_repository_knows_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (work, common) = (root.join("work"), root.join("main/.git"));
        let own = common.join("worktrees/work");
        for place in [&work, &own, &common.join("objects")] {
            fs::create_dir_all(place).unwrap();
        }
        let write = |path: PathBuf, text: &str| fs::write(path, text).unwrap();
        write(common.join("HEAD"), "ref: refs/heads/main\n");
        write(work.join(".git"), &format!("gitdir: {}\n", own.display()));
        write(own.join("commondir"), "../..\n");
        write(own.join("gitdir"), &format!("{}\n", root.join("main/.git/HEAD").display()));
        assert_eq!(repository(&work), None, "it knows another one");
        write(own.join("gitdir"), &format!("{}\n", work.join(".git").display()));
        assert_eq!(repository(&work), Some(common.clone()));
        // All of it written by the workspace itself, to open what lies around.
        let fake = work.join("worktrees/fake");
        fs::create_dir_all(&fake).unwrap();
        write(work.join(".git"), &format!("gitdir: {}\n", fake.display()));
        write(fake.join("gitdir"), &format!("{}\n", work.join(".git").display()));
        for place in ["../..", "../../..", "/"] {
            write(fake.join("commondir"), place);
            assert_eq!(repository(&work), None, "{place}");
        }
    }
}
