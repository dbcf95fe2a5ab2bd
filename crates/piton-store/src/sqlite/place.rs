//! Where a conversation's chunks are.
//!
//! Chunks stand in the order of their commits. Most are entered in `places`; those behind
//! `placed.up_to` are not yet, and are looked through. Within one conversation the order of commits
//! is the order of places, so nothing is ever sorted.

use std::collections::BTreeMap;

use piton_core::id::Seq;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};

use super::chunk::Chunk;
use super::column::{signed, text, unsigned};
use super::head::Head;
use crate::CommitName;

/// Bits of a chunk's place that hold its first position.
const SEQ_BITS: u32 = 32;
/// Highest position in a journal.
pub(super) const SEQ_MAX: u64 = (1 << SEQ_BITS) - 1;
/// Chunks that are entered together. More would write less, and make a search for a
/// conversation look through more.
const ENTER_CHUNKS: i64 = 512;

/// The place of the chunk that begins at `first`.
pub(super) fn of(conversation: i64, first: Seq) -> i64 {
    (conversation << SEQ_BITS) | signed(first.0.min(SEQ_MAX))
}

pub(super) fn first_seq(place: i64) -> Seq {
    Seq(unsigned(place) & SEQ_MAX)
}

pub(super) fn conversation(place: i64) -> i64 {
    place >> SEQ_BITS
}

/// Where a journal ends, and the head of its last commit as it is stored.
#[derive(Debug, Default)]
pub(super) struct Last {
    pub(super) end: Seq,
    pub(super) head: String,
}

impl Last {
    /// From a place, a number of records and a status.
    fn read(row: &Row<'_>) -> Result<Self, rusqlite::Error> {
        let (first, records) = (first_seq(row.get(0)?), unsigned(row.get(1)?));
        Ok(Self { end: Seq((first.0 + records).saturating_sub(1)), head: text(row, 2)? })
    }
}

/// Reads the last chunk's head, not its body.
pub(super) fn last(db: &Connection, conversation: i64) -> Result<Last, rusqlite::Error> {
    // In this order: what is entered between the two questions is found by the second.
    let mut last = None;
    for sql in [LAST_RECENT, LAST_ENTERED] {
        if last.is_none() {
            let bounds = [of(conversation, Seq(0)), of(conversation, Seq(SEQ_MAX))];
            last = db.prepare_cached(sql)?.query_row(bounds, Last::read).optional()?;
        }
    }
    Ok(last.unwrap_or_default())
}

const LAST_RECENT: &str = "
    SELECT place, records, status FROM chunks
    WHERE id > (SELECT up_to FROM placed) AND place BETWEEN ?1 AND ?2
    ORDER BY id DESC LIMIT 1";

const LAST_ENTERED: &str = "
    SELECT places.place, records, status FROM places CROSS JOIN chunks ON chunks.id = places.chunk
    WHERE places.place BETWEEN ?1 AND ?2
    ORDER BY places.place DESC LIMIT 1";

/// Where the commit of this name ended; looked for from the end of the journal. To be used within one
/// read transaction.
pub(super) fn commit(
    db: &Connection,
    conversation: i64,
    name: &CommitName,
) -> Result<Option<Seq>, rusqlite::Error> {
    for sql in [HEADS_RECENT, HEADS_ENTERED] {
        let bounds = [of(conversation, Seq(0)), of(conversation, Seq(SEQ_MAX))];
        let mut ask = db.prepare_cached(sql)?;
        let mut rows = ask.query(bounds)?;
        while let Some(row) = rows.next()? {
            let last = Last::read(row)?;
            if Head::decode(&last.head).name == *name {
                return Ok(Some(last.end));
            }
        }
    }
    Ok(None)
}

const HEADS_RECENT: &str = "
    SELECT place, records, status FROM chunks
    WHERE id > (SELECT up_to FROM placed) AND place BETWEEN ?1 AND ?2 AND status IS NOT NULL
    ORDER BY id DESC";

const HEADS_ENTERED: &str = "
    SELECT places.place, records, status FROM places CROSS JOIN chunks ON chunks.id = places.chunk
    WHERE places.place BETWEEN ?1 AND ?2 AND status IS NOT NULL
    ORDER BY places.place DESC";

/// The ends of all conversations that have chunks which are not entered, for callers that want many
/// of them. To be used within one read transaction.
#[derive(Debug)]
pub(super) struct Recent(BTreeMap<i64, Last>);

impl Recent {
    pub(super) fn read(db: &Connection) -> Result<Self, rusqlite::Error> {
        let mut ask = db.prepare_cached(
            "SELECT place, records, status FROM chunks
             WHERE id > (SELECT up_to FROM placed) ORDER BY id",
        )?;
        let rows = ask.query_map([], |row| Ok((conversation(row.get(0)?), Last::read(row)?)))?;
        rows.collect::<Result<_, _>>().map(Self)
    }

