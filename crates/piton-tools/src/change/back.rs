//! Taking a change back: the old content in its place again, or a file that was made removed.

use piton_core::id::{CallId, TurnId};
use rustix::fs::{RenameFlags, renameat_with};

use super::swap::{synced, unplaced};
use super::temp::{self, Key, Temp};
use super::{Applied, Change};
use crate::undo::Version;
use crate::workspace::{MissingParents, Place};
use crate::{Refusal, Site, digest};

/// The call in whose name a person takes changes back: no turn has this number.
const PERSON: CallId = CallId { turn: TurnId(0), step: 0, index: 0 };

/// Makes the file what it was before `version`; gives what it was until now. Refused if it is not
/// as that change left it.
pub(crate) fn take_back(
    site: &Site,
    version: &Version,
    old: Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>, Refusal> {
    let place = Place::recorded(&version.path)?;
    let Some(old) = old else { return remove(site, &place, version).map(Some) };
    let change = Change { place, before: version.after.clone(), after: digest::of(&old) };
    let applied = change.apply(site, PERSON, |_| Ok(old.clone()))?;
    // It can be changed again from the version that is turned round; this one would be another.
    crate::undo::Undo::new(&site.scratch).drop(&change.version(site));
    Ok(match applied {
        Applied::Now { old, .. } => old,
        Applied::Earlier => None,
    })
}

/// Removes a file by way of another name, so that what is removed can be looked at.
fn remove(site: &Site, place: &Place, version: &Version) -> Result<Vec<u8>, Refusal> {
    let entry = place.entry(site, MissingParents::Refuse)?;
    temp::lock(&entry.directory);
    let changed = || Refusal(format!("`{}` has been changed since: it stays", entry.shown));
    let key = Key::new(place.shown(), &digest::of(b""));
    let aside = Temp::aside(&entry, &key, PERSON).map_err(|errno| unplaced(&entry, errno))?;
    let found = aside.content();
    if let Some(found) = found.filter(|found| Some(digest::of(found)) == version.after) {
        synced(&entry)?;
        aside.remove();
        return Ok(found);
    }
    let (directory, name) = (&entry.directory, entry.name.as_str());
    // If somebody has made a new file of that name, this one stays where it is, beside it.
    renameat_with(directory, aside.name(), directory, name, RenameFlags::NOREPLACE)
        .map_err(|_| Refusal(format!("{}, in `{}` beside it", changed().0, aside.name())))?;
    Err(changed())
}
