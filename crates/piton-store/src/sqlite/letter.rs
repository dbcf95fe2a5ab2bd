//! Letters: one file each in `inbox`, named by its conversation and its own name.
//!
//! A file under its final name is whole and synced. Nobody holds a lock: whoever leaves a letter
//! writes a file of its own, and whoever takes one away removes it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use piton_core::id::ConversationId;

use super::lock::plain_name;
use super::private::{self, make_directory, sync_directory};
use crate::{LETTER_BYTES_MAX, LETTERS_MAX, Letter, StoreError};

/// Stands between the names of a conversation and of a letter; neither has it.
const MARK: char = '~';
/// How the name of a file begins that is still being written.
const HALF: &str = "half~";
/// After this time a half-written file is nobody's: writing one takes milliseconds.
const HALF_AGE_MAX: Duration = Duration::from_mins(10);

/// Leaves a letter.
pub(super) fn post(
    inbox: &Path,
    conversation: &ConversationId,
    letter: &Letter,
) -> Result<(), StoreError> {
    letter.check()?;
    make_directory(inbox)?;
    remove_halves(inbox);
    let path = path(inbox, conversation, &letter.id);
    let half = half(inbox);
    let written = write(&half, &letter.body).and_then(|()| fs::rename(&half, &path));
    if let Err(error) = written {
        fs::remove_file(&half).ok();
        return Err(StoreError::io("write", &path, error));
    }
    sync_directory(inbox)
}

/// The letters of a conversation, by name.
pub(super) fn read(inbox: &Path, conversation: &ConversationId) -> Result<Vec<Letter>, StoreError> {
    let failed = |error| StoreError::io("read", inbox, error);
    let entries = match fs::read_dir(inbox) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let beginning = format!("{}{MARK}", plain_name(conversation));
    let mut letters = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.strip_prefix(&beginning)) else {
            continue;
        };
        // One that was taken in the meantime is gone, and what is no text was not left by us.
        if let Ok(body) = fs::read_to_string(inbox.join(&name)) {
            letters.push(Letter { id: id.to_owned(), body });
        }
    }
    letters.sort_by(|one, other| one.id.cmp(&other.id));
    letters.truncate(LETTERS_MAX);
    Ok(letters)
}

/// Takes a letter away.
pub(super) fn discard(
    inbox: &Path,
    conversation: &ConversationId,
    id: &str,
) -> Result<(), StoreError> {
    let path = path(inbox, conversation, id);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", &path, error))
        }
        // Not synced: a letter that comes back after a power cut is known by what it brought.
        Ok(()) | Err(_) => Ok(()),
    }
}

fn path(inbox: &Path, conversation: &ConversationId, id: &str) -> PathBuf {
    inbox.join(format!("{}{MARK}{id}", plain_name(conversation)))
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

/// What somebody was killed over.
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
