//! One transaction for everything that waits: checks every append, inserts, commits.
//!
//! Knows one connection and trusts nothing it remembers if another process has written since. An
//! append that is refused leaves nothing and takes nobody with it; a database that fails takes the
//! whole transaction with it and nothing is acknowledged.

use std::collections::HashMap;
use std::path::PathBuf;

use piton_core::id::{ConversationId, Epoch, Seq};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::chunk::Chunk;
use super::column::{signed, unsigned};
use super::place::{self, SEQ_MAX};
use super::room::Room;
use super::{connect, failure, list, migrate, open, orphan, read, suspect};
use crate::record::Place;
use crate::{AppendError, CommitName, Durability, StatusRow, StoreError};

/// Journals whose end is remembered between transactions.
const KNOWN_MAX: usize = 4096;
/// The log is moved into the file when about so many bytes were committed, at a moment when no append
/// waits. More would write a little less to the disk and make recovery slower.
const CHECKPOINT_BYTES: usize = 4 * 1024 * 1024;
/// What an append writes beyond its chunks, in bytes; only for guessing the size of the log.
const APPEND_OVERHEAD_BYTES: usize = 1024;

/// One batch, encoded and ready to be inserted.
#[derive(Debug)]
pub(super) struct Append {
    pub(super) name: CommitName,
    pub(super) conversation: ConversationId,
    pub(super) epoch: Epoch,
    pub(super) expected: Seq,
    pub(super) chunks: Vec<Chunk>,
    /// The status row without what is in the head of the last chunk.
    pub(super) row: StatusRow,
    pub(super) durability: Durability,
}

impl Append {
    fn end(&self) -> Seq {
        self.chunks.last().map_or(self.expected, Chunk::last)
    }

    fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.body.len()).sum()
    }
}

/// What is said about each append of a transaction that took place.
pub(super) type Verdicts = Vec<Result<Seq, AppendError>>;

/// The writer's connection and what it remembers.
#[derive(Debug)]
pub(super) struct Ledger {
    db: Connection,
    path: PathBuf,
    file: (u64, u64),
    hardness: Durability,
    version: Option<i64>,
    known: HashMap<ConversationId, Known>,
    /// Chunks that are not entered in `places`.
    lag: i64,
    /// Whether a conversation that began here was found again.
    proven: bool,
    room: Room,
    logged_bytes: usize,
    /// The last chunk that was inserted.
    newest: i64,
}

#[derive(Debug)]
struct Known {
    key: i64,
    place: Place,
    row: StatusRow,
}

impl Ledger {
    /// Takes over a connection that is set to full durability.
    pub(super) fn new(db: Connection, path: PathBuf) -> Result<Self, StoreError> {
        db.set_prepared_statement_cache_capacity(32);
        let file =
            open::identity(&path).map_err(|error| StoreError::io("look at", &path, error))?;
        let room = Room::of(&path);
        Ok(Self {
            db,
            path,
            file,
            hardness: Durability::Synced,
            version: None,
            known: HashMap::new(),
            lag: 0,
            proven: false,
            room,
            logged_bytes: 0,
            newest: 0,
        })
    }

    /// Commits all appends that fit, in order, in one transaction.
    pub(super) fn commit(&mut self, group: &[Append]) -> Result<Verdicts, StoreError> {
        let committed = self.stage(group);
        if let Err(error) = &committed {
            suspect::note(&self.path, error);
            // What was remembered may speak of rows that are gone again.
            self.known.clear();
            self.version = None;
            if !self.db.is_autocommit() {
                self.run("ROLLBACK").ok();
            }
        }
        committed
    }

