//! Reads: connections of their own, so that readers neither block the writer nor are blocked.
//!
//! What is damaged is named with its conversation and place, and nothing else suffers from it: a
//! list shows what can be shown.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use piton_core::id::{ConversationId, Seq};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::blocking::Lanes;
use super::chunk::Chunk;
use super::column::{signed, text, unsigned};
use super::place::{self, SEQ_MAX};
use super::{connect, failure, list, suspect};
use crate::{CommitName, CommitOutcome, ListPosition, Listed, Page, Record, StoreError};

/// Connections for reading.
const READERS_MAX: usize = 4;
/// Conversations that are listed to prove that a new one can be found: as many as fit on a screen.
const PROVED_ROWS: usize = 64;
/// A few connections that are used in turn.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    lanes: Lanes,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default(), lanes: Lanes::new(READERS_MAX) }
    }

    /// Does something with a connection, on a thread that may wait for a disk.
    pub(super) async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection, &Path) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = Arc::clone(self);
        let work = move || {
            let result = readers.work(work);
            if let Err(error) = &result {
                suspect::note(&readers.path, error);
            }
            result
        };
        self.lanes.work(work).await
    }

    fn work<T>(
        &self,
        work: impl FnOnce(&Connection, &Path) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let db = idle.map_or_else(|| connect::reader(&self.path), Ok)?;
        let result = work(&db, &self.path);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
        result
    }

    /// Closes the idle connections, so that the writer's is the last one and tidies up.
    pub(super) fn close(&self) {
        self.lanes.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Where a journal ends.
pub(super) fn end(
    db: &Connection,
    path: &Path,
    conversation: &ConversationId,
) -> Result<Seq, StoreError> {
    let key = key(db, path, conversation)?;
    place::last(db, key).map(|last| last.end).map_err(|error| failure::database(path, &error))
}

/// What became of a commit.
pub(super) fn outcome(
    db: &Connection,
    path: &Path,
    conversation: &ConversationId,
    name: &CommitName,
) -> Result<CommitOutcome, StoreError> {
    let failed = |error| failure::database(path, &error);
    let moment = db.unchecked_transaction().map_err(failed)?;
    let key = match key(&moment, path, conversation) {
        Err(StoreError::UnknownConversation(_)) => return Ok(CommitOutcome::NotCommitted),
        key => key?,
    };
    let end = place::commit(&moment, key, name).map_err(failed)?;
    Ok(end.map_or(CommitOutcome::NotCommitted, CommitOutcome::Committed))
}

/// The position of the list: the number of the last commit.
pub(super) fn position(db: &Connection, path: &Path) -> Result<ListPosition, StoreError> {
    let newest = place::newest(db).map_err(|error| failure::database(path, &error))?;
    Ok(ListPosition(unsigned(newest)))
}

/// The highest epoch that wrote; `None` before the first append.
pub(super) fn epoch(
    db: &Connection,
    path: &Path,
    conversation: &ConversationId,
) -> Result<Option<u64>, StoreError> {
    let asked = db
        .prepare_cached("SELECT epoch FROM conversations WHERE name = ?1")
        .and_then(|mut ask| ask.query_row([conversation.as_str()], |row| row.get(0)).optional());
    asked.map(|epoch| epoch.map(unsigned)).map_err(|error| failure::database(path, &error))
}

/// Reads records behind a place.
pub(super) fn records(
    db: &Connection,
    path: &Path,
    conversation: &ConversationId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let moment = db.unchecked_transaction().map_err(|error| failure::database(path, &error))?;
    let key = key(&moment, path, conversation)?;
    let wanted = Seq(after.0.min(SEQ_MAX)).next();
    let mut reading = Reading { steps: Steps::of(key), wanted, limit, found: Vec::new() };
    let from = Seq(reading.wanted.0.min(SEQ_MAX));
    let read = match limit {
        0 => Ok(()),
        _ => place::visit(&moment, key, from, |chunk, checksum| reading.take(&chunk, checksum)),
    };
    match read {
        // A conversation is created by its first append, so one without any entry has lost them.
        Ok(()) if reading.steps.ends.is_none() && limit > 0 => {
            Err(MISSING.told(path, conversation, Seq(1)))
        }
        Ok(()) => Ok(reading.found),
        Err(trouble) => Err(trouble.told(path, conversation, reading.wanted)),
    }
}

/// Walks along all of a journal and trusts no row of it. Hands out the bodies.
pub(super) fn walk(
    db: &Connection,
    path: &Path,
    conversation: &ConversationId,
    mut visit: impl FnMut(&str),
) -> Result<(), StoreError> {
    let moment = db.unchecked_transaction().map_err(|error| failure::database(path, &error))?;
    let key = key(&moment, path, conversation)?;
    let mut steps = Steps::of(key);
    let walked: Result<(), Trouble> = place::visit(&moment, key, Seq(1), |chunk, checksum| {
        steps.take(&chunk, checksum, Seq(1))?;
        for record in chunk.decode().map_err(|(seq, what)| Trouble::Entry(seq, what))? {
            visit(&record.body);
        }
        Ok(true)
    });
    match walked {
        Ok(()) if steps.ends.is_none() => Err(MISSING.told(path, conversation, Seq(1))),
        Ok(()) => Ok(()),
        Err(trouble) => {
            let due = steps.ends.map_or(Seq(1), Seq::next);
            Err(trouble.told(path, conversation, due))
        }
    }
}

/// What is said of a journal without entries.
const MISSING: Trouble = Trouble::Entry(Seq(1), "it is missing");

/// A walk along a journal that trusts no row.
struct Steps {
    key: i64,
    /// Where the last row ended.
    ends: Option<Seq>,
}

/// A walk that takes some records along.
struct Reading {
    steps: Steps,
    wanted: Seq,
    limit: usize,
    found: Vec<Record>,
}

enum Trouble {
    Entry(Seq, &'static str),
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl Trouble {
    /// Names it; `seq` is the entry that was due.
    fn told(self, path: &Path, conversation: &ConversationId, seq: Seq) -> StoreError {
        match self {
            Self::Entry(seq, detail) => StoreError::DamagedEntry {
                path: path.to_owned(),
                conversation: conversation.clone(),
                seq,
                detail: detail.to_owned(),
            },
            Self::Database(error) => {
                let mut named = failure::database(path, &error);
                // More than the entry: the table that it stands in.
                if let StoreError::Damaged { detail, .. } = &mut named {
                    *detail = format!("conversation {conversation}, entry {seq}: {detail}");
                }
                named
            }
        }
    }
}

impl Steps {
    fn of(key: i64) -> Self {
        Self { key, ends: None }
    }

    /// Takes the next row, which is the first one or the one behind the last.
    fn take(&mut self, chunk: &Chunk, checksum: i64, wanted: Seq) -> Result<(), Trouble> {
        // The first row may begin before the wanted place; every other one begins where the one
        // before it ended.
        let due = self.ends.map_or(chunk.first, Seq::next);
        if chunk.first != due || (self.ends.is_none() && chunk.first > wanted) {
            return Err(Trouble::Entry(self.ends.map_or(wanted, |_| due), "it is missing"));
        }
        if chunk.checksum(self.key) != checksum {
            return Err(Trouble::Entry(chunk.first, "its checksum is wrong"));
        }
        self.ends = Some(chunk.last());
        Ok(())
    }
}

impl Reading {
    /// Takes what is wanted of the next row; says whether more is wanted.
    fn take(&mut self, chunk: &Chunk, checksum: i64) -> Result<bool, Trouble> {
        self.steps.take(chunk, checksum, self.wanted)?;
        if chunk.last() >= self.wanted {
            let records = chunk.decode().map_err(|(seq, what)| Trouble::Entry(seq, what))?;
            let wanted = records.into_iter().filter(|record| record.seq >= self.wanted);
            self.found.extend(wanted.take(self.limit - self.found.len()));
            self.wanted = chunk.last().next();
        }
        Ok(self.found.len() < self.limit)
    }
}

/// Looks for a conversation in all the ways in which readers will. Part of the caller's transaction.
pub(super) fn prove(
    db: &Connection,
    conversation: &ConversationId,
    key: i64,
) -> Result<(), rusqlite::Error> {
    list::list_within(db, &Page::first(PROVED_ROWS))?;
    find_within(db, conversation.as_str(), PROVED_ROWS)?;
    place::visit(db, key, Seq(1), |_, _| Ok(true))
}

/// One conversation's row.
pub(super) fn status(
    db: &Connection,
    path: &Path,
    conversation: &ConversationId,
) -> Result<Option<Listed>, StoreError> {
    let read = || -> Result<_, rusqlite::Error> {
        let moment = db.unchecked_transaction()?;
        let mut ask = moment.prepare_cached(
            "SELECT key, name, touched, turns, title, workspace FROM conversations
             WHERE name = ?1",
        )?;
        let listed = |row: &Row<'_>| list::listed(row, place::last(&moment, row.get(0)?)?);
        ask.query_row([conversation.as_str()], listed).optional()
    };
    read().map_err(|error| failure::database(path, &error))
}

/// Names that begin with a prefix. Ordered by bytes, so the names that match lie together and the
/// first one that does not ends the search; no pattern, so no letter has a special meaning.
pub(super) fn find(
    db: &Connection,
    path: &Path,
    prefix: &str,
    limit: usize,
) -> Result<Vec<ConversationId>, StoreError> {
    find_within(db, prefix, limit).map_err(|error| failure::database(path, &error))
}

fn find_within(
    db: &Connection,
    prefix: &str,
    limit: usize,
) -> Result<Vec<ConversationId>, rusqlite::Error> {
    let mut ask = db
        .prepare_cached("SELECT name FROM conversations WHERE name >= ?1 ORDER BY name LIMIT ?2")?;
    let names = ask.query_map(params![prefix, signed(limit as u64)], |row| text(row, 0))?;
    let mut found = Vec::new();
    for name in names {
        let name = name?;
        if !name.starts_with(prefix) {
            break;
        }
        found.push(ConversationId::new(name));
    }
    Ok(found)
}

fn key(db: &Connection, path: &Path, conversation: &ConversationId) -> Result<i64, StoreError> {
    let asked = db
        .prepare_cached("SELECT key FROM conversations WHERE name = ?1")
        .and_then(|mut ask| ask.query_row([conversation.as_str()], |row| row.get(0)).optional());
    match asked.map_err(|error| failure::database(path, &error))? {
        Some(key) => Ok(key),
        None => Err(StoreError::UnknownConversation(conversation.clone())),
    }
}
