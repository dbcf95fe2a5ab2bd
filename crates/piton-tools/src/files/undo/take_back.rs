//! Which changes can be taken back, and taking one back.

use std::fs;
use std::io;
use std::path::Path;

use piton_core::event::Permissions;

use super::back;
use super::intent::{self, UndoDone, UndoIntent, UndoSettled};
use crate::contract::{Closed, Refusal, Settled, Site};
use crate::files::change::versions::{Undo, Version, name};
use crate::files::change::{self, Applied};
use crate::files::digest;
use crate::files::workspace::Place;
use piton_core::summary::name_on_one_line;

/// Whether a change can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionState {
    /// The file is as the change left it.
    Made,
    /// The file is as it was before: there is nothing to take back.
    NotMade,
    /// Somebody has changed it since.
    Changed,
}

impl Undo {
    /// Whether a change can be taken back.
    pub fn state(&self, version: &Version) -> VersionState {
        let site = self.site(version);
        let Ok(place) = Place::recorded(&site, &version.path) else { return VersionState::Changed };
        let Ok(found) = change::current(&site, &place) else {
            return VersionState::Changed;
        };
        let found = found.as_deref().map(digest::of);
        if found == version.after {
            VersionState::Made
        } else if found == version.before {
            VersionState::NotMade
        } else {
            VersionState::Changed
        }
    }

    /// Takes a change back, unless the file has been changed since. Says what was done.
    pub fn take_back(&self, change: &str) -> Result<String, Refusal> {
        let intent = self.intend(change)?;
        match self.perform(&intent)? {
            UndoDone::Now(text) => Ok(text),
            UndoDone::Earlier => Err(had_already(&name_on_one_line(&intent.path))),
        }
    }

    /// What taking a change back would do. Touches nothing; refused if it cannot be done.
    pub fn intend(&self, change: &str) -> Result<UndoIntent, Refusal> {
        let (version, _) = self.whole(change)?;
        let path = name_on_one_line(&version.path);
        match self.state(&version) {
            // The content may be the same by way of later changes, which are taken back first.
            VersionState::Made if self.is_changed_again(change, &version) => {
                return Err(changed_since(&path));
            }
            VersionState::Made => {}
            VersionState::NotMade => return Err(had_already(&path)),
            // A file that a dead run left half overwritten is known, and put right.
            VersionState::Changed if self.before_in_place(&version.turned()).is_some() => {}
            VersionState::Changed => return Err(changed_since(&path)),
        }
        Ok(intent::intent(change, &version))
    }

    /// Does exactly what was intended. Done once, however often it is called with one intent.
    pub fn perform(&self, intent: &UndoIntent) -> Result<UndoDone, Refusal> {
        let (version, content) = match self.whole(&intent.change) {
            // A run before this one may have ended, and removed the version.
            Err(_) if self.settle(intent) == UndoSettled::Done => return Ok(UndoDone::Earlier),
            whole => whole?,
        };
        let path = name_on_one_line(&version.path);
        if *intent != intent::intent(&intent.change, &version) {
            return Err(Refusal(format!(
                "the old version of `{path}` is not the one that was meant: nothing was done"
            )));
        }
        match self.state(&version) {
            VersionState::Made => {}
            VersionState::NotMade => {
                self.forget_taken(&intent.change, &version);
                return Ok(UndoDone::Earlier);
            }
            VersionState::Changed if self.before_in_place(&version.turned()).is_some() => {}
            VersionState::Changed => return Err(changed_since(&path)),
        }
        let old = version.before.is_some().then_some(content);
        let applied = back::take_back(&self.site(&version), &version, old)?;
        self.forget_taken(&intent.change, &version);
        if applied == Applied::Earlier {
            return Ok(UndoDone::Earlier);
        }
        let made = if version.undone { "changed again" } else { "taken back" };
        Ok(UndoDone::Now(match version.before {
            Some(_) => format!("`{path}`: {made}"),
            None => format!("`{path}`: {made}; the file did not exist before and is removed"),
        }))
    }

    /// Finds out, by digests, what became of an intent whose process died. Changes nothing but what
    /// the dead process left over.
    pub fn settle(&self, intent: &UndoIntent) -> UndoSettled {
        let version = intent::version(intent);
        let kept = self.whole(&intent.change).ok();
        let kept = kept.filter(|(kept, _)| *intent == intent::intent(&intent.change, kept));
        let Some((kept, content)) = kept else {
            // Without the old content only the file itself can tell.
            return match self.state(&version) {
                VersionState::NotMade => UndoSettled::Done,
                VersionState::Made => UndoSettled::NotDone,
                VersionState::Changed => UndoSettled::Conflict(changed_since(&intent.path).0),
            };
        };
        let old = kept.before.is_some().then_some(content);
        match back::settle(&self.site(&kept), &kept, old) {
            Ok(Settled::Applied(_)) => {
                self.forget_taken(&intent.change, &kept);
                UndoSettled::Done
            }
            Ok(Settled::NotApplied) => UndoSettled::NotDone,
            Ok(Settled::Running) => UndoSettled::Conflict("it is still at it".into()),
            // Without its directory the file is not there either.
            Err(_) if kept.before.is_none() && self.state(&kept) == VersionState::NotMade => {
                UndoSettled::Done
            }
            Ok(Settled::Unknown(why)) | Err(Refusal(why)) => UndoSettled::Conflict(why),
        }
    }

    /// A version whose content is what its digest says.
    fn whole(&self, change: &str) -> Result<(Version, Vec<u8>), Refusal> {
        let lost = |error: io::Error| Refusal(format!("the old version cannot be read: {error}"));
        let (version, content) = self.read(change).map_err(lost)?;
        if version.before.as_ref().is_some_and(|before| *before != digest::of(&content)) {
            let path = name_on_one_line(&version.path);
            return Err(Refusal(format!(
                "the old version of `{path}` is damaged and not put back"
            )));
        }
        Ok((version, content))
    }

    /// Removes a version that was taken back. What the file was until then is kept by now, under
    /// another name unless an older build named this one. If the removal fails, the version speaks of
    /// a change that is not made, and is not offered.
    fn forget_taken(&self, change: &str, version: &Version) {
        if change != name(&version.turned()) {
            fs::remove_file(self.directory.join(change)).ok();
        }
    }

    pub(super) fn site(&self, version: &Version) -> Site {
        // A change in a directory that was added to the workspace is recorded with the whole path.
        let whole = Path::new(&version.path);
        let added = whole.parent().filter(|_| whole.is_absolute()).and_then(Path::to_str);
        let directories = added.into_iter().map(ToOwned::to_owned).collect();
        Site {
            workspace: version.workspace.clone(),
            scratch: self.scratch.clone(),
            conversation: version.conversation.clone(),
            permissions: Permissions { directories, ..Permissions::default() },
            closed: Closed::default(),
        }
    }
}

fn had_already(path: &str) -> Refusal {
    Refusal(format!("`{path}` has its old content already"))
}

fn changed_since(path: &str) -> Refusal {
    Refusal(format!(
        "`{path}` has been changed since: it stays as it is, and the old version is kept"
    ))
}