    /// Moves the log into the file, if it has grown. For moments when nobody waits. A failure is
    /// not reported: nothing is lost by it, and the next commit says if the disk is at fault.
    pub(super) fn tidy(&mut self) {
        if self.is_untidy() && self.is_in_place() {
            self.logged_bytes = 0;
            self.room.rewind();
            self.db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).ok();
        }
    }

    /// Whether the log should be moved into the file soon.
    pub(super) fn is_untidy(&self) -> bool {
        self.logged_bytes >= CHECKPOINT_BYTES
    }

    /// The number of the last chunk, behind a commit that inserted one.
    pub(super) fn newest(&self) -> u64 {
        unsigned(self.newest)
    }

    /// Lets the database grow to so many pages only.
    pub(super) fn limit_pages(&self, pages: u32) {
        self.db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).ok();
    }

    fn stage(&mut self, group: &[Append]) -> Result<Verdicts, StoreError> {
        self.check_file()?;
        let bytes =
            group.iter().map(|append| append.bytes() + APPEND_OVERHEAD_BYTES).sum::<usize>();
        self.room.make(bytes as u64);
        self.harden(group).map_err(|error| self.failed(&error))?;
        self.run("BEGIN IMMEDIATE").map_err(|error| self.failed(&error))?;
        self.forget_if_stale()?;
        let mut verdicts = Verdicts::with_capacity(group.len());
        for append in group {
            verdicts.push(match self.insert(append) {
                Ok(end) => Ok(end),
                Err(Refusal::Append(refused)) => Err(refused),
                Err(Refusal::Database(error)) => return Err(self.failed(&error)),
            });
        }
        let proven = self.prove(group, &verdicts).map_err(|error| self.failed(&error))?;
        self.lag = place::enter(&self.db, self.lag).map_err(|error| self.failed(&error))?;
        // An fsync that fails here leaves frames in the log that nobody was told about. The next
        // commit overwrites them; should the machine die first, they may come back, as a fact that
        // was true and not acknowledged. The other way round cannot happen.
        self.run("COMMIT").map_err(|error| self.failed(&error))?;
        self.proven |= proven;
        self.logged_bytes += bytes;
        Ok(verdicts)
    }

    /// Looks for the first conversation that begins here as readers will look for it; says whether
    /// there was one. An insert touches so few pages that it succeeds in most damaged databases, and
    /// what was done would never be seen again. Once for a process, before the commit: the damage is
    /// hardly of this moment, and a list of many conversations takes longer than a commit.
    fn prove(&self, group: &[Append], verdicts: &Verdicts) -> Result<bool, rusqlite::Error> {
        if self.proven {
            return Ok(false);
        }
        let begins = |(append, verdict): &(&Append, &Result<Seq, AppendError>)| {
            append.expected == Seq::default() && verdict.is_ok()
        };
        let Some((append, _)) = group.iter().zip(verdicts).find(begins) else { return Ok(false) };
        let Some(known) = self.known.get(&append.conversation) else { return Ok(false) };
        read::prove(&self.db, &append.conversation, known.key).map(|()| true)
    }

    /// Fails closed if the file we have open is no longer the one at our path, or has lost all that was
    /// in it: commits would go into a file that nobody will ever read again.
    fn check_file(&self) -> Result<(), StoreError> {
        if self.is_in_place() {
            return Ok(());
        }
        let detail = "the file was emptied, moved or replaced while it was in use; restart";
        let (path, detail) = (self.path.clone(), detail.to_owned());
        Err(StoreError::Database { path, detail })
    }

    fn is_in_place(&self) -> bool {
        open::identity(&self.path).is_ok_and(|file| file == self.file)
            && orphan::is_filled(&self.path)
    }

    /// Sets how hard the next commit is. Outside of a transaction, or it would have no effect. A
    /// synced commit syncs the whole log, and so hardens the relaxed ones before it.
    fn harden(&mut self, group: &[Append]) -> Result<(), rusqlite::Error> {
        let needed = group.iter().map(|append| append.durability).max();
        let needed = needed.unwrap_or(Durability::Synced);
        if needed != self.hardness {
            let level = match needed {
                Durability::Relaxed => "NORMAL",
                Durability::Synced => "FULL",
            };
            self.db.pragma_update(None, "synchronous", level)?;
            self.hardness = needed;
        }
        Ok(())
    }

    /// Forgets everything if another connection has written since the last transaction, and makes
    /// sure that it was not a newer build.
    fn forget_if_stale(&mut self) -> Result<(), StoreError> {
        let version = self
            .db
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut ask| ask.query_row([], |row| row.get(0)))
            .map_err(|error| self.failed(&error))?;
        if self.version != Some(version) {
            migrate::format(&self.db, &self.path)?;
            self.known.clear();
            self.lag = place::lag(&self.db).map_err(|error| self.failed(&error))?;
            self.version = Some(version);
        }
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
        }
        Ok(())
    }

    fn insert(&mut self, append: &Append) -> Result<Seq, Refusal> {
        if !self.known.contains_key(&append.conversation)
            && let Some(known) = load(&self.db, &append.conversation)?
        {
            self.known.insert(append.conversation.clone(), known);
        }
        let known = self.known.get_mut(&append.conversation);
        let place = known.as_ref().map_or_else(Place::default, |known| known.place);
        place.admit(&append.conversation, append.epoch, append.expected)?;
        if append.end().0 > SEQ_MAX {
            return Err(full(&self.path, "the journal is as long as a journal can be"));
        }
        let after = Place { epoch: append.epoch, end: append.end() };
        let key = if let Some(known) = known {
            if known.row != append.row || known.place.epoch != append.epoch {
                update(&self.db, known.key, append)?;
                known.row = append.row.clone();
            }
            known.place = after;
            known.key
        } else {
            let key = create(&self.db, append)?;
            let known = Known { key, place: after, row: append.row.clone() };
            self.known.insert(append.conversation.clone(), known);
            key
        };
        for chunk in &append.chunks {
            self.newest = insert_chunk(&self.db, key, chunk)?;
            self.lag += 1;
        }
        Ok(append.end())
    }

    fn run(&self, sql: &str) -> Result<(), rusqlite::Error> {
        self.db.prepare_cached(sql)?.execute([]).map(drop)
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        failure::database(&self.path, error)
    }
}

