//! A change as it was recorded: which file, and the digests of its content before and after.
//!
//! No digest before means that there was no file, none after that the file is removed.

use std::io;

use piton_core::event::Handle;
use piton_core::id::Digest;

use super::content::bounded;
use super::temp::Key;
use super::versions::Version;
use crate::contract::{Prepared, Refusal, Site};
use crate::files::digest;
use crate::files::workspace::Place;

/// A change as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::files) struct Change {
    pub(super) place: Place,
    pub(super) before: Option<Digest>,
    pub(super) after: Option<Digest>,
    /// The change that this one takes back, if a person does that.
    pub(super) taken_back: Option<Version>,
    /// The rights of a file that is made; the usual ones if absent.
    pub(super) mode: Option<u32>,
    pub(super) keeps: Keeps,
    /// The name of the patch that makes this change together with others.
    pub(super) patch: Option<String>,
    pub(super) key: Key,
}

/// Whether the content before is kept, so that the change can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    /// If that is possible. The change is made all the same.
    IfPossible,
    /// Durably, or the change is not made.
    Surely,
    /// The change takes back one that is kept.
    Nothing,
}

impl Change {
    /// A change of `place` from one content to another; refused if they are the same.
    pub(in crate::files) fn new(
        place: Place,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> Result<Self, Refusal> {
        if old == Some(new) {
            return Err(Refusal(format!(
                "`{}` has exactly this content already: nothing to change",
                place.shown()
            )));
        }
        bounded(place.shown(), u64::try_from(new.len()).unwrap_or(u64::MAX))?;
        Ok(Self::between(place, old.map(digest::of), Some(digest::of(new))))
    }

    /// A change between two contents.
    pub(super) fn between(place: Place, before: Option<Digest>, after: Option<Digest>) -> Self {
        let key = Key::of(place.shown(), after.as_ref());
        let (taken_back, mode, patch) = (None, None, None);
        Self { place, before, after, taken_back, mode, keeps: Keeps::IfPossible, patch, key }
    }

    /// A change that takes `version` back: the file gets the content before it again.
    pub(in crate::files) fn back(place: Place, version: &Version) -> Self {
        let change = Self::between(place, version.after.clone(), version.before.clone());
        // What a person takes back is to be had again.
        let (taken_back, keeps) = (Some(version.clone()), Keeps::Surely);
        Self { taken_back, keeps, mode: version.mode, ..change }
    }

    /// The change that undoes this one. It is known by the same name beside the file, so that whoever
    /// comes later finds what either of them left there.
    pub(super) fn reversed(&self, mode: Option<u32>) -> Self {
        let (before, after) = (self.after.clone(), self.before.clone());
        Self { before, after, mode, keeps: Keeps::Nothing, ..self.clone() }
    }

    /// What [`Change::prepared`] wrote down.
    pub(in crate::files) fn recorded(site: &Site, handle: &Handle) -> Result<Self, Refusal> {
        match handle {
            Handle::Edit { path, before, after } => {
                let place = Place::recorded(site, path)?;
                Ok(Self::between(place, before.clone(), Some(after.clone())))
            }
            Handle::None
            | Handle::Edits { .. }
            | Handle::Job { .. }
            | Handle::Conversation { .. }
            | Handle::Task { .. }
            | Handle::Origin { .. }
            | Handle::Round { .. } => {
                Err(Refusal("no digests were recorded for this change: it was not made".into()))
            }
        }
    }

    /// What to write down before the change is made.
    pub(in crate::files) fn prepared(self) -> Prepared {
        let path = self.place.shown().to_owned();
        let real = Some(path.clone());
        let handle = match self.after {
            Some(after) => Handle::Edit { path, before: self.before, after },
            None => Handle::None,
        };
        Prepared { handle, path: real }
    }

    /// The place that is changed.
    pub(in crate::files) fn place(&self) -> &Place {
        &self.place
    }

    /// What may be thrown away: the journal knows both, and one of them is in place.
    pub(super) fn known(&self) -> [Option<&Digest>; 2] {
        [self.before.as_ref(), self.after.as_ref()]
    }

    /// What is kept of the content before.
    pub(super) fn version(&self, site: &Site) -> Version {
        if let Some(version) = &self.taken_back {
            return version.turned();
        }
        let (before, after) = (self.before.clone(), self.after.clone());
        let version = Version::of(site, self.place.shown(), before, after);
        Version { patch: self.patch.clone(), ..version }
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    pub(super) fn conflict(&self, exists: bool) -> Refusal {
        let shown = self.place.shown();
        Refusal(match (&self.before, exists) {
            (None, _) => format!(
                "conflict: `{shown}` was created by somebody else meanwhile and was not \
                 overwritten: read it, then decide"
            ),
            (Some(_), true) => format!(
                "conflict: `{shown}` was changed by somebody else meanwhile and was left as it \
                 is: read it again, then repeat the change on what is there now"
            ),
            (Some(_), false) => format!(
                "conflict: `{shown}` was removed by somebody else meanwhile: use write_file if it \
                 should exist"
            ),
        })
    }

    /// Why nothing was done: what goes could not be kept.
    pub(super) fn not_kept(&self, error: &io::Error) -> Refusal {
        not_kept(self.place.shown(), error)
    }
}

/// Why a file was left as it is: its content could not be kept.
pub(in crate::files) fn not_kept(shown: &str, error: &io::Error) -> Refusal {
    Refusal(format!("`{shown}` is unchanged: what it is now could not be kept: {error}"))
}
