//! Sees to it that what others obey is the same after a confined command as before it.
//!
//! Before the command, the agent notes what stands at the protected places ([`begin`]). Behind its end, and before
//! that is recorded, whoever records it looks again ([`settle`]): what is different is kept aside, written down,
//! and put back, in this order, so that a death in between loses nothing and doing it twice does no harm. A person
//! may then say that it was meant ([`decide`]).
//!
//! Commands run beside each other, in any number of processes. What one of them has changed must not be what the
//! next one finds: a list of all that are noted lies beside their records, and who begins takes over what was noted
//! before for those that still run. Nobody can tell who changed a file meanwhile, a command or a person beside it.
//! So a change is never thrown away.

mod harmless;
mod note;
mod open;
mod restore;
mod scene;
mod told;
mod watch;

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use piton_core::id::Digest;
use rustix::process::test_kill_process_group;
use serde::{Deserialize, Serialize};

use self::note::{Note, places_of, write_whole};
use self::scene::{Content, Difference, Scene, Thing};
pub(crate) use self::told::link;
pub(crate) use self::watch::{Instead, PutBack, Settled, Watch};
use super::change::{Change, Decision, Kind, Raw};
use super::files::{PRIVATE_DIRECTORY, lock, open_log, opening, peek};
use super::identity::{self, Identity};
use super::log::{self, Intent, Record, Story, Witness};
use super::verdict::{Lock, Verdict, verdict};
use crate::fail;
use crate::files::digest;
use crate::sandbox::Policy;

/// Where the list lies, beside the records of all conversations. No conversation has such a name.
const LIST: &str = ".guarded";
/// Where changes are kept in a record.
const ASIDE: &str = "changed";
/// Most changes of one command that are kept, one by one. The rest is only put back.
const CHANGES_MAX: usize = 100;
/// What stands in a name on the list between the command and the kind of its note.
const KIND: char = '=';
/// How long to wait for others at the list. They hold it for milliseconds, unless they were stopped.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
/// How often to try.
const TRY_EVERY: Duration = Duration::from_millis(5);

/// Notes what a policy protects, and what stands there, for a call that is about to start. The record is in
/// `directory`, and `marker` is its name.
pub(crate) fn begin(directory: &Path, marker: &str, policy: &Policy) -> io::Result<()> {
    let [places, elsewhere] = places_of(policy);
    let list = List::of(directory)?;
    let _held = list.hold();
    // First: what ended unseen is put back by that.
    let others = list.one_of_each_kind();
    let mut before = Scene::read(&places);
    for (_, theirs) in others {
        theirs.take_over(&mut before, &places);
    }
    open::take_over(&mut before, &places);
    Note::of(policy, &places, &elsewhere, before).write(directory)?;
    list.add(marker, &kind_of(&places))
}

/// The policy of a call that is about to start: what it protects stands in the note only, since the log is read
/// many times.
pub(crate) fn whole_policy(intent: &Intent) -> io::Result<Option<Policy>> {
    let Some(mut policy) = intent.sandbox.clone() else { return Ok(None) };
    if let Some(directory) = intent.guard.as_ref().filter(|_| policy.protect.is_empty()) {
        let Note { places, elsewhere, .. } = Note::read(directory)?;
        policy.protect = places.iter().chain(&elsewhere).map(Raw::path).collect();
    }
    Ok(Some(policy))
}

/// The same for all notes of the same places.
fn kind_of(places: &[PathBuf]) -> String {
    let names: Vec<_> = places.iter().map(|place| place.as_os_str().as_bytes()).collect();
    digest::of(&names.join(&0)).to_string()
}

/// Puts back what is different after a command, and writes it down. What cannot be done is written down too. Says
/// how many places are again what they were.
pub(crate) fn settle(log: &File, story: &Story, witness: Witness) -> usize {
    let Some(directory) = story.intent.as_ref().and_then(|intent| intent.guard.as_ref()) else {
        return 0;
    };
    let list = List::of(directory);
    let _held = list.as_ref().ok().and_then(List::hold);
    settle_held(directory, log, witness)
}

