//! Files below a directory, as a developer sees them: what git ignores is left out, and so is git's
//! own directory. Hidden files are part of the project and stay in.
//!
//! Follows no link, so it cannot leave the workspace. Obeys ignore files inside the workspace only:
//! a stray rule above it, or on this machine alone, must not make a project look empty.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder};
use tokio_util::sync::CancellationToken;

use crate::workspace::Place;
use crate::{Refusal, Site};

/// Most entries that one walk looks at.
const ENTRIES_MAX: usize = 500_000;

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Everything was seen, or the visitor had enough.
    Done,
    /// There was more than a walk looks at.
    TooMuch,
    /// It was stopped.
    Cancelled,
}

/// Calls `visit` with every file at or below `place`, sorted, by its path from the workspace.
pub(crate) fn files(
    site: &Site,
    place: &Place,
    cancel: &CancellationToken,
    mut visit: impl FnMut(&str) -> ControlFlow<()>,
) -> Ended {
    let start = place.absolute(site);
    let above = rules_above(site, &start);
    let mut builder = WalkBuilder::new(&start);
    builder
        .hidden(false)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| entry.depth() == 0 || is_wanted(entry, &above));
    for (seen, entry) in builder.build().enumerate() {
        if cancel.is_cancelled() {
            return Ended::Cancelled;
        }
        if ENTRIES_MAX <= seen {
            return Ended::TooMuch;
        }
        // What cannot be read is as good as not there; the next entry may well be.
        let Ok(entry) = entry else { continue };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path().strip_prefix(&site.workspace).unwrap_or(entry.path());
        if visit(&path.to_string_lossy()).is_break() {
            break;
        }
    }
    Ended::Done
}

/// Ignore files between the workspace and `start`, the innermost first. The walker itself only
/// reads those from `start` downwards.
fn rules_above(site: &Site, start: &Path) -> Vec<Gitignore> {
    let inside = |directory: &&Path| directory.starts_with(&site.workspace);
    start
        .ancestors()
        .skip(1)
        .take_while(inside)
        .filter_map(|directory| {
            let file: PathBuf = directory.join(".gitignore");
            let mut builder = GitignoreBuilder::new(directory);
            let readable = file.is_file() && builder.add(&file).is_none();
            if readable { builder.build().ok() } else { None }
        })
        .collect()
}

fn is_wanted(entry: &DirEntry, above: &[Gitignore]) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    let ruled = above.iter().map(|rules| rules.matched(entry.path(), is_directory));
    let ignored = ruled.into_iter().find(|ruled| !ruled.is_none());
    entry.file_name() != ".git" && !ignored.is_some_and(|ruled| ruled.is_ignore())
}

/// A pattern over paths from the workspace or from the directory that is searched.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    /// With `/`: matched against the path. Without: against the file's own name.
    whole_path: bool,
}

impl Pattern {
    /// Reads a glob.
    pub(crate) fn new(glob: &str) -> Result<Self, Refusal> {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        if glob.is_empty() || glob.starts_with('/') || glob.split('/').any(|part| part == "..") {
            return Err(Refusal(format!(
                "the glob `{glob}` must be relative and without `..`, for example `src/**/*.rs`; \
                 use `path` to search another directory"
            )));
        }
        // Without this, `*` would also match `/`, and `src/*.rs` would find `src/a/b.rs`.
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        let built = built.map_err(|error| Refusal(format!("{error}; for example `**/*.rs`")))?;
        Ok(Self { matcher: built.compile_matcher(), whole_path: glob.contains('/') })
    }

    /// Whether it matches `path`, which is below `place`.
    pub(crate) fn is_match(&self, place: &Place, path: &str) -> bool {
        let path = Path::new(path);
        if self.whole_path {
            let below = path.strip_prefix(place.shown()).unwrap_or(path);
            self.matcher.is_match(below) || self.matcher.is_match(path)
        } else {
            path.file_name().is_some_and(|name| self.matcher.is_match(name))
        }
    }
}
