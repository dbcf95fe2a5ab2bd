//! Changes of several files that are made together or not at all.
//!
//! Each of them is made exactly once, as a change of one file is. What is added here is the step back
//! and the step forward: everything is looked at before anything is written, a change that fails takes
//! those before it back, and a process that finds some of them made goes on with the others. The old
//! contents are kept durably first, so that both ways stay open after any death.

use piton_core::event::{FileEdit, Handle};
use piton_core::id::{CallId, Digest, TurnId};

use super::apply::Applied;
use super::content::{content, current};
use super::in_place;
use super::plan::{Change, Keeps};
use super::versions::Undo;
use crate::contract::{Finished, Prepared, Refusal, Settled, Site};
use crate::fail;
use crate::files::digest;
use crate::files::workspace::{MissingParents, Place};

/// In whose name a half-made change is taken back that was given up: no turn has this number.
const GIVEN_UP: CallId = CallId { turn: TurnId(0), step: 0, index: 0 };

/// Letters in the name of a patch, behind its call.
const NAME_LETTERS: usize = 8;

/// What a file is to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::files) struct Wanted {
    pub(in crate::files) place: Place,
    pub(in crate::files) old: Option<Vec<u8>>,
    pub(in crate::files) new: Option<Vec<u8>>,
    /// The rights of a file that is made; the usual ones if absent.
    pub(in crate::files) mode: Option<u32>,
}

/// Changes of several files, those that remove files last: what is moved is never without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::files) struct Changes(Vec<Change>);

/// How a file stands to the change of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stands {
    Before,
    After,
    /// A dead run of ours was overwriting it.
    Torn,
    /// Somebody else was there, or it may not be changed.
    Otherwise(Refusal),
}

impl Changes {
    /// What to write down before the changes are made.
    pub(in crate::files) fn prepared(wanted: &[Wanted]) -> Prepared {
        let (left, gone): (Vec<_>, Vec<_>) = wanted.iter().partition(|file| file.new.is_some());
        let files = left.into_iter().chain(gone).map(|file| FileEdit {
            path: file.place.shown().to_owned(),
            before: file.old.as_deref().map(digest::of),
            after: file.new.as_deref().map(digest::of),
        });
        Prepared { handle: Handle::Edits { files: files.collect() }, path: None }
    }

    /// What [`Changes::prepared`] wrote down.
    pub(in crate::files) fn recorded(site: &Site, handle: &Handle) -> Result<Self, Refusal> {
        let Handle::Edits { files } = handle else {
            return Err(Refusal(
                "no digests were recorded for this change: it was not made".into(),
            ));
        };
        let change = |file: &FileEdit| {
            let place = Place::recorded(site, &file.path)?;
            let change = Change::between(place, file.before.clone(), file.after.clone());
            Ok(Change { keeps: Keeps::Surely, ..change })
        };
        Ok(Self(files.iter().map(change).collect::<Result<_, Refusal>>()?))
    }

    /// The content before, from the file or from what was kept of it.
    pub(in crate::files) fn old(
        &self,
        site: &Site,
        place: &Place,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        let found = current(site, place)?;
        // A file that is named and not changed is as it is.
        let change = self.0.iter().find(|change| change.place == *place);
        let Some(change) = change.filter(|it| digest_of(found.as_deref()) != it.before) else {
            return Ok(found);
        };
        let kept = Undo::new(&site.scratch).kept(&change.version(site));
        let lost = || Refusal(format!("the old content of `{}` is lost", place.shown()));
        Ok(kept.ok_or_else(lost)?.1)
    }

    /// Makes all changes, or none and says why. `wanted` has the contents for them.
    pub(in crate::files) fn apply(
        &self,
        site: &Site,
        call: CallId,
        wanted: impl FnOnce() -> Result<Vec<Wanted>, Refusal>,
    ) -> Result<Vec<(Place, Applied)>, Refusal> {
        let in_the_way = self.0.iter().find_map(|change| match change.stands(site) {
            Stands::Otherwise(refusal) => Some(refusal),
            Stands::Before | Stands::After | Stands::Torn => None,
        });
        let made = match in_the_way {
            Some(refusal) => Err(refusal),
            None => wanted().and_then(|wanted| self.make(site, call, &wanted)),
        };
        made.map_err(|refusal| self.take_back(site, call, refusal))
    }

    fn make(
        &self,
        site: &Site,
        call: CallId,
        wanted: &[Wanted],
    ) -> Result<Vec<(Place, Applied)>, Refusal> {
        let (mut made, name) = (Vec::new(), self.name(call));
        for change in &self.0 {
            let file = wanted.iter().find(|file| file.place == change.place);
            let Some(file) = file.filter(|file| digest_of(file.new.as_deref()) == change.after)
            else {
                return Err(Refusal(format!(
                    "the change of `{}` is not the one that was recorded",
                    change.place.shown()
                )));
            };
            let change = Change { mode: file.mode, patch: Some(name.clone()), ..change.clone() };
            let renew = |_: Option<&[u8]>| Ok(file.new.clone().unwrap_or_default());
            made.push((change.place.clone(), change.apply(site, call, renew)?));
            fail::here("edits-one-made");
        }
        Ok(made)
    }