/// The same, by its log.
pub(crate) fn forget(log: &File) {
    if let Ok(Story { intent: Some(intent), .. }) = Story::read(log) {
        release(&intent);
    }
}

/// Nothing of a command is left that could change anything.
pub(crate) fn release(intent: &Intent) {
    if let Some(directory) = &intent.guard
        && let Ok(list) = List::of(directory)
    {
        list.remove(&intent.marker);
    }
}

/// Whether a record keeps changes of a command that has ended, and nobody has decided about them.
pub(crate) fn is_undecided(directory: &Path) -> bool {
    let is_open = |story: Story| {
        story.ended.is_some() && !story.changes.is_empty() && story.decided.is_none()
    };
    directory.join(ASIDE).is_dir()
        && open_log(directory).and_then(|log| Story::read(&log)).is_ok_and(is_open)
}

/// Does what a person says about the first so many changes of a command that has ended. What it left running may
/// have made more since; those stay put back.
pub(crate) fn decide(directory: &Path, wanted: bool, seen: usize) -> io::Result<Decision> {
    let log = open_log(directory)?;
    let mut story = Story::read(&log)?;
    story.changes.truncate(seen);
    if let Some(decision) = story.decided {
        return Ok(decision);
    }
    let decision = if wanted { apply(directory, &story)? } else { Decision::Refused };
    fail::here("guard-applied");
    log::append(&log, &Record::Decided(decision))?;
    log.sync_data()?;
    Ok(decision)
}

/// The list, held, while there are commands on it, or programs that are watched without a record.
#[derive(Debug)]
pub(crate) struct HeldList {
    list: List,
    _held: Option<File>,
}

impl HeldList {
    pub(crate) fn take(calls: &Path) -> Option<Self> {
        let list = List { calls: calls.to_owned() };
        if !list.names().is_empty() {
            let held = Some(list.hold()?);
            return Some(Self { list, _held: held });
        }
        open::is_any_open().then_some(Self { list, _held: None })
    }

    /// Takes files for what stood there before, if they have this content.
    pub(crate) fn accept(&self, changed: &[(PathBuf, Option<Digest>)]) {
        let others = self.list.others();
        for (place, wanted) in changed {
            let thing = Scene::read(std::slice::from_ref(place)).at(place).cloned();
            let is_meant = match (&thing, wanted) {
                (None, None) => true,
                (Some(thing), Some(wanted)) => thing.digest().as_ref() == Some(wanted),
                (Some(_), None) | (None, Some(_)) => false,
            };
            if !is_meant {
                continue;
            }
            open::accept(place, thing.as_ref());
            for (record, theirs) in &others {
                let Ok(mut now) = Note::read(record) else { continue };
                if theirs.covers(place) {
                    now.before.set(place, thing.clone());
                    now.write(record).ok();
                }
            }
        }
    }
}

/// What a place was changed to, as text, from what: for people.
pub(crate) fn texts(directory: &Path, change: &Change) -> Option<(String, String)> {
    let note = Note::read(directory).ok()?;
    let kept = Kept::read(directory, change.kept?).ok()?;
    let text = |thing: Option<&Thing>| match thing {
        Some(Thing::File { content: Content::Whole(bytes), .. }) => {
            Some(String::from_utf8_lossy(&bytes.0).into_owned())
        }
        Some(Thing::Link(target)) => Some(format!("a link to {}\n", target.path().display())),
        Some(Thing::File { .. } | Thing::Odd) => None,
        None => Some(String::new()),
    };
    Some((text(note.before.at(&change.place.path()))?, text(kept.0.as_ref())?))
}

