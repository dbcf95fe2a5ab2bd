//! A change of one file that happens exactly once.
//!
//! The digests of the content before and after are recorded before anything is touched. Whoever
//! comes later compares: *before* means not yet, *after* means done, anything else means that
//! somebody else was here. The new content is written beside the file, synced, and exchanged with it
//! in one step; then what was displaced is looked at. If that is not what we meant to replace, it is
//! put back. So a foreign edit is never lost, whenever it happens.
//!
//! Knows files and digests; what the new content is, the tools say.

mod diff;
mod temp;

use std::fs::File;
use std::io::{self, Read};

use piton_core::event::Handle;
use piton_core::id::{CallId, Digest};
use rustix::fs::{AtFlags, RenameFlags, fsync, linkat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

pub(crate) use self::diff::extract;
use self::temp::{Key, Leftovers, Temp};
use crate::workspace::{Entry, MissingParents, Place};
use crate::{Finished, Prepared, Refusal, Settled, Site, blocking, digest, fail};

/// Largest file that is changed, and largest content that is written, in bytes. Both versions are
/// in memory at once.
pub const EDIT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A change as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    place: Place,
    before: Option<Digest>,
    after: Digest,
}

impl Change {
    /// A change of `place` from one content to another; refused if they are the same.
    pub(crate) fn new(place: Place, old: Option<&[u8]>, new: &[u8]) -> Result<Self, Refusal> {
        if old == Some(new) {
            return Err(Refusal(format!(
                "`{}` has exactly this content already: nothing to change",
                place.shown()
            )));
        }
        bounded(place.shown(), u64::try_from(new.len()).unwrap_or(u64::MAX))?;
        Ok(Self { place, before: old.map(digest::of), after: digest::of(new) })
    }

    /// What [`Change::prepared`] wrote down.
    pub(crate) fn recorded(handle: &Handle) -> Result<Self, Refusal> {
        match handle {
            Handle::Edit { path, before, after } => Ok(Self {
                place: Place::recorded(path)?,
                before: before.clone(),
                after: after.clone(),
            }),
            Handle::None | Handle::Job { .. } | Handle::Conversation { .. } => {
                Err(Refusal("no digests were recorded for this change: it was not made".into()))
            }
        }
    }

    /// What to write down before the change is made.
    pub(crate) fn prepared(self) -> Prepared {
        let path = self.place.shown().to_owned();
        let real = Some(path.clone());
        let handle = Handle::Edit { path, before: self.before, after: self.after };
        Prepared { handle, path: real }
    }

    /// The place that is changed.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Makes the change. `renew` gets the content that the digest of *before* belongs to and gives
    /// the new one.
    pub(crate) fn apply(
        &self,
        site: &Site,
        call: CallId,
        renew: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, Refusal>,
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
        let current = content(&entry)?;
        let found = current.as_deref().map(digest::of);
        if found.as_ref() == Some(&self.after) {
            self.check_displaced(&entry, &leftovers)?;
            return Ok(Applied::Earlier);
        }
        if is_alone {
            leftovers.remove_own(&self.known());
        }
        if found != self.before {
            return Err(self.conflict(found.is_some()));
        }
        let new = renew(current.as_deref())?;
        if digest::of(&new) != self.after {
            return Err(Refusal(format!(
                "the change of `{}` is not the one that was recorded: nothing was done",
                entry.shown
            )));
        }
        let temp = Temp::write(&entry, &self.key(), call, &new)?;
        fail::here("edit-written");
        let applied = match self.before {
            None => self.create(&entry, &temp)?,
            Some(_) => self.exchange(&entry, &temp)?,
        };
        Ok(match applied {
            Placed::Now => Applied::Now { old: current, new },
            Placed::Earlier => Applied::Earlier,
        })
    }

    /// Finds out whether a change in doubt was made. Touches nothing but what a dead run left over.
    pub(crate) fn settle(&self, site: &Site) -> Settled {
        match self.look(site) {
            Ok(settled) => settled,
            // The parent directory does not exist: neither does the file.
            Err(_) if self.before.is_none() && !self.place.absolute(site).exists() => {
                Settled::NotApplied
            }
            Err(Refusal(text)) => Settled::Unknown(text),
        }
    }

