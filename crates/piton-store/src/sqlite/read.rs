//! Reads: connections of their own, so that readers neither block the writer nor are blocked.
//!
//! What is damaged is named with its conversation and place, and nothing else suffers from it: a
//! list shows what can be shown.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use piton_core::id::{ConversationId, Seq, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use tokio::sync::Semaphore;

use super::chunk::Chunk;
use super::{failure, open};
use crate::{Listed, Page, Record, StatusRow, StoreError};

/// Connections for reading.
const READERS_MAX: usize = 4;
/// Bits of a chunk's key that hold the position.
const SEQ_BITS: u32 = 32;
/// Highest position in a journal.
pub(super) const SEQ_MAX: u64 = (1 << SEQ_BITS) - 1;

/// A few connections that are used in turn.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        let permits = Arc::new(Semaphore::new(READERS_MAX));
        Self { path, idle: Mutex::default(), permits }
    }

    /// Does something with a connection, on a thread that may wait for a disk.
    pub(super) async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection, &Path) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        let readers = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let idle = readers.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let db = idle.map_or_else(|| open::reader(&readers.path), Ok)?;
            let result = work(&db, &readers.path);
            readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            drop(permit);
            result
        });
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Closes the idle connections, so that the writer's is the last one and tidies up.
    pub(super) fn close(&self) {
        self.permits.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Where a journal ends and what its last commit says about the open turn.
#[derive(Debug, Default)]
pub(super) struct Last {
    pub(super) end: Seq,
    pub(super) status: String,
}

/// Reads the last chunk's head, not its body.
pub(super) fn last(db: &Connection, key: i64) -> Result<Last, rusqlite::Error> {
    let mut ask = db.prepare_cached(
        "SELECT key, records, status FROM chunks WHERE key BETWEEN ?1 AND ?2
         ORDER BY key DESC LIMIT 1",
    )?;
    let bounds = [chunk_key(key, Seq(0)), chunk_key(key, Seq(SEQ_MAX))];
    let found = ask.query_row(bounds, |row| {
        let (first, records) = (first_seq(row.get(0)?), unsigned(row.get(1)?));
        Ok(Last { end: Seq((first.0 + records).saturating_sub(1)), status: text(row, 2)? })
    });
    Ok(found.optional()?.unwrap_or_default())
}

/// Where a journal ends.
pub(super) fn end(
    db: &Connection,
    path: &Path,
    conversation: &ConversationId,
) -> Result<Seq, StoreError> {
    let key = key(db, path, conversation)?;
    last(db, key).map(|last| last.end).map_err(|error| failure::database(path, &error))
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
    let key = key(db, path, conversation)?;
    let damaged = |(seq, what): (Seq, &str)| StoreError::DamagedEntry {
        path: path.to_owned(),
        conversation: conversation.clone(),
        seq,
        detail: what.to_owned(),
    };
    let mut wanted = Seq(after.0.min(SEQ_MAX)).next();
    let failed = |error: &rusqlite::Error, at: Seq| {
        let named = failure::database(path, error);
        let is_damage = matches!(named, StoreError::Damaged { .. });
        if is_damage { damaged((at, &error.to_string())) } else { named }
    };
    let mut found = Vec::new();
    let mut ask = db.prepare_cached(CHUNKS_FROM).map_err(|error| failed(&error, wanted))?;
    let bounds = [
        chunk_key(key, Seq(0)),
        chunk_key(key, Seq(wanted.0.min(SEQ_MAX))),
        chunk_key(key, Seq(SEQ_MAX)),
    ];
    let mut rows = ask.query(bounds).map_err(|error| failed(&error, wanted))?;
    let mut ends = None;
    while found.len() < limit
        && let Some(row) = rows.next().map_err(|error| failed(&error, wanted))?
    {
        let (chunk, checksum) = chunk(row).map_err(|error| failed(&error, wanted))?;
        // The first row may begin before the wanted place; every other one begins where the one
        // before it ended.
        let due = ends.map_or(chunk.first, Seq::next);
        if chunk.first != due || (ends.is_none() && chunk.first > wanted) {
            return Err(damaged((ends.map_or(wanted, |_| due), "it is missing")));
        }
        if chunk.checksum(key) != checksum {
            return Err(damaged((chunk.first, "its checksum is wrong")));
        }
        ends = Some(chunk.last());
        let records = chunk.decode().map_err(damaged)?;
        for record in records.into_iter().filter(|record| record.seq >= wanted) {
            if found.len() < limit {
                found.push(record);
            }
        }
        wanted = wanted.max(chunk.last().next());
    }
    // A conversation is created by its first append, so one without any entry has lost them.
    if ends.is_none() && limit > 0 {
        return Err(damaged((Seq(1), "it is missing")));
    }
    Ok(found)
}

/// From the chunk that holds a place, or the last one before it, to the end of the journal.
const CHUNKS_FROM: &str = "
    SELECT key, records, unpacked, checksum, status, body FROM chunks
    WHERE key >= coalesce(
        (SELECT key FROM chunks WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC LIMIT 1), ?1)
    AND key <= ?3 ORDER BY key";

fn chunk(row: &Row<'_>) -> Result<(Chunk, i64), rusqlite::Error> {
    let is_last = row.get_ref(4)? != ValueRef::Null;
    let status = if is_last { Some(text(row, 4)?) } else { None };
    let chunk = Chunk {
        first: first_seq(row.get(0)?),
        records: unsigned(row.get(1)?),
        unpacked: usize::try_from(unsigned(row.get(2)?)).unwrap_or(usize::MAX),
        status,
        body: row.get(5)?,
    };
    Ok((chunk, row.get(3)?))
}

/// One part of the list and the number of all conversations, from one moment. Holders are left
/// open: they are not in the database.
pub(super) fn list(
    db: &Connection,
    path: &Path,
    page: Page,
) -> Result<(Vec<Listed>, usize), StoreError> {
    let read = || -> Result<_, rusqlite::Error> {
        let moment = db.unchecked_transaction()?;
        let total: i64 = moment
            .prepare_cached("SELECT count(*) FROM conversations")?
            .query_row([], |row| row.get(0))?;
        let mut ask = moment.prepare_cached(
            "SELECT key, name, touched, turns, title, workspace FROM conversations
             ORDER BY touched DESC, key DESC LIMIT ?1 OFFSET ?2",
        )?;
        let (limit, skip) = (signed(page.limit as u64), signed(page.skip as u64));
        let rows = ask.query_map(params![limit, skip], |row| listed(&moment, row))?;
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        Ok((rows, usize::try_from(total).unwrap_or(0)))
    };
    read().map_err(|error| failure::database(path, &error))
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
        ask.query_row([conversation.as_str()], |row| listed(&moment, row)).optional()
    };
    read().map_err(|error| failure::database(path, &error))
}

