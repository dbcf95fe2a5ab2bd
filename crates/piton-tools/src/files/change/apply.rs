//! Making a recorded change, finding out whether it was made, and giving it up.

use piton_core::event::Handle;
use piton_core::id::CallId;

use super::content::content;
use super::in_place;
use super::placed::{Placed, Renew, Unplaced};
use super::plan::{Change, Keeps};
use super::swap::ended;
use super::temp::{self, Leftovers, Temp};
use super::versions::{Undo, Version};
use crate::contract::{Finished, Refusal, Settled, Site, blocking};
use crate::fail;
use crate::files::digest;
use crate::files::workspace::{Entry, MissingParents};

impl Change {
    /// Makes the change. `renew` gets the content that the digest of *before* belongs to and gives
    /// the new one.
    pub(crate) fn apply(
        &self,
        site: &Site,
        call: CallId,
        renew: impl Fn(Option<&[u8]>) -> Result<Vec<u8>, Refusal>,
    ) -> Result<Applied, Refusal> {
        let parents = match self.before {
            Some(_) => MissingParents::Refuse,
            None => MissingParents::Create,
        };
        let entry = match self.place.entry(site, parents) {
            Err(_) if self.after.is_none() && self.is_missing(site) => return Ok(Applied::Earlier),
            entry => entry?,
        };
        // Held as long as the directory is open, so that a second run of the same call, in this
        // process or another, finds the work either not begun or ended.
        let is_alone = temp::lock(&entry.directory);
        let leftovers = Leftovers::find(&entry, self.key(), Some(call));
        let current = self.mended(site, &entry, content(&entry)?, &renew);
        let found = current.as_deref().map(digest::of);
        if found == self.after {
            self.check_displaced(&entry, &leftovers)?;
            return Ok(Applied::Earlier);
        }
        if is_alone {
            leftovers.remove_own(&self.known());
        }
        if found != self.before {
            return Err(self.conflict_or_torn(site, found.is_some()));
        }
        if current.is_some() {
            in_place::check_writable(&entry)?;
        }
        let (placed, new) = if self.after.is_none() {
            (self.take_away(site, &entry, call, current.as_deref())?, None)
        } else {
            let new = self.renewed(&entry, renew(current.as_deref())?)?;
            let placed = match &current {
                Some(old) if in_place::is_needed(&entry) => {
                    self.overwrite(site, &entry, old, &new)?
                }
                _ => self.put(site, &entry, call, (current.as_deref(), &new))?,
            };
            (placed, Some(new))
        };
        Ok(match placed {
            Placed::Now => Applied::Now { old: current, new },
            Placed::Earlier => Applied::Earlier,
        })
    }

    /// The new content, if it is the one that was recorded.
    fn renewed(&self, entry: &Entry, new: Vec<u8>) -> Result<Vec<u8>, Refusal> {
        if Some(digest::of(&new)) == self.after {
            return Ok(new);
        }
        Err(Refusal(format!(
            "the change of `{}` is not the one that was recorded: nothing was done",
            entry.shown
        )))
    }

    /// Keeps the content before, as far as the change asks for that.
    fn keep(&self, site: &Site, entry: &Entry, old: Option<&[u8]>) -> Result<Version, Refusal> {
        let version = Version { mode: entry.mode(), ..self.version(site) };
        let keep = |durable| Undo::new(&site.scratch).keep(&version, old, durable);
        match self.keeps {
            Keeps::Surely => keep(true).map_err(|error| self.not_kept(&error))?,
            // It cannot be taken back then; the change is made all the same.
            Keeps::IfPossible => keep(false).unwrap_or_default(),
            Keeps::Nothing => {}
        }
        Ok(version)
    }

    /// Forgets what was kept for a change that was not made. One that was made and may not survive a
    /// crash was made.
    fn unkeep(&self, site: &Site, entry: &Entry, version: &Version) {
        let is_made =
            || content(entry).is_ok_and(|found| found.as_deref().map(digest::of) == self.after);
        if self.keeps != Keeps::Nothing && !is_made() {
            Undo::new(&site.scratch).drop(version);
        }
    }

