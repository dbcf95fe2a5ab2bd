//! What became of changes: told from the file, and from the changes of it that came later.
//!
//! The file alone cannot tell. One that was changed from *a* to *b*, back to *a* and to *b* again is as
//! the first change left it, and yet that one is not the next to be taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use piton_core::id::Digest;

use crate::files::change::versions::{Undo, Version};
use crate::files::change::{current, is_torn};
use crate::files::digest;
use crate::files::workspace::Place;

/// What became of a change that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeState {
    /// The file is as the change left it, and no later change made it so.
    Made,
    /// It was taken back. Taking that back makes it again, unless the file is another one by now,
    /// because older changes were taken back too or somebody wrote to it.
    TakenBack,
    /// A process died while it took the change back by overwriting the file. Taking it back ends that.
    HalfTakenBack,
    /// The file has been changed since: it stays as it is.
    ChangedSince,
}

/// A change that was made, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Which change of these workspaces it is, counted from the oldest that is kept. It keeps its number
    /// when it is taken back or made again, and when others are.
    pub number: usize,
    /// The name under which its old version is kept.
    pub name: String,
    /// The change itself.
    pub version: Version,
    /// What became of it.
    pub state: ChangeState,
}

/// The two versions that can be kept of one change.
#[derive(Default)]
struct Both {
    /// What the file was before the change.
    made: Option<(String, Version)>,
    /// What it was until the change was taken back.
    back: Option<(String, Version)>,
}

impl Undo {
    /// The changes of files in some workspaces, the newest first. Left out are those that were meant and
    /// not made. Reads the files.
    pub fn history(&self, workspaces: &[&Path]) -> Vec<Past> {
        let kept: Vec<_> = workspaces.iter().flat_map(|it| self.of(it)).collect();
        // A change and the version that takes it back tell the same time.
        let times: BTreeSet<_> = kept.iter().map(|(_, version)| moment(version)).collect();
        let numbers: BTreeMap<_, _> = times.into_iter().zip(1..).collect();
        let mut files: BTreeMap<PathBuf, BTreeMap<usize, Both>> = BTreeMap::new();
        for (name, version) in &kept {
            // Workspaces can lie in each other: the file counts, and not how it was called.
            let file = version.workspace.join(&version.path);
            let number = numbers.get(&moment(version)).copied().unwrap_or_default();
            let both = files.entry(file).or_default().entry(number).or_default();
            let place = if version.undone { &mut both.back } else { &mut both.made };
            *place = Some((name.clone(), version.clone()));
        }
        let mut past: Vec<_> = files.into_values().flat_map(|file| self.of_file(file)).collect();
        past.sort_by_key(|it| std::cmp::Reverse(it.number));
        past
    }

    /// Whether a change of the same file was made after this one, and not taken back.
    pub(super) fn is_changed_again(&self, name: &str, version: &Version) -> bool {
        let history = self.history(&[&version.workspace]);
        history.iter().any(|it| it.name == name && it.state == ChangeState::ChangedSince)
    }

    /// Goes from the newest change of a file to the oldest, and from what the file is now to what it was.
    fn of_file(&self, changes: BTreeMap<usize, Both>) -> Vec<Past> {
        let mut past = Vec::new();
        let mut was: Option<Found> = None;
        let mut is_last = true;
        for (number, both) in changes.into_iter().rev() {
            let Some((_, any)) = both.made.as_ref().or(both.back.as_ref()) else { continue };
            let found = was.get_or_insert_with(|| self.found(any)).clone();
            let Some((state, (name, version))) = self.chosen(both, &found) else { continue };
            let is_at = |digest: &Option<Digest>| found == Found::Content(digest.clone());
            if state == ChangeState::TakenBack {
                past.push(Past { number, name, version, state });
                continue;
            }
            if state == ChangeState::ChangedSince && is_at(&version.before) {
                // It was meant, and a process died before it was made.
                continue;
            }
            let state = if is_last { state } else { ChangeState::ChangedSince };
            is_last = false;
            was = Some(Found::Content(version.before.clone()));
            past.push(Past { number, name, version, state });
        }
        past
    }

    /// Which of the two versions of a change counts, and what became of the change.
    fn chosen(&self, both: Both, found: &Found) -> Option<(ChangeState, (String, Version))> {
        let is_at = |digest: &Option<Digest>| *found == Found::Content(digest.clone());
        match (both.made, both.back) {
            (None, None) => None,
            (None, Some(back)) => Some((ChangeState::TakenBack, back)),
            (Some(made), _) if is_at(&made.1.after) => Some((ChangeState::Made, made)),
            (Some(made), Some(_)) if self.is_half_back(&made.1) => {
                Some((ChangeState::HalfTakenBack, made))
            }
            // Whoever took it back died before the other version could go.
            (Some(made), Some(back)) if is_at(&made.1.before) => {
                Some((ChangeState::TakenBack, back))
            }
            (Some(made), _) => Some((ChangeState::ChangedSince, made)),
        }
    }

    /// Whether the file is made of what it was before a change and of what the change made of it.
    fn is_half_back(&self, made: &Version) -> bool {
        let Some(new) = self.before_in_place(&made.turned()) else { return false };
        let Some((_, old)) = self.kept(made) else { return false };
        let site = self.site(made);
        let found = Place::recorded(&site, &made.path).and_then(|place| current(&site, &place));
        let Ok(Some(found)) = found else { return false };
        let is_whole = found == new || Some(&found) == old.as_ref();
        !is_whole && is_torn(&found, &new, &old.unwrap_or_default())
    }

    fn found(&self, version: &Version) -> Found {
        let site = self.site(version);
        let content = Place::recorded(&site, &version.path).and_then(|it| current(&site, &it));
        content.map_or(Found::Unreadable, |it| Found::Content(it.as_deref().map(digest::of)))
    }
}

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    /// The digest of its content; absent if there is no file.
    Content(Option<Digest>),
    /// Nobody can tell.
    Unreadable,
}

/// What tells one change from the others, in the order in which they were made.
fn moment(version: &Version) -> (u64, &str, &str) {
    (version.at_us, &version.path, version.conversation.as_str())
}