    /// As [`last`], each conversation once.
    pub(super) fn last(
        &mut self,
        db: &Connection,
        conversation: i64,
    ) -> Result<Last, rusqlite::Error> {
        self.0.remove(&conversation).map_or_else(|| last(db, conversation), Ok)
    }
}

/// Hands out a conversation's chunks and their checksums, from the one that holds a place, or the
/// last one before it, to the end of the journal or until `visit` has enough. To be used within one
/// read transaction.
pub(super) fn visit<E: From<rusqlite::Error>>(
    db: &Connection,
    conversation: i64,
    wanted: Seq,
    mut visit: impl FnMut(Chunk, i64) -> Result<bool, E>,
) -> Result<(), E> {
    let [first, wanted, end] = [Seq(0), wanted, Seq(SEQ_MAX)].map(|seq| of(conversation, seq));
    for (sql, bounds) in [(ENTERED, &[first, end, wanted][..]), (RECENT, &[first, end][..])] {
        let mut ask = db.prepare_cached(sql)?;
        let mut rows = ask.query(params_from_iter(bounds))?;
        while let Some(row) = rows.next()? {
            let (chunk, checksum) = chunk(row)?;
            if !visit(chunk, checksum)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

const ENTERED: &str = "
    SELECT places.place, records, unpacked, checksum, status, body
    FROM places CROSS JOIN chunks ON chunks.id = places.chunk
    WHERE places.place >= coalesce(
        (SELECT place FROM places WHERE place BETWEEN ?1 AND ?3 ORDER BY place DESC LIMIT 1), ?1)
    AND places.place <= ?2 ORDER BY places.place";

const RECENT: &str = "
    SELECT place, records, unpacked, checksum, status, body FROM chunks
    WHERE id > (SELECT up_to FROM placed) AND place BETWEEN ?1 AND ?2
    ORDER BY id";

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

/// The number of the last commit's last chunk; it rises with every commit to any conversation.
pub(super) fn newest(db: &Connection) -> Result<i64, rusqlite::Error> {
    let mut ask = db.prepare_cached("SELECT coalesce(max(id), 0) FROM chunks")?;
    ask.query_row([], |row| row.get(0))
}

/// The conversations of the chunks behind a number, and where they ended then.
pub(super) fn news(db: &Connection, known: i64) -> Result<Vec<(String, Seq)>, rusqlite::Error> {
    let mut ask = db.prepare_cached(
        "SELECT place, records, status, name
         FROM chunks CROSS JOIN conversations ON conversations.key = chunks.place >> 32
         WHERE chunks.id > ?1 ORDER BY chunks.id",
    )?;
    let rows = ask.query_map([known], |row| Ok((text(row, 3)?, Last::read(row)?.end)))?;
    rows.collect()
}

/// The conversations that have chunks behind a number, with the last of each. Asks for every
/// conversation if the number is old, else looks through what is not entered.
pub(super) fn changed(db: &Connection, after: i64) -> Result<BTreeMap<i64, i64>, rusqlite::Error> {
    let up_to: i64 =
        db.prepare_cached("SELECT up_to FROM placed")?.query_row([], |row| row.get(0))?;
    let mut changed = BTreeMap::new();
    if after < up_to {
        let mut ask = db.prepare_cached(
            "SELECT key, (SELECT chunk FROM places
                          WHERE place BETWEEN key << 32 AND (key << 32) | 0xffffffff
                          ORDER BY place DESC LIMIT 1) AS last
             FROM conversations WHERE last > ?1",
        )?;
        for row in ask.query_map([after], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (conversation, chunk) = row?;
            changed.insert(conversation, chunk);
        }
    }
    let mut ask = db.prepare_cached("SELECT place, id FROM chunks WHERE id > ?1 ORDER BY id")?;
    for row in ask.query_map([after.max(up_to)], |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (place, chunk): (i64, i64) = row?;
        changed.insert(conversation(place), chunk);
    }
    Ok(changed)
}

/// How many chunks are not entered.
pub(super) fn lag(db: &Connection) -> Result<i64, rusqlite::Error> {
    let mut ask = db.prepare_cached(
        "SELECT coalesce((SELECT max(id) FROM chunks), 0) - (SELECT up_to FROM placed)",
    )?;
    ask.query_row([], |row| row.get(0))
}

/// Enters what is not entered, if that is much; gives the lag that remains. Part of the caller's
/// transaction.
pub(super) fn enter(db: &Connection, lag: i64) -> Result<i64, rusqlite::Error> {
    if lag < ENTER_CHUNKS {
        return Ok(lag);
    }
    db.prepare_cached(
        "INSERT INTO places SELECT place, id FROM chunks
         WHERE id > (SELECT up_to FROM placed) ORDER BY place",
    )?
    .execute([])?;
    db.prepare_cached("UPDATE placed SET up_to = (SELECT max(id) FROM chunks)")?.execute([])?;
    Ok(0)
}
