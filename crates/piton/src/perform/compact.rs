//! Laying a summary over what the next request has no room for.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use piton_core::cut;
use piton_core::recap::{self, Look};
use piton_core::state::Cut;
use piton_tools::{Site, digest_now};

use crate::commands::Commands;
use crate::driver::Driver;

/// Most files that are looked at, whether they are as they were written; the newest ones.
const FILES_LOOKED_MAX: usize = 100;

/// Most directories above the workspace in which a repository is looked for.
const DIRECTORIES_MAX: usize = 32;
/// Longest file of a repository that is read, in bytes.
const HEAD_BYTES_MAX: u64 = 4 * 1024;

impl Driver<'_> {
    /// The world is looked at, and what is found becomes part of the fact: requests follow from the journal
    /// alone.
    pub(crate) async fn compact(&mut self, cut: Cut) {
        let mut files = recap::files_written(self.log.state(), cut);
        let old = files.len().saturating_sub(FILES_LOOKED_MAX);
        files.drain(..old);
        let (site, calls) = (self.site.clone(), self.parts.calls.clone());
        let looked = tokio::task::spawn_blocking(move || look(&site, files, calls)).await;
        // What could not be looked at is not said.
        let fact = cut::lay(self.log.state(), cut, &looked.unwrap_or_default());
        self.log.push(fact);
    }
}

fn look(site: &Arc<Site>, files: Vec<String>, calls: Option<PathBuf>) -> Look {
    let files = files.into_iter().filter_map(|path| {
        let now = digest_now(site, &path)?;
        Some((path, now))
    });
    let kept = calls.map(|calls| Commands::new(calls).all()).unwrap_or_default();
    let running = kept
        .iter()
        .filter(|kept| kept.conversation == site.conversation && kept.state.goes_on())
        .map(|kept| format!("call {}: {}", kept.intent.call, kept.intent.command));
    let branch = branch(&site.workspace);
    Look { files: files.collect(), running: running.collect(), branch }
}

/// The git branch of a directory, as its repository names it; none if it has none, or none that is easily
/// found.
fn branch(workspace: &Path) -> Option<String> {
    let found = workspace.ancestors().map(|directory| directory.join(".git"));
    let place = found.take(DIRECTORIES_MAX).find(|place| place.exists())?;
    let place = if place.is_dir() {
        place
    } else {
        // A second working tree says where the repository is.
        let said = small_file(&place)?;
        place.parent()?.join(said.strip_prefix("gitdir:")?.trim())
    };
    let head = small_file(&place.join("HEAD"))?;
    Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned())
}

fn small_file(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(HEAD_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_found_from_below_and_in_a_second_working_tree() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        std::fs::create_dir_all(at("one/.git/worktrees/two")).unwrap();
        std::fs::create_dir_all(at("one/below")).unwrap();
        std::fs::create_dir_all(at("two")).unwrap();
        std::fs::write(at("one/.git/HEAD"), "ref: refs/heads/topic/one\n").unwrap();
        std::fs::write(at("one/.git/worktrees/two/HEAD"), "ref: refs/heads/two\n").unwrap();
        std::fs::write(at("two/.git"), "gitdir: ../one/.git/worktrees/two\n").unwrap();
        assert_eq!(branch(&at("one/below")).as_deref(), Some("topic/one"));
        assert_eq!(branch(&at("two")).as_deref(), Some("two"));
        std::fs::write(at("one/.git/HEAD"), "0123456789\n").unwrap();
        assert_eq!(branch(&at("one")), None, "on no branch");
    }
}