/// The same, while the list is held.
fn settle_held(directory: &Path, log: &File, witness: Witness) -> usize {
    let Ok(note) = Note::read(directory) else { return 0 };
    let differences = note.differences();
    for difference in &differences {
        // Without room for it, or for a word of it, it is put back all the same.
        keep(directory, difference, log).ok();
    }
    if !differences.is_empty() {
        // What is put back is gone, but for what was kept.
        log.sync_data().ok();
    }
    fail::here(witness.point(["inner-guard-kept", "outer-guard-kept"]));
    let mut put_back = 0;
    for difference in &differences {
        match note.put_back(difference) {
            Ok(()) => put_back += 1,
            Err(error) => {
                let (place, why) = (Raw::of(&difference.place), error.to_string());
                log::append(log, &Record::NotPutBack { place, why }).ok();
            }
        }
        fail::here(witness.point(["inner-guard-restored", "outer-guard-restored"]));
    }
    put_back
}

/// Keeps what a place was changed to, and writes that down.
fn keep(directory: &Path, difference: &Difference, log: &File) -> io::Result<()> {
    let Difference { place, before, after } = difference;
    let story = Story::read(log)?;
    let is_same = |change: &Change| {
        let kept = || change.kept.and_then(|number| Kept::read(directory, number).ok());
        change.place == Raw::of(place) && kept().is_some_and(|kept| kept.0 == *after)
    };
    // Who did this before has died on the way.
    if story.changes.iter().any(is_same) || CHANGES_MAX <= story.changes.len() {
        return Ok(());
    }
    let number = u32::try_from(story.changes.len()).unwrap_or(u32::MAX);
    let kept = Kept(after.clone()).write(directory, number).is_ok().then_some(number);
    let kind = match (before, after) {
        (None, _) => Kind::Made,
        (_, None) => Kind::Removed,
        (Some(_), Some(_)) => Kind::Changed,
    };
    log::append(log, &Record::Changed(Change { place: Raw::of(place), kind, kept }))
}

/// Makes the changes again, where nothing else was changed since.
fn apply(directory: &Path, story: &Story) -> io::Result<Decision> {
    let mut note = Note::read(directory)?;
    let list = List::of(directory)?;
    let _held = list.hold();
    let now = Scene::read(&note.paths());
    let mut decision = Decision::Applied;
    for (number, change) in story.changes.iter().enumerate() {
        let place = change.place.path();
        if story.changes.iter().skip(number + 1).any(|later| later.place == change.place) {
            continue;
        }
        let Some(kept) = change.kept else {
            decision = Decision::Overtaken;
            continue;
        };
        let Kept(wanted) = Kept::read(directory, kept)?;
        if now.at(&place) != note.before.at(&place) && now.at(&place) != wanted.as_ref() {
            decision = Decision::Overtaken;
            continue;
        }
        restore::put(&place, &note.root_of(&place)?, wanted.as_ref())?;
        // Else whoever ends next would put it back again.
        open::accept(&place, wanted.as_ref());
        for (record, mut theirs) in list.others() {
            if theirs.covers(&place) {
                theirs.before.set(&place, wanted.clone());
                theirs.write(&record)?;
            }
        }
        note.before.set(&place, wanted);
    }
    note.write(directory)?;
    Ok(decision)
}

/// What a place was changed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kept(Option<Thing>);

impl Kept {
    fn read(directory: &Path, number: u32) -> io::Result<Self> {
        let file = directory.join(ASIDE).join(number.to_string());
        Ok(serde_json::from_slice(&fs::read(file)?)?)
    }

    fn write(&self, directory: &Path, number: u32) -> io::Result<()> {
        let aside = directory.join(ASIDE);
        DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(&aside)?;
        write_whole(&aside.join(number.to_string()), &serde_json::to_vec(self)?)
    }
}

/// The list of all commands that were noted and may still change something.
#[derive(Debug)]
struct List {
    calls: PathBuf,
}

impl List {
    fn of(directory: &Path) -> io::Result<Self> {
        let calls = directory.ancestors().nth(2).map(Path::to_owned);
        let list = Self { calls: calls.ok_or_else(|| io::Error::other("no place for a list"))? };
        // Where the records of all conversations were removed meanwhile, no place is made for them anew.
        match DirBuilder::new().mode(PRIVATE_DIRECTORY).create(list.place()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => Ok(list),
        }
    }

