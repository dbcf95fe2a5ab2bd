//! Letters: one file each in `inbox`, named by its conversation, its arrival and its own name.
//!
//! A file under its final name is whole and synced. Arrivals are numbered by a counter in the bell's
//! file, which is locked from counting to renaming, so that a letter of a lower number is never seen
//! after one of a higher number. The counter is not synced: after a power cut nobody waits, and the
//! letters that lie there say how far it was. A letter without a number is from an older piton and
//! came before all others.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use piton_core::id::ConversationId;

use super::bell;
use super::home::Home;
use super::lock::plain_name;
use super::private::{self, make_directory, sync_directory};
use crate::{Arrival, LETTER_BYTES_MAX, LETTERS_MAX, Letter, StoreError};

/// Stands between the names of a conversation, of an arrival and of a letter; none has it.
const MARK: char = '~';
/// How the name of a file begins that is still being written.
const HALF: &str = "half~";
/// After this time a half-written file is nobody's: writing one takes milliseconds.
const HALF_AGE_MAX: Duration = Duration::from_mins(10);

/// The arrival of a letter of an older piton, whose name has no number.
const UNNUMBERED: Arrival = Arrival(1);
/// Longest counter, in bytes.
const COUNTER_BYTES_MAX: usize = 24;

/// Leaves a letter; gives its arrival.
pub(super) fn post(
    home: &Home,
    conversation: &ConversationId,
    letter: &Letter,
) -> Result<Arrival, StoreError> {
    letter.check()?;
    let inbox = &home.inbox;
    make_directory(inbox)?;
    remove_halves(inbox);
    let half = half(inbox);
    let written = write(&half, &letter.body).and_then(|()| {
        let counter = private::create().read(true).open(bell::path(&home.database))?;
        counter.lock()?;
        enter(&counter, inbox, conversation, &letter.id, &half)
    });
    if let Err(error) = &written {
        fs::remove_file(&half).ok();
        let error = io::Error::new(error.kind(), error.to_string());
        return Err(StoreError::io("write", inbox, error));
    }
    sync_directory(inbox)?;
    written.map_err(|error| StoreError::io("write", inbox, error))
}

/// Numbers a letter and gives it its final name. One that lies there keeps its number.
fn enter(
    counter: &File,
    inbox: &Path,
    conversation: &ConversationId,
    id: &str,
    half: &Path,
) -> io::Result<Arrival> {
    let conversation = plain_name(conversation);
    let mut highest = counted(counter)?.max(UNNUMBERED);
    for name in names(inbox)? {
        let Some((found, arrival, found_id)) = parts(&name) else { continue };
        if found == conversation && found_id == id {
            fs::rename(half, inbox.join(&name))?;
            return Ok(arrival);
        }
        highest = highest.max(arrival);
    }
    let arrival = Arrival(highest.0.saturating_add(1));
    // Counted before it is seen: if we die in between, a number is left out, and none is given twice.
    counter.write_all_at(format!("{:020}", arrival.0).as_bytes(), 0)?;
    fs::rename(half, inbox.join(format!("{conversation}{MARK}{:020}{MARK}{id}", arrival.0)))?;
    Ok(arrival)
}

/// What the counter says; 0 if it cannot be understood.
fn counted(counter: &File) -> io::Result<Arrival> {
    let mut text = [0; COUNTER_BYTES_MAX];
    let length = counter.read_at(&mut text, 0)?;
    let text = text.get(..length).and_then(|text| str::from_utf8(text).ok());
    Ok(Arrival(text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)))
}

/// The names of all files of letters.
pub(super) fn names(inbox: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(inbox) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(names)
}

/// Which conversation a file of this name is for, in its plain form, and when it arrived.
pub(super) fn arrived(name: &str) -> Option<(&str, Arrival)> {
    parts(name).map(|(conversation, arrival, _)| (conversation, arrival))
}

/// Conversation, arrival and name of a letter, from the name of its file.
fn parts(name: &str) -> Option<(&str, Arrival, &str)> {
    if name.starts_with(HALF) {
        return None;
    }
    let (conversation, rest) = name.split_once(MARK)?;
    match rest.split_once(MARK) {
        Some((arrival, id)) => Some((conversation, Arrival(arrival.parse().ok()?), id)),
        None => Some((conversation, UNNUMBERED, rest)),
    }
}

/// The letters of a conversation, in the order of their arrival.
pub(super) fn read(inbox: &Path, conversation: &ConversationId) -> Result<Vec<Letter>, StoreError> {
    let names = names(inbox).map_err(|error| StoreError::io("read", inbox, error))?;
    let conversation = plain_name(conversation);
    let ours = |name: &String| {
        let (found, arrival, id) = parts(name)?;
        (found == conversation).then(|| (arrival, id.to_owned(), name.clone()))
    };
    let mut lying: Vec<_> = names.iter().filter_map(ours).collect();
    lying.sort();
    lying.truncate(LETTERS_MAX);
    // One that was taken in the meantime is gone, and what is no text was not left by us.
    let letter = |(_, id, name): (Arrival, String, String)| {
        fs::read_to_string(inbox.join(name)).ok().map(|body| Letter { id, body })
    };
    Ok(lying.into_iter().filter_map(letter).collect())
}

/// The last arrival among the letters of a conversation that lie there.
pub(super) fn newest(inbox: &Path, conversation: &ConversationId) -> Result<Arrival, StoreError> {
    let names = names(inbox).map_err(|error| StoreError::io("read", inbox, error))?;
    let conversation = plain_name(conversation);
    let ours = names.iter().filter_map(|name| arrived(name)).filter(|it| it.0 == conversation);
    Ok(ours.map(|it| it.1).max().unwrap_or_default())
}

/// Takes a letter away.
pub(super) fn discard(
    inbox: &Path,
    conversation: &ConversationId,
    id: &str,
) -> Result<(), StoreError> {
    let conversation = plain_name(conversation);
    for name in names(inbox).map_err(|error| StoreError::io("read", inbox, error))? {
        let is_meant = parts(&name).is_some_and(|(found, _, of)| found == conversation && of == id);
        if !is_meant {
            continue;
        }
        let path = inbox.join(&name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &path, error));
            }
            // Not synced: a letter that comes back after a power cut is known by what it brought.
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// A name that no other writer uses.
fn half(inbox: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    inbox.join(format!("{HALF}{}-{number}", std::process::id()))
}

fn write(path: &Path, body: &str) -> io::Result<()> {
    debug_assert!(body.len() <= LETTER_BYTES_MAX, "checked before");
    let mut file = private::create().truncate(true).open(path)?;
    file.write_all(body.as_bytes())?;
    file.sync_all()
}

/// Removes files of writers that were killed while they wrote.
fn remove_halves(inbox: &Path) {
    let Ok(entries) = fs::read_dir(inbox) else { return };
    for entry in entries.flatten() {
        let is_half = entry.file_name().to_str().is_some_and(|name| name.starts_with(HALF));
        let written = entry.metadata().and_then(|found| found.modified()).ok();
        let age = written.and_then(|written| written.elapsed().ok());
        if is_half && age.is_some_and(|age| HALF_AGE_MAX < age) {
            fs::remove_file(entry.path()).ok();
        }
    }
}
