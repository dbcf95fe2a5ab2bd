//! What is noted for programs that this process watches without a record. All of them are known to each other, and to
//! commands that are recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::note::Note;
use super::scene::{Scene, Thing};

/// What was noted for each watch that is open, by its number.
static OPEN: Mutex<BTreeMap<u64, Note>> = Mutex::new(BTreeMap::new());

pub(super) fn open() -> MutexGuard<'static, BTreeMap<u64, Note>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes over what is noted for open watches: it was before anything that runs now.
pub(super) fn take_over(scene: &mut Scene, places: &[PathBuf]) {
    open().values().for_each(|theirs| theirs.take_over(scene, places));
}

/// Whether there is an open one.
pub(super) fn is_any_open() -> bool {
    !open().is_empty()
}

/// Takes something for what stood at a place before.
pub(super) fn accept(place: &Path, thing: Option<&Thing>) {
    for note in open().values_mut().filter(|note| note.covers(place)) {
        note.before.set(place, thing.cloned());
    }
}
