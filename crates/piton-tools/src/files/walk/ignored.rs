//! What git and its friends leave out, directory by directory.
//!
//! The same files in the same order of precedence as ripgrep: `.ignore`, then `.gitignore`, then
//! git's own list of the repository; in each, the innermost directory decides.

use std::ffi::CString;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};

use crate::files::workspace::open_step;

/// Largest ignore file that is read, in bytes.
const RULES_BYTES_MAX: u64 = 1024 * 1024;

/// The rules of a directory, and of those around it.
pub(super) struct Level {
    outer: Option<Rc<Level>>,
    /// Rules of `.ignore`, which count within repositories too.
    everywhere: Option<Gitignore>,
    /// Rules of `.gitignore`.
    git: Option<Gitignore>,
    /// Rules that a repository keeps for itself.
    own: Option<Gitignore>,
    /// Whether a repository begins here: rules of git above it do not count in it.
    is_repository: bool,
}

impl Level {
    /// Reads what there is in a directory, whose names are known.
    pub(super) fn read(
        directory: &OwnedFd,
        path: &str,
        names: &[(CString, FileType)],
        outer: Option<&Rc<Self>>,
    ) -> Self {
        let has = |wanted: &str| names.iter().any(|(name, _)| name.to_bytes() == wanted.as_bytes());
        let rules = |name: &str| has(name).then(|| rules(directory, name, path)).flatten();
        let is_repository = has(".git");
        let own = || rules_of_repository(directory, path);
        Self {
            outer: outer.cloned(),
            everywhere: rules(".ignore"),
            git: rules(".gitignore"),
            own: is_repository.then(own).flatten(),
            is_repository,
        }
    }

    /// Whether an entry of this directory, named from the workspace, is left out.
    pub(super) fn ignores(&self, path: &str, is_directory: bool) -> bool {
        let path = anchored(path);
        let ask = |rules: &Option<Gitignore>| match rules.as_ref()?.matched(&path, is_directory) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        };
        let (mut everywhere, mut git, mut own) = (None, None, None);
        let mut is_inside = true;
        let mut next = Some(self);
        while let Some(level) = next {
            everywhere = everywhere.or_else(|| ask(&level.everywhere));
            if is_inside {
                git = git.or_else(|| ask(&level.git));
                own = own.or_else(|| ask(&level.own));
            }
            is_inside = is_inside && !level.is_repository;
            next = level.outer.as_deref();
        }
        everywhere.or(git).or(own).unwrap_or(false)
    }
}

fn rules_of_repository(directory: &OwnedFd, path: &str) -> Option<Gitignore> {
    let info = open_step(&open_step(directory, ".git").ok()?, "info").ok()?;
    rules(&info, "exclude", path)
}

/// The rules of a file in a directory, for what lies below `path`.
fn rules(directory: &OwnedFd, name: &str, path: &str) -> Option<Gitignore> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty()).ok()?;
    let kind = FileType::from_raw_mode(fstat(&file).ok()?.st_mode);
    if kind != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::from(file).take(RULES_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(anchored(path));
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        // A line that makes no sense counts for nothing.
        builder.add_line(None, line).ok();
    }
    builder.build().ok()
}

/// Rules are matched against whole paths; the workspace is as good a root as any.
fn anchored(path: &str) -> PathBuf {
    Path::new("/").join(path)
}
