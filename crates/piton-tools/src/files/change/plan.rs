//! A change as it was recorded: which file, and the digests of its content before and after.

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
    pub(super) after: Digest,
    /// The change that this one takes back, if a person does that.
    pub(super) taken_back: Option<Version>,
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
        Ok(Self { place, before: old.map(digest::of), after: digest::of(new), taken_back: None })
    }

    /// A change that takes `version` back: the file gets the content of `after` again.
    pub(in crate::files) fn back(place: Place, version: &Version, after: Digest) -> Self {
        let (before, taken_back) = (version.after.clone(), Some(version.clone()));
        Self { place, before, after, taken_back }
    }

    /// What [`Change::prepared`] wrote down.
    pub(in crate::files) fn recorded(site: &Site, handle: &Handle) -> Result<Self, Refusal> {
        match handle {
            Handle::Edit { path, before, after } => Ok(Self {
                place: Place::recorded(site, path)?,
                before: before.clone(),
                after: after.clone(),
                taken_back: None,
            }),
            Handle::None
            | Handle::Job { .. }
            | Handle::Conversation { .. }
            | Handle::Task { .. }
            | Handle::Round { .. } => {
                Err(Refusal("no digests were recorded for this change: it was not made".into()))
            }
        }
    }

    /// What to write down before the change is made.
    pub(in crate::files) fn prepared(self) -> Prepared {
        let path = self.place.shown().to_owned();
        let real = Some(path.clone());
        let handle = Handle::Edit { path, before: self.before, after: self.after };
        Prepared { handle, path: real }
    }

    /// The place that is changed.
    pub(in crate::files) fn place(&self) -> &Place {
        &self.place
    }

    /// What may be thrown away: the journal knows both, and one of them is in place.
    pub(super) fn known(&self) -> [Option<&Digest>; 2] {
        [self.before.as_ref(), Some(&self.after)]
    }

    /// What is kept of the content before.
    pub(super) fn version(&self, site: &Site) -> Version {
        match &self.taken_back {
            Some(version) => version.turned(),
            None => Version::of(site, self.place.shown(), self.before.clone(), self.after.clone()),
        }
    }

    pub(super) fn key(&self) -> Key {
        Key::new(self.place.shown(), &self.after)
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
