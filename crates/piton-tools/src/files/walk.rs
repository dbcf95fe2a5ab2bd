//! Files below a directory, as a developer sees them: what git ignores is left out, and so is git's
//! own directory. Hidden files are part of the project and stay in.
//!
//! Goes from handle to handle and follows no link, so it cannot leave the workspace, not even if a
//! directory becomes a link under its feet. Obeys ignore files inside the workspace only: a stray
//! rule above it, or on this machine alone, must not make a project look empty.

mod ignored;

use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use tokio_util::sync::CancellationToken;

use self::ignored::Level;
use super::left_out::LeftOut;
use super::workspace::{Place, open_step};
use crate::contract::{Refusal, Site};

/// Most entries that one walk looks at.
const ENTRIES_MAX: usize = 500_000;
/// How deep a walk goes; it keeps one file open for each level.
const LEVELS_MAX: usize = 256;

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

/// Calls `visit` with every file below `place`, sorted, by its path as it is named, except what
/// rules keep out of sight.
pub(crate) fn files(
    site: &Site,
    place: &Place,
    cancel: &CancellationToken,
    left_out: &mut LeftOut,
    mut visit: impl FnMut(&str) -> ControlFlow<()>,
) -> Ended {
    // What cannot be opened is as good as empty.
    let Some(start) = Frame::start(site, place) else { return Ended::Done };
    let mut frames = vec![start];
    let mut seen = 0;
    let mut ended = Ended::Done;
    while let Some(frame) = frames.last_mut() {
        let Some((name, kind)) = frame.names.pop() else {
            frames.pop();
            continue;
        };
        if cancel.is_cancelled() {
            return Ended::Cancelled;
        }
        seen += 1;
        if ENTRIES_MAX < seen {
            return Ended::TooMuch;
        }
        let path = frame.path_of(&name);
        let is_directory = kind == FileType::Directory;
        let named = place.named(&path);
        if frame.level.ignores(&path, is_directory) || left_out.hides(&named) {
            continue;
        }
        if kind == FileType::RegularFile && visit(&named).is_break() {
            return Ended::Done;
        }
        if !is_directory {
            continue;
        }
        let inner = frame.enter(&name, path);
        if LEVELS_MAX <= frames.len() {
            ended = Ended::TooMuch;
        } else {
            frames.extend(inner);
        }
    }
    ended
}

/// A directory on the way.
struct Frame {
    directory: OwnedFd,
    /// From the root; empty for the root itself.
    path: String,
    level: Rc<Level>,
    /// What is still to be seen in it, the first name last.
    names: Vec<(CString, FileType)>,
}

impl Frame {
    /// The directory at `place`, with the rules of all directories from the root down to it.
    fn start(site: &Site, place: &Place) -> Option<Self> {
        let mut frame = Self::new(place.open_root(site).ok()?, String::new(), None)?;
        for name in place.names() {
            let name = CString::new(name).ok()?;
            let path = frame.path_of(&name);
            frame = frame.enter(&name, path)?;
        }
        Some(frame)
    }

    fn new(directory: OwnedFd, path: String, outer: Option<&Rc<Level>>) -> Option<Self> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&directory).ok()? {
            let Ok(entry) = entry else { continue };
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push((name.to_owned(), kind_of(&directory, name, entry.file_type())));
            }
        }
        names.sort_by(|(one, _), (other, _)| other.cmp(one));
        let level = Rc::new(Level::read(&directory, &path, &names, outer));
        names.retain(|(name, _)| name.to_bytes() != b".git");
        Some(Self { directory, path, level, names })
    }

    fn enter(&self, name: &CStr, path: String) -> Option<Self> {
        let inner = open_step(&self.directory, name).ok()?;
        Self::new(inner, path, Some(&self.level))
    }

    fn path_of(&self, name: &CStr) -> String {
        let name = name.to_string_lossy();
        if self.path.is_empty() { name.into_owned() } else { format!("{}/{name}", self.path) }
    }
}

/// Some file systems do not say it with the name.
fn kind_of(directory: &OwnedFd, name: &CStr, told: FileType) -> FileType {
    if told != FileType::Unknown {
        return told;
    }
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
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
