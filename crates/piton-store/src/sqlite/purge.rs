//! Taking conversations away for good: their entries, letters, and the blobs that no other one has.
//!
//! Everything else here only adds. So this is done with the writers' places of the conversations in
//! hand, and while nobody writes to any other one: a writer might keep a blob at this moment that only a
//! conversation on its way out has. The order makes a process that dies in between harmless: entries
//! go first, so nothing ever speaks of a blob that is gone.
//!
//! Deleted rows leave their bytes in free pages, in the log, and in the gaps of pages that are in use.
//! So the whole database is written anew, and the log is emptied.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use piton_core::event::BlobRef;
use piton_core::id::{ConversationId, Digest, Seq};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::home::Home;
use super::place::{self, SEQ_MAX};
use super::search::SearchIndex;
use super::{blob, column, connect, failure, gone, letter, lock, read};
use crate::StoreError;

/// How a blob is called that is about to go.
const GOING: &str = "going";

/// What was taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// How many conversations.
    pub conversations: usize,
    /// How many blobs.
    pub blobs: usize,
    /// How many letters.
    pub letters: usize,
    /// Whether the log could not be emptied, because another process reads: what was taken away lies in
    /// it until that process has gone and somebody purges again.
    pub log_is_read: bool,
}

/// Why nothing was taken away.
#[derive(Debug, thiserror::Error)]
pub enum PurgeError {
    /// Somebody writes to another conversation.
    #[error("another process works on a conversation of this home")]
    Writers,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes conversations away. The caller holds the writer's place of each.
pub(super) fn purge(home: &Home, names: &[ConversationId]) -> Result<Purged, PurgeError> {
    let path = &home.database;
    let failed = |error| failure::database(path, &error);
    let ours: Vec<_> = names.iter().map(lock::file_name).collect();
    if lock::any_other_held(&home.locks, &ours)? {
        return Err(PurgeError::Writers);
    }
    let mut db = connect::connect(path)?;
    let mut going = blobs_of(&db, path, names)?;
    for other in others(&db, names).map_err(failed)? {
        let walked = read::walk(&db, path, &other, |body| going.retain(|it| !has(body, it)));
        match walked {
            // Nobody knows what it speaks of: everything is kept.
            Err(StoreError::DamagedEntry { .. }) => going.clear(),
            walked => walked?,
        }
    }
    let letters = letters(&home.inbox, names, &mut going)?;
    let mut purged = Purged { letters: letters.len(), ..Purged::default() };
    purged.conversations = delete(&mut db, names).map_err(failed)?;
    for letter in letters {
        remove(&letter)?;
    }
    purged.blobs = remove_blobs(home, &going, &ours)?;
    // It has what was said.
    if let Some(home) = path.parent() {
        SearchIndex::remove(home)?;
    }
    purged.log_is_read = !write_anew(&db).map_err(failed)?;
    Ok(purged)
}

/// The blobs that conversations speak of.
fn blobs_of(
    db: &Connection,
    path: &Path,
    names: &[ConversationId],
) -> Result<BTreeSet<Digest>, StoreError> {
    let mut found = BTreeSet::new();
    for name in names {
        match read::walk(db, path, name, |body| found.extend(BlobRef::digests_in(body))) {
            // A damaged one goes like any other; what only its damaged part has stays.
            Err(StoreError::DamagedEntry { .. } | StoreError::UnknownConversation(_)) => {}
            walked => walked?,
        }
    }
    Ok(found)
}

fn has(body: &str, digest: &Digest) -> bool {
    body.contains(digest.as_str())
}

fn others(
    db: &Connection,
    names: &[ConversationId],
) -> Result<Vec<ConversationId>, rusqlite::Error> {
    let mut ask = db.prepare("SELECT name FROM conversations ORDER BY key")?;
    let all = ask.query_map([], |row| Ok(ConversationId::new(column::text(row, 0)?)))?;
    let mut all: Vec<_> = all.collect::<Result<_, _>>()?;
    all.retain(|name| !names.contains(name));
    Ok(all)
}

/// The letters to conversations. Blobs that letters to others speak of are not going.
fn letters(
    inbox: &Path,
    names: &[ConversationId],
    going: &mut BTreeSet<Digest>,
) -> Result<Vec<PathBuf>, StoreError> {
    let plain: Vec<_> = names.iter().map(lock::plain_name).collect();
    let mut ours = Vec::new();
    let found = letter::names(inbox).map_err(|error| StoreError::io("read", inbox, error))?;
    for name in found {
        let path = inbox.join(&name);
        let to = letter::arrived(&name).map(|(conversation, _)| conversation.to_owned());
        if to.is_some_and(|to| plain.contains(&to)) {
            ours.push(path);
        } else if let Ok(body) = fs::read_to_string(&path) {
            going.retain(|digest| !has(&body, digest));
        }
    }
    Ok(ours)
}

/// Takes the entries and the rows away; says of how many conversations.
fn delete(db: &mut Connection, names: &[ConversationId]) -> Result<usize, rusqlite::Error> {
    let writing = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (mut count, mut numbers) = (0, Vec::new());
    for name in names {
        let key: Option<i64> = writing
            .query_row("SELECT key FROM conversations WHERE name = ?1", [name.as_str()], |row| {
                row.get(0)
            })
            .optional()?;
        let Some(key) = key else { continue };
        let bounds = [place::of(key, Seq(0)), place::of(key, Seq(SEQ_MAX))];
        for sql in [
            "SELECT id FROM chunks WHERE id > (SELECT up_to FROM placed) AND place BETWEEN ?1 AND ?2",
            "SELECT chunk FROM places WHERE place BETWEEN ?1 AND ?2",
        ] {
            let mut ask = writing.prepare(sql)?;
            for number in ask.query_map(bounds, |row| row.get(0))? {
                numbers.push(number?);
            }
        }
        for sql in [
            "DELETE FROM chunks WHERE id > (SELECT up_to FROM placed) AND place BETWEEN ?1 AND ?2",
            "DELETE FROM chunks WHERE id IN
                 (SELECT chunk FROM places WHERE place BETWEEN ?1 AND ?2)",
            "DELETE FROM places WHERE place BETWEEN ?1 AND ?2",
        ] {
            writing.execute(sql, bounds)?;
        }
        count += writing.execute("DELETE FROM conversations WHERE key = ?1", [key])?;
    }
    gone::note(&writing, numbers)?;
    writing.commit()?;
    Ok(count)
}

/// Takes blobs away, unless somebody began to write meanwhile, who may be about to speak of one: whoever
/// comes later does not find it, and keeps it anew.
fn remove_blobs(
    home: &Home,
    going: &BTreeSet<Digest>,
    ours: &[String],
) -> Result<usize, StoreError> {
    forget_going(&home.blobs)?;
    let mut aside = Vec::new();
    for digest in going {
        let path = blob::path(&home.blobs, digest)?;
        let to = path.with_extension(GOING);
        match fs::rename(&path, &to) {
            Ok(()) => aside.push((path, to)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("move", &path, error)),
        }
    }
    let is_kept = lock::any_other_held(&home.locks, ours)?;
    for (path, to) in &aside {
        if is_kept {
            fs::rename(to, path).map_err(|error| StoreError::io("move", to, error))?;
        } else {
            remove(to)?;
        }
    }
    Ok(if is_kept { 0 } else { aside.len() })
}

/// Removes what a purge that was killed had put aside.
fn forget_going(blobs: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::io("read", blobs, error);
    for directory in fs::read_dir(blobs).map_err(failed)? {
        let inside = fs::read_dir(directory.map_err(failed)?.path()).into_iter().flatten();
        for path in inside.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|end| end == GOING) {
                remove(&path)?;
            }
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Writes the whole database anew and empties the log; says whether the log is empty.
fn write_anew(db: &Connection) -> Result<bool, rusqlite::Error> {
    db.execute_batch("VACUUM")?;
    let busy: i64 = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(busy == 0)
}
