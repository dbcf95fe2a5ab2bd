//! What is noted before a program runs, and what is different behind it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use piton_core::permit::obeyed::stands_for;
use serde::{Deserialize, Serialize};

use super::scene::{Difference, Scene, Thing};
use super::{harmless, restore};
use crate::sandbox::{self, Policy, Submodules};
use crate::supervise::record::change::Raw;
use crate::supervise::record::files::opening;

/// The name of the note in a record.
pub(super) const NOTE: &str = "guard";

/// What was noted before a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// Protected places to which the command may write otherwise.
    pub(super) places: Vec<Raw>,
    /// The other places that its policy protects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) elsewhere: Vec<Raw>,
    /// Where the command may write.
    pub(super) roots: Vec<Raw>,
    pub(super) before: Scene,
    /// Indexes of git that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) unread: Vec<Raw>,
}

/// The protected places that a policy opens otherwise, and the rest.
pub(super) fn places_of(policy: &Policy) -> [Vec<PathBuf>; 2] {
    let is_open = |place: &PathBuf| policy.write.iter().any(|root| place.starts_with(root));
    let (open, elsewhere) = policy.protect.iter().cloned().partition(is_open);
    [open, elsewhere]
}

impl Note {
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(directory.join(NOTE))?)?)
    }

    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        write_whole(&directory.join(NOTE), &serde_json::to_vec(self)?)
    }

    pub(super) fn of(
        policy: &Policy,
        places: &[PathBuf],
        elsewhere: &[PathBuf],
        before: Scene,
    ) -> Self {
        let raw = |paths: &[PathBuf]| paths.iter().map(|path| Raw::of(path)).collect();
        let unread = raw(&sandbox::submodules(places).unread);
        let (places, elsewhere, roots) = (raw(places), raw(elsewhere), raw(&policy.write));
        Self { places, elsewhere, roots, before, unread }
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.places.iter().map(Raw::path).collect()
    }

    /// What is different now, and is somebody's concern.
    pub(super) fn differences(&self) -> Vec<Difference> {
        let places = self.paths();
        let mut differences = self.before.differences(&Scene::read(&places));
        differences.retain(|difference| !harmless::is_harmless(difference));
        differences.extend(self.of_submodules(&places));
        let is_whole = |it: &&Difference| it.before.is_none() && it.after == Some(Thing::Odd);
        let whole: Vec<_> =
            differences.iter().filter(is_whole).map(|it| it.place.clone()).collect();
        // What is new in a directory goes with it.
        let goes_along =
            |place: &Path| place.ancestors().skip(1).any(|it| whole.iter().any(|w| w == it));
        differences.retain(|it| it.before.is_some() || !goes_along(&it.place));
        differences
    }

    /// Repositories that have become submodules and in which git would obey something, and indexes that say of no
    /// submodules any more since they cannot be read.
    fn of_submodules(&self, places: &[PathBuf]) -> Vec<Difference> {
        let known: BTreeSet<_> = places.iter().collect();
        let Submodules { places: submodules, unread } = sandbox::submodules(places);
        let new = submodules.into_iter().filter(|place| !known.contains(place) && is_obeyed(place));
        let hidden = unread.into_iter().filter(|place| !self.unread.contains(&Raw::of(place)));
        let difference = |place: PathBuf| {
            let thing = Scene::read(std::slice::from_ref(&place)).at(&place).cloned();
            Difference { place, before: None, after: Some(thing.unwrap_or(Thing::Odd)) }
        };
        new.chain(hidden).map(difference).collect()
    }

    pub(super) fn put_back(&self, difference: &Difference) -> io::Result<()> {
        let Difference { place, before, .. } = difference;
        restore::put(place, &self.root_of(place)?, before.as_ref())
    }

    /// The outermost place above that the command may write to.
    pub(super) fn root_of(&self, place: &Path) -> io::Result<PathBuf> {
        let roots = self.roots.iter().map(Raw::path).filter(|root| place.starts_with(root));
        let outermost = roots.min_by_key(|root| root.components().count());
        outermost.ok_or_else(|| io::Error::other("no command can write there"))
    }

    /// Whether a place is among those that were noted, or below one of them.
    pub(super) fn covers(&self, place: &Path) -> bool {
        self.places.iter().any(|noted| stands_for(&noted.path(), place))
    }

    /// Takes over what was noted here: it was before anything that runs now.
    pub(super) fn take_over(&self, scene: &mut Scene, places: &[PathBuf]) {
        let later = Self {
            places: places.iter().map(|place| Raw::of(place)).collect(),
            elsewhere: Vec::new(),
            roots: Vec::new(),
            before: Scene::default(),
            unread: Vec::new(),
        };
        let both: Vec<_> = self.before.places().chain(scene.places()).collect();
        for place in both {
            if self.covers(&place) && later.covers(&place) {
                scene.set(&place, self.before.at(&place).cloned());
            }
        }
    }
}

/// Whether git would obey something at a place `.git`.
fn is_obeyed(place: &Path) -> bool {
    let Ok(metadata) = place.symlink_metadata() else { return false };
    let is_quiet = || {
        let new = Scene::default().differences(&Scene::read(&sandbox::obeyed_by(place)));
        new.iter().all(harmless::is_harmless)
    };
    !(metadata.is_dir() && is_quiet())
}

/// Replaces a file of a record, or makes it.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = opening().create_new(true).open(&new)?;
    io::Write::write_all(&mut file, bytes)?;
    fs::rename(&new, path)
}