    fn place(&self) -> PathBuf {
        self.calls.join(LIST)
    }

    /// Keeps others away for as long as this lives. One that was stopped holds nobody up for ever.
    fn hold(&self) -> Option<File> {
        let file = opening().create(true).open(self.place().join("lock")).ok()?;
        let until = Instant::now() + LOCK_WITHIN;
        while lock(&file).ok()? == Lock::Held {
            if until <= Instant::now() {
                return None;
            }
            std::thread::sleep(TRY_EVERY);
        }
        Some(file)
    }

    fn add(&self, marker: &str, kind: &str) -> io::Result<()> {
        let entry = format!("{}{KIND}{kind}", marker.replace('/', "+"));
        opening().create(true).open(self.place().join(entry)).map(drop)
    }

    fn remove(&self, marker: &str) {
        let own = self.names().into_iter().filter(|name| Entry::of(name).marker == marker);
        // If it stays, the next who looks finds that it is over.
        own.for_each(|name| drop(fs::remove_file(self.place().join(name))));
    }

    /// All entries, by the names of their files.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.place()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.contains('+')).collect()
    }

    /// The records of all that may still change something, with what was noted before them. What ended unseen is
    /// settled first.
    fn others(&self) -> Vec<(PathBuf, Note)> {
        let names = self.names();
        self.running(&names).filter_map(|Entry { marker, .. }| self.noted(&marker)).collect()
    }

    /// One of each kind: all that run and have noted the same places have taken over the same from each other.
    fn one_of_each_kind(&self) -> Vec<(PathBuf, Note)> {
        let (names, mut kinds, mut found) = (self.names(), BTreeSet::new(), Vec::new());
        for Entry { marker, kind } in self.running(&names) {
            if !kinds.contains(kind)
                && let Some(noted) = self.noted(&marker)
            {
                kinds.insert(kind);
                found.push(noted);
            }
        }
        found
    }

    /// Entries of commands that may still change something. What ended unseen is settled on the way.
    fn running<'n>(&self, names: &'n [String]) -> impl Iterator<Item = Entry<'n>> {
        names.iter().map(|name| Entry::of(name)).filter(|Entry { marker, .. }| {
            let runs = open_log(&self.calls.join(marker)).is_ok_and(|log| goes_on(&log));
            if !runs {
                self.remove(marker);
            }
            runs
        })
    }

    /// The record of a command, and what was noted before it.
    fn noted(&self, marker: &str) -> Option<(PathBuf, Note)> {
        let record = self.calls.join(marker);
        if let Ok(note) = Note::read(&record) {
            return Some((record, note));
        }
        self.remove(marker);
        None
    }
}

/// A name on the list.
struct Entry<'a> {
    /// The record of the command, below those of all.
    marker: String,
    /// Of which kind its note is.
    kind: &'a str,
}

impl<'a> Entry<'a> {
    fn of(name: &'a str) -> Self {
        let (marker, kind) = name.split_once(KIND).unwrap_or((name, name));
        Self { marker: marker.replacen('+', "/", 1), kind }
    }
}

/// Whether a command may still change something. One that was lost is settled here: nobody else may come for it.
fn goes_on(log: &File) -> bool {
    let (Ok(lock), Ok(story)) = (peek(log), Story::read(log)) else { return true };
    match verdict(lock, &story, identity::boot(), Identity::sight) {
        Verdict::Attach | Verdict::Adopt(_) => true,
        Verdict::Collect(_) => {
            let group = story.started.as_ref().and_then(Identity::pid);
            let is_there = || group.is_some_and(|group| test_kill_process_group(group).is_ok());
            story.left_running && (lock == Lock::Held || is_there())
        }
        Verdict::NeverRan(_) => false,
        Verdict::Rebooted | Verdict::StatusLost => {
            if let Some(directory) = story.intent.and_then(|intent| intent.guard) {
                settle_held(&directory, log, Witness::Adopter);
            }
            false
        }
    }
}

#[cfg(test)]
mod tests;
