//! Which changes can be taken back, and taking one back.

use std::fs;
use std::io;

use piton_core::event::Permissions;

use super::back;
use crate::contract::{Closed, Refusal, Site, excerpt};
use crate::files::change::versions::{Undo, Version, name};
use crate::files::change::{self, Applied};
use crate::files::digest;
use crate::files::workspace::Place;

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
        let Ok(place) = Place::recorded(&version.path) else { return VersionState::Changed };
        let Ok(found) = change::current(&self.site(version), &place) else {
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
    pub fn take_back(&self, taken: &str) -> Result<String, Refusal> {
        let lost = |error: io::Error| Refusal(format!("the old version cannot be read: {error}"));
        let (version, content) = self.read(taken).map_err(lost)?;
        let path = excerpt::name(&version.path);
        if version.before.as_ref().is_some_and(|before| *before != digest::of(&content)) {
            return Err(Refusal(format!(
                "the old version of `{path}` is damaged and not put back"
            )));
        }
        match self.state(&version) {
            VersionState::Made => {}
            VersionState::NotMade => {
                return Err(Refusal(format!("`{path}` has its old content already")));
            }
            // One that was torn when somebody died here is known, and put right.
            VersionState::Changed if self.before_in_place(&version.turned()).is_some() => {}
            VersionState::Changed => {
                return Err(Refusal(format!(
                    "`{path}` has been changed since: it stays as it is, and the old version is \
                     kept"
                )));
            }
        }
        let old = version.before.is_some().then_some(content);
        if back::take_back(&self.site(&version), &version, old)? == Applied::Earlier {
            return Err(Refusal(format!("`{path}` has its old content already")));
        }
        // What the file was is kept by now, under another name unless an older build named this one.
        // If this one stays, it is not made, and not offered.
        if taken != name(&version.turned()) {
            fs::remove_file(self.directory.join(taken)).ok();
        }
        let made = if version.undone { "changed again" } else { "taken back" };
        Ok(match version.before {
            Some(_) => format!("`{path}`: {made}"),
            None => format!("`{path}`: {made}; the file did not exist before and is removed"),
        })
    }

    fn site(&self, version: &Version) -> Site {
        Site {
            workspace: version.workspace.clone(),
            scratch: self.scratch.clone(),
            conversation: version.conversation.clone(),
            permissions: Permissions::default(),
            closed: Closed::default(),
        }
    }
}