    /// The same for every run of the same patch, and another one for every other: a turn that is tried
    /// again counts its calls anew.
    fn name(&self, call: CallId) -> String {
        let digest_of = |digest: Option<&Digest>| digest.map_or("", Digest::as_str).to_owned();
        let files = self.0.iter().flat_map(|change| {
            let [before, after] = change.known().map(digest_of);
            [change.place.shown().to_owned(), before, after]
        });
        let digest = digest::of(files.collect::<Vec<_>>().join("\0").as_bytes());
        let letters: String = digest.as_str().chars().take(NAME_LETTERS).collect();
        format!("{call}-{letters}")
    }

    /// Takes back what was made; says what came of it.
    fn take_back(&self, site: &Site, call: CallId, why: Refusal) -> Refusal {
        let mut stay = Vec::new();
        for change in self.0.iter().rev() {
            if let Err(Refusal(text)) = change.take_back(site, call) {
                stay.push(format!("`{}` ({text})", change.place.shown()));
            }
        }
        let Refusal(why) = why;
        if stay.is_empty() {
            return Refusal(format!("{why}. Nothing of the patch was applied"));
        }
        let stay = stay.join(", ");
        Refusal(format!(
            "{why}. These files keep the change, because it could not be taken back: {stay}; the \
             others are as they were"
        ))
    }

    /// Finds out whether changes in doubt were made. Touches nothing but what a dead run left over. If
    /// some were made, whoever runs them again goes on or takes them back.
    pub(in crate::files) fn settle(&self, site: &Site) -> Settled {
        let stand: Vec<Stands> = self.0.iter().map(|change| change.stands(site)).collect();
        let is_begun = |it: &Stands| matches!(it, Stands::After | Stands::Torn);
        let all_made = stand.iter().all(|it| *it == Stands::After);
        if !all_made && stand.iter().any(is_begun) {
            return Settled::Running;
        }
        let renew = |_: Option<&[u8]>| Err(Refusal("not made here".into()));
        let unknown = self.0.iter().find_map(|change| match change.settle(site, renew) {
            Settled::Unknown(text) => Some(text),
            Settled::NotApplied | Settled::Applied(_) | Settled::Running => None,
        });
        match unknown {
            // Another version of a file was displaced: it is put back, and so are the others.
            Some(_) if all_made => Settled::Running,
            Some(text) => Settled::Unknown(format!("{text}. No other file has the change")),
            None if all_made => Settled::Applied(self.already()),
            None => Settled::NotApplied,
        }
    }

    /// Removes what a dead run left over, also changes that it left half made.
    pub(in crate::files) fn abandon(&self, site: &Site) {
        let all_made = self.0.iter().all(|change| change.stands(site) == Stands::After);
        for change in self.0.iter().rev() {
            if !all_made {
                // What cannot be taken back stays as it is, and can be taken back by hand.
                change.take_back(site, GIVEN_UP).unwrap_or_default();
            }
            change.abandon(site);
        }
    }

    fn already(&self) -> Finished {
        let names: Vec<String> =
            self.0.iter().map(|change| format!("`{}`", change.place.shown())).collect();
        Finished::ok(format!("the patch was already applied: {}", names.join(", ")))
    }
}

impl Change {
    /// How the file stands to this change.
    fn stands(&self, site: &Site) -> Stands {
        let entry = match self.place.entry(site, MissingParents::Refuse) {
            Ok(entry) => entry,
            Err(_) if self.is_missing(site) && self.before.is_none() => return Stands::Before,
            Err(_) if self.is_missing(site) && self.after.is_none() => return Stands::After,
            Err(refusal) => return Stands::Otherwise(refusal),
        };
        let found = match content(&entry) {
            Ok(found) => digest_of(found.as_deref()),
            Err(refusal) => return Stands::Otherwise(refusal),
        };
        if found == self.after {
            return Stands::After;
        }
        if found == self.before {
            let checked = found.map_or(Ok(()), |_| in_place::check_writable(&entry));
            return checked.map_or_else(Stands::Otherwise, |()| Stands::Before);
        }
        match Undo::new(&site.scratch).before_in_place(&self.version(site)) {
            Some(_) => Stands::Torn,
            None => Stands::Otherwise(self.conflict(found.is_some())),
        }
    }

    /// Takes the change back if it was made, and forgets that it was.
    fn take_back(&self, site: &Site, call: CallId) -> Result<(), Refusal> {
        let undo = Undo::new(&site.scratch);
        let version = self.version(site);
        match self.stands(site) {
            Stands::After => {}
            Stands::Torn => return Err(self.conflict_or_torn(site, true)),
            Stands::Before | Stands::Otherwise(_) => return Ok(()),
        }
        let lost = || Refusal("its old content is not kept".into());
        let (kept, old) = undo.kept(&version).ok_or_else(lost)?;
        let reversed = self.reversed(kept.mode);
        let renew = |_: Option<&[u8]>| Ok(old.clone().unwrap_or_default());
        reversed.apply(site, call, renew)?;
        undo.drop(&reversed.version(site));
        undo.drop(&version);
        Ok(())
    }
}

fn digest_of(content: Option<&[u8]>) -> Option<Digest> {
    content.map(digest::of)
}
