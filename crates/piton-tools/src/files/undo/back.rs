//! Taking a change back: the old content in its place again, or a file that was made removed.
//!
//! What goes is kept before, under a name of its own, as with every change. So a process that dies
//! here leaves two versions, of which one is not made and therefore not offered.

use piton_core::id::{CallId, TurnId};
use rustix::fs::{RenameFlags, renameat_with};

use crate::contract::{Finished, Refusal, Settled, Site};
use crate::files::change::temp::{self, Key, Leftovers, Temp};
use crate::files::change::versions::{Undo, Version};
use crate::files::change::{Applied, Change, content, not_kept, synced, unplaced};
use crate::files::digest;
use crate::files::workspace::{Entry, MissingParents, Place};

/// The call in whose name a person takes changes back: no turn has this number.
const PERSON: CallId = CallId { turn: TurnId(0), step: 0, index: 0 };

/// Makes the file what it was before `version`, with what it was until now kept. Refused if it is
/// not as that change left it.
pub(super) fn take_back(
    site: &Site,
    version: &Version,
    old: Option<Vec<u8>>,
) -> Result<Applied, Refusal> {
    let place = Place::recorded(site, &version.path)?;
    let Some(old) = old else {
        let removed = remove(site, &place, version)?;
        tidy(site, &place, version);
        return Ok(removed);
    };
    let change = Change::back(place, version, digest::of(&old));
    let applied = change.apply(site, PERSON, |_| Ok(old.clone()))?;
    tidy(site, change.place(), version);
    Ok(applied)
}

/// Finds what a dead run left beside the file, whichever way it took the change back.
fn leftovers<'a>(entry: &'a Entry, place: &Place, version: &Version) -> Leftovers<'a> {
    let ways = [version.before.clone(), version.after.clone(), Some(digest::of(b""))];
    let keys = ways.iter().flatten().map(|way| Key::new(place.shown(), way));
    Leftovers::find_any(entry, &keys.collect::<Vec<_>>(), Some(PERSON))
}

/// Removes what dead runs left beside the file.
fn tidy(site: &Site, place: &Place, version: &Version) {
    let Ok(entry) = place.entry(site, MissingParents::Refuse) else { return };
    let known = [version.before.as_ref(), version.after.as_ref()];
    leftovers(&entry, place, version).remove_own(&known);
}

/// Finds out whether a run that died has taken `version` back, and ends its work if it has.
pub(super) fn settle(
    site: &Site,
    version: &Version,
    old: Option<Vec<u8>>,
) -> Result<Settled, Refusal> {
    let place = Place::recorded(site, &version.path)?;
    if let Some(old) = old {
        let change = Change::back(place, version, digest::of(&old));
        return Ok(change.settle(site, |_| Ok(old.clone())));
    }
    let entry = place.entry(site, MissingParents::Refuse)?;
    let is_alone = temp::lock(&entry.directory);
    let found = content(&entry)?.as_deref().map(digest::of);
    let known = [version.before.as_ref(), version.after.as_ref()];
    let left = leftovers(&entry, &place, version);
    if let Some(name) = left.foreign(&known) {
        return Ok(Settled::Unknown(format!(
            "another version of `{}` is kept in `{name}` beside it",
            entry.shown
        )));
    }
    if found.is_none() {
        // The name is gone for good before the content is.
        synced(&entry)?;
    }
    if is_alone {
        left.remove_own(&known);
    }
    Ok(match found {
        None => Settled::Applied(Finished::ok(format!("`{}` is removed", entry.shown))),
        found if found == version.after => Settled::NotApplied,
        Some(_) => Settled::Unknown(format!("`{}` has been changed since", entry.shown)),
    })
}

/// Removes a file by way of another name, so that what is removed can be looked at.
fn remove(site: &Site, place: &Place, version: &Version) -> Result<Applied, Refusal> {
    let entry = place.entry(site, MissingParents::Refuse)?;
    temp::lock(&entry.directory);
    let Some(current) = content(&entry)? else { return Ok(Applied::Earlier) };
    let (undo, turned) = (Undo::new(&site.scratch), version.turned());
    let changed = || Refusal(format!("`{}` has been changed since: it stays", entry.shown));
    if Some(digest::of(&current)) != version.after {
        return Err(changed());
    }
    undo.keep(&turned, Some(&current), true).map_err(|error| not_kept(&entry.shown, &error))?;
    let key = Key::new(place.shown(), &digest::of(b""));
    let aside = Temp::aside(&entry, &key, PERSON).map_err(|errno| unplaced(&entry, errno))?;
    let found = aside.content();
    if let Some(found) = found.filter(|found| Some(digest::of(found)) == version.after) {
        synced(&entry)?;
        aside.remove();
        return Ok(Applied::Now { old: Some(found), new: Vec::new() });
    }
    undo.drop(&turned);
    let (directory, name) = (&entry.directory, entry.name.as_str());
    // If somebody has made a new file of that name, this one stays where it is, beside it.
    renameat_with(directory, aside.name(), directory, name, RenameFlags::NOREPLACE)
        .map_err(|_| Refusal(format!("{}, in `{}` beside it", changed().0, aside.name())))?;
    Err(changed())
}