impl Drop for Ledger {
    /// The last one out moves the log into the file and removes it. Not where the file is gone: then
    /// the log is all that is left.
    fn drop(&mut self) {
        if !self.is_in_place() {
            connect::keep_log(&self.db).ok();
        }
    }
}

/// Why one append was not inserted, and whom that concerns.
enum Refusal {
    /// This append only.
    Append(AppendError),
    /// The whole transaction.
    Database(rusqlite::Error),
}

impl From<AppendError> for Refusal {
    fn from(refused: AppendError) -> Self {
        Self::Append(refused)
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

fn full(path: &std::path::Path, detail: &str) -> Refusal {
    let (path, detail) = (path.to_owned(), detail.to_owned());
    Refusal::Append(StoreError::Database { path, detail }.into())
}

fn load(db: &Connection, conversation: &ConversationId) -> Result<Option<Known>, rusqlite::Error> {
    let mut ask = db.prepare_cached(
        "SELECT key, epoch, touched, turns, title, workspace FROM conversations WHERE name = ?1",
    )?;
    let found = ask.query_row([conversation.as_str()], |row| {
        let epoch = Epoch(unsigned(row.get(1)?));
        let shown = list::status_row(row, 2)?;
        Ok(Known { key: row.get(0)?, place: Place { epoch, end: Seq::default() }, row: shown })
    });
    let Some(mut known) = found.optional()? else { return Ok(None) };
    known.place.end = place::last(db, known.key)?.end;
    Ok(Some(known))
}

fn create(db: &Connection, append: &Append) -> Result<i64, rusqlite::Error> {
    let mut insert = db.prepare_cached(
        "INSERT INTO conversations (name, epoch, touched, turns, title, workspace)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let row = &append.row;
    insert.insert(params![
        append.conversation.as_str(),
        signed(append.epoch.0),
        signed(row.touched.0),
        row.turns,
        row.title,
        row.workspace
    ])
}

fn update(db: &Connection, key: i64, append: &Append) -> Result<(), rusqlite::Error> {
    let mut update = db.prepare_cached(
        "UPDATE conversations SET epoch = ?2, touched = ?3, turns = ?4, title = ?5, workspace = ?6
         WHERE key = ?1",
    )?;
    let row = &append.row;
    let epoch = signed(append.epoch.0);
    let touched = signed(row.touched.0);
    update.execute(params![key, epoch, touched, row.turns, row.title, row.workspace]).map(drop)
}

fn insert_chunk(db: &Connection, key: i64, chunk: &Chunk) -> Result<i64, rusqlite::Error> {
    let mut insert = db.prepare_cached(
        "INSERT INTO chunks (place, records, unpacked, checksum, status, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let place = place::of(key, chunk.first);
    let records = signed(chunk.records);
    let unpacked = signed(chunk.unpacked as u64);
    let checksum = chunk.checksum(key);
    insert.insert(params![place, records, unpacked, checksum, chunk.status, chunk.body])
}