fn listed(db: &Connection, row: &Row<'_>) -> Result<Listed, rusqlite::Error> {
    let last = last(db, row.get(0)?)?;
    let shown = StatusRow { status: last.status, ..status_row(row, 2)? };
    let conversation = ConversationId::new(text(row, 1)?);
    Ok(Listed { conversation, end: last.end, row: shown, holder: None })
}

/// Names that begin with a prefix. Ordered by bytes, so the names that match lie together and the
/// first one that does not ends the search; no pattern, so no letter has a special meaning.
pub(super) fn find(
    db: &Connection,
    path: &Path,
    prefix: &str,
    limit: usize,
) -> Result<Vec<ConversationId>, StoreError> {
    let read = || -> Result<_, rusqlite::Error> {
        let mut ask = db.prepare_cached(
            "SELECT name FROM conversations WHERE name >= ?1 ORDER BY name LIMIT ?2",
        )?;
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
    };
    read().map_err(|error| failure::database(path, &error))
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

/// What a list shows, from four columns; the status is elsewhere.
pub(super) fn status_row(row: &Row<'_>, first: usize) -> Result<StatusRow, rusqlite::Error> {
    Ok(StatusRow {
        touched: Timestamp(unsigned(row.get(first)?)),
        turns: u32::try_from(unsigned(row.get(first + 1)?)).unwrap_or(u32::MAX),
        title: text(row, first + 2)?,
        workspace: text(row, first + 3)?,
        status: String::new(),
    })
}

/// Text for people. A flipped bit in a title must not hide the conversation, let alone the list.
fn text(row: &Row<'_>, column: usize) -> Result<String, rusqlite::Error> {
    let bytes = row.get_ref(column)?.as_bytes_or_null()?.unwrap_or_default();
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// The key of the chunk that begins at `first`.
pub(super) fn chunk_key(conversation: i64, first: Seq) -> i64 {
    (conversation << SEQ_BITS) | signed(first.0.min(SEQ_MAX))
}

fn first_seq(chunk_key: i64) -> Seq {
    Seq(unsigned(chunk_key) & SEQ_MAX)
}

/// `SQLite`'s numbers have a sign, ours have none. No honest number is too large for it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
