//! Putting new content in the place of old in one step, and looking at what was displaced.

use std::io;

use piton_core::id::CallId;
use rustix::fs::{AtFlags, RenameFlags, fsync, linkat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::content::content;
use super::placed::{Placed, Unplaced};
use super::plan::Change;
use super::temp::{Leftovers, Temp};
use crate::contract::Refusal;
use crate::fail;
use crate::files::digest;
use crate::files::workspace::Entry;

impl Change {
    /// Puts a new file in place, over nothing.
    pub(super) fn create(&self, entry: &Entry, temp: &Temp<'_>) -> Result<Placed, Unplaced> {
        let (directory, name) = (&entry.directory, entry.name.as_str());
        let placed =
            match renameat_with(directory, temp.name(), directory, name, RenameFlags::NOREPLACE) {
                // Some file systems do not know the flag. A hard link refuses as well to take a
                // name that exists.
                Err(errno) if is_unsupported(errno) => {
                    linkat(directory, temp.name(), directory, name, AtFlags::empty())
                        .and_then(|()| unlinkat(directory, temp.name(), AtFlags::empty()))
                }
                placed => placed,
            };
        match placed {
            Ok(()) => {
                synced(entry)?;
                Ok(Placed::Now)
            }
            Err(Errno::EXIST) => {
                temp.remove();
                let found = content(entry)?.as_deref().map(digest::of);
                if found == self.after {
                    return Ok(Placed::Earlier);
                }
                Err(self.conflict(true).into())
            }
            Err(errno) => {
                temp.remove();
                Err(unplaced(entry, errno).into())
            }
        }
    }

    /// Swaps the new content with the old in one step and looks at what was displaced.
    pub(super) fn exchange(&self, entry: &Entry, temp: &Temp<'_>) -> Result<Placed, Unplaced> {
        match temp.swap() {
            Ok(()) => fail::here("edit-swapped"),
            Err(errno) if is_unsupported(errno) => return self.replace(entry, temp),
            Err(Errno::NOENT) => {
                temp.remove();
                return Err(self.conflict(false).into());
            }
            // Something is mounted at exactly this name.
            Err(errno @ (Errno::BUSY | Errno::XDEV)) => {
                temp.remove();
                return Err(Unplaced::OnlyInPlace(unplaced(entry, errno)));
            }
            Err(errno) => {
                temp.remove();
                return Err(unplaced(entry, errno).into());
            }
        }
        let displaced = temp.digest();
        if displaced == self.before || displaced == self.after {
            // Synced before the old content goes: a power cut must not take both.
            synced(entry)?;
            temp.remove();
            return Ok(Placed::Now);
        }
        Err(self.put_back(temp).into())
    }

    /// Removes a file by way of another name, so that what is removed can be looked at.
    pub(super) fn remove(&self, entry: &Entry, call: CallId) -> Result<Placed, Refusal> {
        let aside = match Temp::aside(entry, self.key(), call) {
            Ok(aside) => aside,
            Err(Errno::NOENT) => return Err(self.conflict(false)),
            Err(errno) => return Err(unplaced(entry, errno)),
        };
        fail::here("edit-swapped");
        if aside.digest() == self.before {
            // The name is gone for good before the content is.
            synced(entry)?;
            aside.remove();
            return Ok(Placed::Now);
        }
        Err(self.put_back(&aside))
    }

    /// Gives the name back to the version that we displaced by mistake.
    fn put_back(&self, temp: &Temp<'_>) -> Refusal {
        let conflict = self.conflict(true);
        let kept = |why: &str| {
            Refusal(format!("{}. {why} kept in `{}` beside it", conflict.0, temp.name()))
        };
        if self.after.is_none() {
            return if temp.name_again().is_ok() { conflict } else { kept("The other version is") };
        }
        if temp.swap().is_err() {
            return kept("The other version is");
        }
        if temp.digest() != self.after {
            // A third version came in between the two swaps.
            return kept("A still newer version is");
        }
        temp.remove();
        conflict
    }

    /// For file systems that cannot swap: looks once more, then replaces. A foreign edit within
    /// these microseconds would be lost; there is no better way there.
    fn replace(&self, entry: &Entry, temp: &Temp<'_>) -> Result<Placed, Unplaced> {
        let found = content(entry)?.as_deref().map(digest::of);
        if found != self.before {
            temp.remove();
            return Err(self.conflict(found.is_some()).into());
        }
        let (directory, name) = (&entry.directory, entry.name.as_str());
        renameat(directory, temp.name(), directory, name).map_err(|errno| {
            temp.remove();
            unplaced(entry, errno)
        })?;
        synced(entry)?;
        Ok(Placed::Now)
    }

    /// The change was made by a run that died: what it displaced must be what it meant to.
    pub(super) fn check_displaced(
        &self,
        entry: &Entry,
        leftovers: &Leftovers<'_>,
    ) -> Result<(), Refusal> {
        if let Some(name) = leftovers.foreign(&self.known()) {
            return Err(self.put_back(&Temp::left_over(entry, name)));
        }
        // Synced before the old content goes, as in the run that died.
        ended(entry)?;
        leftovers.remove_own(&self.known());
        Ok(())
    }
}

fn is_unsupported(errno: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&errno)
}

/// Makes the change durable: the name, and the content too, which a run that overwrote it and died
/// may not have come to. Costs nothing if there is nothing to do.
pub(super) fn ended(entry: &Entry) -> Result<(), Refusal> {
    if let Some(file) = entry.open()? {
        file.sync_all().map_err(|error| unsynced(entry, &error))?;
    }
    synced(entry)
}

fn unsynced(entry: &Entry, error: &io::Error) -> Refusal {
    Refusal(format!("`{}` was changed, but may not survive a crash: {error}", entry.shown))
}

pub(in crate::files) fn synced(entry: &Entry) -> Result<(), Refusal> {
    fsync(&entry.directory).map_err(|errno| unsynced(entry, &errno.into()))
}

pub(in crate::files) fn unplaced(entry: &Entry, errno: Errno) -> Refusal {
    let error = io::Error::from(errno);
    Refusal(format!("`{}` could not be replaced and is unchanged: {error}", entry.shown))
}
