//! Making a recorded change, finding out whether it was made, and giving it up.

use piton_core::event::Handle;
use piton_core::id::CallId;

use super::content::content;
use super::in_place;
use super::placed::{Placed, Renew, Unplaced};
use super::plan::Change;
use super::swap::ended;
use super::temp::{self, Leftovers, Temp};
use super::versions::Undo;
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
        let entry = self.place.entry(site, parents)?;
        // Held as long as the directory is open, so that a second run of the same call, in this
        // process or another, finds the work either not begun or ended.
        let is_alone = temp::lock(&entry.directory);
        let leftovers = Leftovers::find(&entry, &self.key(), Some(call));
        let current = self.mended(site, &entry, content(&entry)?, &renew);
        let found = current.as_deref().map(digest::of);
        if found.as_ref() == Some(&self.after) {
            self.check_displaced(&entry, &leftovers)?;
            return Ok(Applied::Earlier);
        }
        if is_alone {
            leftovers.remove_own(&self.known());
        }
        if found != self.before {
            return Err(self.conflict_or_torn(site, found.is_some()));
        }
        let new = renew(current.as_deref())?;
        if digest::of(&new) != self.after {
            return Err(Refusal(format!(
                "the change of `{}` is not the one that was recorded: nothing was done",
                entry.shown
            )));
        }
        if current.is_some() {
            in_place::check_writable(&entry)?;
        }
        let placed = match &current {
            Some(old) if in_place::is_needed(&entry) => self.overwrite(site, &entry, old, &new)?,
            _ => self.put(site, &entry, call, (current.as_deref(), &new))?,
        };
        Ok(match placed {
            Placed::Now => Applied::Now { old: current, new },
            Placed::Earlier => Applied::Earlier,
        })
    }

    /// Puts the new content where the old one was, by way of a file beside it.
    fn put(
        &self,
        site: &Site,
        entry: &Entry,
        call: CallId,
        (old, new): (Option<&[u8]>, &[u8]),
    ) -> Result<Placed, Refusal> {
        let (undo, version) = (Undo::new(&site.scratch), self.version(site));
        match undo.keep(&version, old, self.taken_back.is_some()) {
            // What a person takes back is to be had again.
            Err(error) if self.taken_back.is_some() => return Err(self.not_kept(&error)),
            // It cannot be taken back then; the change is made all the same.
            Err(_) | Ok(()) => {}
        }
        let placed = Temp::write(entry, &self.key(), call, new).and_then(|temp| {
            fail::here("edit-written");
            if old.is_some() { self.exchange(entry, &temp) } else { self.create(entry, &temp) }
        });
        match (placed, old) {
            (Ok(placed), _) => Ok(placed),
            (Err(Unplaced::OnlyInPlace(_)), Some(old)) => self.overwrite(site, entry, old, new),
            (Err(Unplaced::OnlyInPlace(refusal) | Unplaced::Refused(refusal)), _) => {
                undo.drop(&version);
                Err(refusal)
            }
        }
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
            Err(_) if self.before.is_none() && !self.place.absolute(site).exists() => {
                Settled::NotApplied
            }
            Err(Refusal(text)) => Settled::Unknown(text),
        }
    }

    fn look(&self, site: &Site, renew: &Renew<'_>) -> Result<Settled, Refusal> {
        let entry = self.place.entry(site, MissingParents::Refuse)?;
        let is_alone = temp::lock(&entry.directory);
        let current = self.mended(site, &entry, content(&entry)?, renew);
        let found = current.as_deref().map(digest::of);
        let leftovers = Leftovers::find(&entry, &self.key(), None);
        let displaced = leftovers.foreign(&self.known());
        let is_applied = found.as_ref() == Some(&self.after);
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

    fn abandon(&self, site: &Site) {
        if let Ok(entry) = self.place.entry(site, MissingParents::Refuse)
            && temp::lock(&entry.directory)
            // It may have been made: the old content goes only when the new one stays.
            && ended(&entry).is_ok()
        {
            Leftovers::find(&entry, &self.key(), None).remove_own(&self.known());
        }
    }

    /// The result of a change that turns out to have been made before.
    pub(crate) fn already(&self) -> Finished {
        Finished::ok(format!(
            "`{}` has the new content: the change was already applied",
            self.place.shown()
        ))
    }
}

/// What [`Change::apply`] found or did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    /// It was made now.
    Now {
        /// The content before; absent if there was no file.
        old: Option<Vec<u8>>,
        /// The content after.
        new: Vec<u8>,
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