    /// Puts the new content where the old one was, by way of a file beside it.
    fn put(
        &self,
        site: &Site,
        entry: &Entry,
        call: CallId,
        (old, new): (Option<&[u8]>, &[u8]),
    ) -> Result<Placed, Refusal> {
        let version = self.keep(site, entry, old)?;
        let placed = Temp::write(entry, self.key(), call, (new, self.mode)).and_then(|temp| {
            fail::here("edit-written");
            if old.is_some() { self.exchange(entry, &temp) } else { self.create(entry, &temp) }
        });
        match (placed, old) {
            (Ok(placed), _) => Ok(placed),
            (Err(Unplaced::OnlyInPlace(_)), Some(old)) => self.overwrite(site, entry, old, new),
            (Err(Unplaced::OnlyInPlace(refusal) | Unplaced::Refused(refusal)), _) => {
                self.unkeep(site, entry, &version);
                Err(refusal)
            }
        }
    }

    /// Removes the file.
    fn take_away(
        &self,
        site: &Site,
        entry: &Entry,
        call: CallId,
        old: Option<&[u8]>,
    ) -> Result<Placed, Refusal> {
        let version = self.keep(site, entry, old)?;
        let removed = self.remove(entry, call);
        if removed.is_err() {
            self.unkeep(site, entry, &version);
        }
        removed
    }

    /// Whether there is no file, also because its directory is missing.
    pub(super) fn is_missing(&self, site: &Site) -> bool {
        matches!(self.place.absolute(site).try_exists(), Ok(false))
    }

    /// Finds out whether a change in doubt was made. Touches nothing but what a dead run left over.
    pub(crate) fn settle(
        &self,
        site: &Site,
        renew: impl Fn(Option<&[u8]>) -> Result<Vec<u8>, Refusal>,
    ) -> Settled {
        match self.look(site, &renew) {
            Ok(settled) => settled,
            // The parent directory does not exist: neither does the file.
            Err(_) if self.before.is_none() && self.is_missing(site) => Settled::NotApplied,
            Err(_) if self.after.is_none() && self.is_missing(site) => {
                Settled::Applied(self.already())
            }
            Err(Refusal(text)) => Settled::Unknown(text),
        }
    }

    fn look(&self, site: &Site, renew: &Renew<'_>) -> Result<Settled, Refusal> {
        let entry = self.place.entry(site, MissingParents::Refuse)?;
        let is_alone = temp::lock(&entry.directory);
        let current = self.mended(site, &entry, content(&entry)?, renew);
        let found = current.as_deref().map(digest::of);
        let leftovers = Leftovers::find(&entry, self.key(), None);
        let displaced = leftovers.foreign(&self.known());
        let is_applied = found == self.after;
        if is_applied {
            // The run that died may have got no further than the swap: end its work, in its order.
            // The journal will record this as done, so it must be durable.
            ended(&entry)?;
        }
        if is_alone {
            leftovers.remove_own(&self.known());
        }
        Ok(match displaced {
            Some(name) if is_applied => Settled::Unknown(format!(
                "`{}` was changed, but another version of it was displaced, which is kept in \
                 `{name}` beside it",
                entry.shown
            )),
            Some(name) => Settled::Unknown(format!(
                "{}. Another version of it is kept in `{name}` beside it",
                self.conflict(found.is_some()).0
            )),
            None if is_applied => Settled::Applied(self.already()),
            None if found == self.before => Settled::NotApplied,
            None => Settled::Unknown(self.conflict_or_torn(site, found.is_some()).0),
        })
    }

    pub(super) fn abandon(&self, site: &Site) {
        if let Ok(entry) = self.place.entry(site, MissingParents::Refuse)
            && temp::lock(&entry.directory)
            // It may have been made: the old content goes only when the new one stays.
            && ended(&entry).is_ok()
        {
            Leftovers::find(&entry, self.key(), None).remove_own(&self.known());
        }
    }

    /// The result of a change that turns out to have been made before.
    pub(crate) fn already(&self) -> Finished {
        let shown = self.place.shown();
        Finished::ok(match self.after {
            Some(_) => format!("`{shown}` has the new content: the change was already applied"),
            None => format!("`{shown}` is removed"),
        })
    }
}

/// What [`Change::apply`] found or did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    /// It was made now.
    Now {
        /// The content before; absent if there was no file.
        old: Option<Vec<u8>>,
        /// The content after; absent if the file was removed.
        new: Option<Vec<u8>>,
    },
    /// It had been made before.
    Earlier,
}

/// Removes what a dead run of a change that is given up left over.
pub(crate) async fn abandon(site: &Site, handle: &Handle) {
    let (site, handle) = (site.clone(), handle.clone());
    // What cannot be removed now stays: it is hidden, and does no harm.
    blocking::whole(move || Change::recorded(&site, &handle).map(|change| change.abandon(&site)))
        .await
        .ok();
}

#[cfg(test)]
mod tests;
