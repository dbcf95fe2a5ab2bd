//! Taking a change back: the old content in its place again, or a file that was made removed.
//!
//! What goes is kept before, under a name of its own, as with every change. So a process that dies
//! here leaves two versions, of which one is not made and therefore not offered.

use piton_core::id::{CallId, TurnId};

use crate::contract::{Refusal, Settled, Site};
use crate::files::change::temp::{Key, Leftovers};
use crate::files::change::versions::Version;
use crate::files::change::{Applied, Change};
use crate::files::workspace::{MissingParents, Place};

/// The call in whose name a person takes changes back: no turn has this number.
const PERSON: CallId = CallId { turn: TurnId(0), step: 0, index: 0 };

/// Makes the file what it was before `version`, with what it was until now kept. Refused if it is
/// not as that change left it.
pub(super) fn take_back(
    site: &Site,
    version: &Version,
    old: Option<Vec<u8>>,
) -> Result<Applied, Refusal> {
    let change = Change::back(Place::recorded(site, &version.path)?, version);
    let applied = change.apply(site, PERSON, |_| Ok(old.clone().unwrap_or_default()))?;
    tidy(site, change.place(), version);
    Ok(applied)
}

/// Removes what dead runs left beside the file, whichever way they took the change back.
fn tidy(site: &Site, place: &Place, version: &Version) {
    let Ok(entry) = place.entry(site, MissingParents::Refuse) else { return };
    let known = [version.before.as_ref(), version.after.as_ref()];
    let keys = known.map(|way| Key::of(place.shown(), way));
    Leftovers::find_any(&entry, &keys, Some(PERSON)).remove_own(&known);
}

/// Finds out whether a run that died has taken `version` back, and ends its work if it has.
pub(super) fn settle(
    site: &Site,
    version: &Version,
    old: Option<Vec<u8>>,
) -> Result<Settled, Refusal> {
    let change = Change::back(Place::recorded(site, &version.path)?, version);
    Ok(change.settle(site, |_| Ok(old.clone().unwrap_or_default())))
}