    fn look(&self, site: &Site) -> Result<Settled, Refusal> {
        let entry = self.place.entry(site, MissingParents::Refuse)?;
        let is_alone = temp::lock(&entry.directory);
        let current = content(&entry)?;
        let found = current.as_deref().map(digest::of);
        let leftovers = Leftovers::find(&entry, &self.key(), None);
        let displaced = leftovers.foreign(&self.known());
        let is_applied = found.as_ref() == Some(&self.after);
        if is_applied {
            // The run that died may have got no further than the swap: end its work, in its order.
            // Whoever records this as done must be able to rely on it.
            synced(&entry)?;
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
            None => Settled::Unknown(self.conflict(found.is_some()).0),
        })
    }

    fn abandon(&self, site: &Site) {
        if let Ok(entry) = self.place.entry(site, MissingParents::Refuse)
            && temp::lock(&entry.directory)
            // It may have been made: the old content goes only when the new one stays.
            && synced(&entry).is_ok()
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

    /// What may be thrown away: the journal knows both, and one of them is in place.
    fn known(&self) -> [Option<&Digest>; 2] {
        [self.before.as_ref(), Some(&self.after)]
    }

    fn key(&self) -> Key {
        Key::new(self.place.shown(), &self.after)
    }

    fn conflict(&self, exists: bool) -> Refusal {
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

    /// Puts a new file in place, over nothing.
    fn create(&self, entry: &Entry, temp: &Temp<'_>) -> Result<Placed, Refusal> {
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
                if found.as_ref() == Some(&self.after) {
                    return Ok(Placed::Earlier);
                }
                Err(self.conflict(true))
            }
            Err(errno) => {
                temp.remove();
                Err(unplaced(entry, errno))
            }
        }
    }

    /// Swaps the new content with the old in one step and looks at what was displaced.
    fn exchange(&self, entry: &Entry, temp: &Temp<'_>) -> Result<Placed, Refusal> {
        match temp.swap() {
            Ok(()) => fail::here("edit-swapped"),
            Err(errno) if is_unsupported(errno) => return self.replace(entry, temp),
            Err(Errno::NOENT) => {
                temp.remove();
                return Err(self.conflict(false));
            }
            Err(errno) => {
                temp.remove();
                return Err(unplaced(entry, errno));
            }
        }
        let displaced = temp.digest();
        if displaced == self.before || displaced.as_ref() == Some(&self.after) {
            // Synced before the old content goes: a power cut must not take both.
            synced(entry)?;
            temp.remove();
            return Ok(Placed::Now);
        }
        Err(self.put_back(temp))
    }

    /// Gives the name back to the version that we displaced by mistake.
    fn put_back(&self, temp: &Temp<'_>) -> Refusal {
        let conflict = self.conflict(true);
        let kept = |why: &str| {
            Refusal(format!("{}. {why} kept in `{}` beside it", conflict.0, temp.name()))
        };
        if temp.swap().is_err() {
            return kept("The other version is");
        }
        if temp.digest().as_ref() != Some(&self.after) {
            // A third version came in between the two swaps.
            return kept("A still newer version is");
        }
        temp.remove();
        conflict
    }

    /// For file systems that cannot swap: looks once more, then replaces. A foreign edit within
    /// these microseconds would be lost; there is no better way there.
    fn replace(&self, entry: &Entry, temp: &Temp<'_>) -> Result<Placed, Refusal> {
        let found = content(entry)?.as_deref().map(digest::of);
        if found != self.before {
            temp.remove();
            return Err(self.conflict(found.is_some()));
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
    fn check_displaced(&self, entry: &Entry, leftovers: &Leftovers<'_>) -> Result<(), Refusal> {
        if let Some(name) = leftovers.foreign(&self.known()) {
            return Err(self.put_back(&Temp::left_over(entry, name)));
        }
        // Synced before the old content goes, as in the run that died.
        synced(entry)?;
        leftovers.remove_own(&self.known());
        Ok(())
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

#[derive(Clone, Copy, Debug)]
enum Placed {
    Now,
    Earlier,
}

/// Removes what a dead run of a change that is given up left over.
pub(crate) async fn abandon(site: &Site, handle: &Handle) {
    let (site, handle) = (site.clone(), handle.clone());
    // What cannot be removed now stays: it is hidden, and does no harm.
    blocking::whole(move || Change::recorded(&handle).map(|change| change.abandon(&site)))
        .await
        .ok();
}

/// The content at `place` now; `None` if there is no file, also if its directory is missing.
pub(crate) fn current(site: &Site, place: &Place) -> Result<Option<Vec<u8>>, Refusal> {
    match place.entry(site, MissingParents::Refuse) {
        Ok(entry) => content(&entry),
        Err(refusal) => {
            let parent_missing = place
                .absolute(site)
                .parent()
                .is_some_and(|parent| matches!(parent.try_exists(), Ok(false)));
            if parent_missing { Ok(None) } else { Err(refusal) }
        }
    }
}

fn content(entry: &Entry) -> Result<Option<Vec<u8>>, Refusal> {
    let Some(file) = entry.open()? else { return Ok(None) };
    let bytes = read_bounded(&file)
        .map_err(|error| Refusal(format!("`{}` cannot be read: {error}", entry.shown)))?;
    bounded(&entry.shown, u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
    Ok(Some(bytes))
}

fn read_bounded(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than allowed tells "too large" from "just fits".
    file.take(EDIT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn bounded(shown: &str, bytes: u64) -> Result<(), Refusal> {
    if bytes <= EDIT_BYTES_MAX {
        return Ok(());
    }
    Err(Refusal(format!(
        "`{shown}` has or would have more than {EDIT_BYTES_MAX} bytes: change it with shell"
    )))
}

fn is_unsupported(errno: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&errno)
}

fn synced(entry: &Entry) -> Result<(), Refusal> {
    fsync(&entry.directory).map_err(|errno| {
        let error = io::Error::from(errno);
        Refusal(format!("`{}` was changed, but may not survive a crash: {error}", entry.shown))
    })
}

fn unplaced(entry: &Entry, errno: Errno) -> Refusal {
    let error = io::Error::from(errno);
    Refusal(format!("`{}` could not be replaced and is unchanged: {error}", entry.shown))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use piton_core::id::TurnId;

    use piton_core::event::PermissionMode;
    use piton_core::id::ConversationId;

    use super::*;

    /// Changes `f` from `old` to `ours` while `meddle` happens between the look and the swap: the
    /// new content is made exactly then. Gives the result, the content at last, and all names.
    fn meddled(
        old: Option<&str>,
        meddle: impl FnOnce(&Path),
    ) -> (Result<Applied, Refusal>, Option<String>, usize) {
        let directory = tempfile::tempdir().expect("a directory");
        let workspace = directory.path().canonicalize().expect("canonical");
        let file = workspace.join("f");
        if let Some(old) = old {
            fs::write(&file, old).expect("written");
        }
        let site = Site {
            workspace: workspace.clone(),
            scratch: workspace.clone(),
            conversation: ConversationId::new("c"),
            permissions: PermissionMode::default(),
        };
        let place = Place::locate(&site, "f").expect("located");
        let change = Change::new(place, old.map(str::as_bytes), b"ours").expect("a change");
        let call = CallId { turn: TurnId(1), step: 1, index: 0 };
        let result = change.apply(&site, call, |_| {
            meddle(&file);
            Ok(b"ours".to_vec())
        });
        let names = fs::read_dir(&workspace).expect("listed").count();
        (result, fs::read_to_string(&file).ok(), names)
    }

    #[test]
    fn undisturbed_it_is_made() {
        let (result, content, names) = meddled(Some("old"), |_| {});
        let (old, new) = (Some(b"old".to_vec()), b"ours".to_vec());
        assert_eq!(result, Ok(Applied::Now { old, new }));
        assert_eq!((content.as_deref(), names), (Some("ours"), 1));
    }

    #[test]
    fn a_foreign_edit_at_the_last_moment_is_put_back() {
        let (result, content, names) = meddled(Some("old"), |file| {
            fs::write(file, "theirs").expect("written");
        });
        let Refusal(text) = result.expect_err("a conflict");
        assert!(text.contains("changed by somebody else"), "{text}");
        assert_eq!((content.as_deref(), names), (Some("theirs"), 1));
    }

    #[test]
    fn a_file_created_or_removed_at_the_last_moment_stays_so() {
        let (result, content, names) = meddled(None, |file| {
            fs::write(file, "theirs").expect("written");
        });
        assert!(result.expect_err("a conflict").0.contains("created by somebody else"));
        assert_eq!((content.as_deref(), names), (Some("theirs"), 1));

        let (result, content, names) = meddled(Some("old"), |file| {
            fs::remove_file(file).expect("removed");
        });
        assert!(result.expect_err("a conflict").0.contains("removed by somebody else"));
        assert_eq!((content, names), (None, 0));
    }

    #[test]
    fn a_directory_in_its_place_stays_there() {
        let (result, content, names) = meddled(Some("old"), |file| {
            fs::remove_file(file).expect("removed");
            fs::create_dir(file).expect("created");
        });
        assert!(result.is_err());
        assert_eq!((content, names), (None, 1));
    }

    #[test]
    fn the_same_change_made_by_somebody_else_is_no_conflict() {
        for old in [None, Some("old")] {
            let (result, content, names) = meddled(old, |file| {
                fs::write(file, "ours").expect("written");
            });
            assert!(result.is_ok(), "{result:?}");
            assert_eq!((content.as_deref(), names), (Some("ours"), 1));
        }
    }
}
