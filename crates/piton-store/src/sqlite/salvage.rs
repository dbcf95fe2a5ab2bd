//! What can be read of a damaged database, found page by page, without the tree that `SQLite` needs.
//!
//! Every chunk carries a sum, so what is found is certain. What is lost shows in the numbers of chunks:
//! they are given one after the other, over all conversations, and a number that is not there was a
//! commit. So a conversation is whole for certain if its last chunk is behind the last number that is
//! missing. Of the others nobody can say whether their end is there. Numbers that a purge took away are
//! noted (see `gone`), and not missing.

mod image;
mod rows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use piton_core::id::{ConversationId, Seq};

use self::image::Image;
use self::rows::{Cell, Row, Value, last_leaf, row_at, rows};
use super::chunk::Chunk;
use super::gone::{self, Numbers};
use super::place;
use crate::{Record, StoreError};

/// Pages between two signs of life.
const STEP: u32 = 4_096;

/// What can be read of a database.
#[derive(Debug)]
pub struct Salvage {
    image: Image,
    path: PathBuf,
    /// The conversations of which something was found.
    pub conversations: Vec<Salvaged>,
    /// Conversations that are known by their names only: no entry of them was found.
    pub lost: Vec<ConversationId>,
    /// Whether the file says that it is ours, or has anything of ours.
    pub is_ours: bool,
    /// How many commits are missing, at least.
    pub chunks_lost: u64,
    /// Whether the newest commit was found for certain.
    pub end_is_certain: bool,
}

/// A conversation of which something was found.
#[derive(Debug)]
pub struct Salvaged {
    /// Its name, if that was found.
    pub conversation: Option<ConversationId>,
    /// A number that tells it from others.
    pub key: i64,
    /// How much of it there is.
    pub extent: Extent,
    /// The last entry that there is.
    pub end: Seq,
    chunks: Vec<Cell>,
}

/// How much there is of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Entries may be missing at its end.
    EndInDoubt,
    /// An entry is missing; of what follows it nothing is given.
    Cut,
}

/// What a look at all pages found.
#[derive(Default)]
struct Found {
    names: BTreeMap<i64, (i64, ConversationId)>,
    chunks: BTreeMap<i64, Place>,
    /// Numbers that a purge took away.
    gone: Vec<(i64, i64)>,
    root: Option<u32>,
}

/// Where a chunk is: in its conversation, and in the file.
struct Place {
    conversation: i64,
    first: Seq,
    last: Seq,
    cell: Cell,
}

/// Looks at every page of a database. Changes nothing, and waits for nobody: no other process may write
/// to it. What was read so far is told now and then.
pub fn salvage(database: &Path, progress: &mut dyn FnMut(u32, u32)) -> Result<Salvage, StoreError> {
    let failed = |error| StoreError::io("read", database, error);
    let image = Image::open(database).map_err(failed)?;
    let mut found = Found::default();
    for page in 1..=image.count {
        for (number, row) in rows(&image, page).into_iter().flatten().enumerate() {
            if let Some(row) = row {
                found.take(row, Cell { page, number });
            }
        }
        if page.is_multiple_of(STEP) {
            progress(page, image.count);
        }
    }
    Ok(found.put_together(image, database))
}

impl Salvage {
    /// The records of a conversation, in order.
    pub fn records(&self, of: &Salvaged) -> Result<Vec<Record>, StoreError> {
        self.read(&of.chunks)
    }

    /// Its first record, which says where it comes from.
    pub fn first(&self, of: &Salvaged) -> Option<Record> {
        let first = of.chunks.get(..1).map(|cells| self.read(cells));
        first?.ok()?.into_iter().next()
    }

    fn read(&self, cells: &[Cell]) -> Result<Vec<Record>, StoreError> {
        let mut records = Vec::new();
        for cell in cells {
            let chunk = row_at(&self.image, *cell).and_then(chunk).map(|(_, chunk)| chunk);
            let read = chunk.map(|chunk| chunk.decode());
            match read {
                Some(Ok(read)) => records.extend(read),
                Some(Err((seq, detail))) => {
                    return Err(self.gone(format!("entry {}: {detail}", seq.0)));
                }
                None => return Err(self.gone("it changed while it was read".into())),
            }
        }
        Ok(records)
    }

    fn gone(&self, detail: String) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), detail }
    }
}

impl Found {
    fn take(&mut self, row: Row, cell: Cell) {
        let id = row.id;
        if let [Value::Text(kind), Value::Text(name), _, Value::Integer(root), _] = &*row.values {
            if kind == "table" && name == "chunks" {
                self.root = u32::try_from(*root).ok();
            }
        } else if let [
            Value::Null,
            Value::Text(name),
            Value::Integer(epoch),
            Value::Integer(_),
            Value::Integer(_),
            Value::Text(_),
            Value::Text(_),
        ] = &*row.values
        {
            // Of a row that was written anew, an older copy may still lie on a page.
            let known = self.names.get(&id).is_some_and(|(known, _)| epoch < known);
            if !known {
                self.names.insert(id, (*epoch, ConversationId::new(name.as_str())));
            }
        } else if let Some((conversation, chunk)) = chunk(row) {
            let (first, last) = (chunk.first, chunk.last());
            if conversation == gone::NOBODY {
                self.gone.extend(Numbers::read(&chunk.body));
            }
            self.chunks.insert(id, Place { conversation, first, last, cell });
        }
    }

    fn put_together(self, image: Image, path: &Path) -> Salvage {
        let there = self.chunks.keys().map(|id| (*id, *id));
        let known = Numbers::of(there.chain(self.gone.iter().copied()).collect());
        let (chunks_lost, last_lost) = (known.missing(), known.last_missing());
        let end_is_certain = self.end_is_certain(&image);
        let mut conversations: BTreeMap<i64, Vec<(i64, &Place)>> = BTreeMap::new();
        // A purge leaves a chunk that is of no conversation.
        for (id, place) in
            self.chunks.iter().filter(|(_, place)| place.conversation != gone::NOBODY)
        {
            conversations.entry(place.conversation).or_default().push((*id, place));
        }
        let lost = self.names.iter().filter(|(key, _)| !conversations.contains_key(key));
        let lost = lost.map(|(_, (_, name))| name.clone()).collect();
        let is_ours = image.is_ours() || !self.chunks.is_empty() || !self.names.is_empty();
        let conversations = conversations.into_iter().map(|(key, chunks)| {
            let last = chunks.last().map_or(0, |(id, _)| *id);
            let is_behind = end_is_certain && last_lost.is_none_or(|lost| lost < last);
            let InOrder { chunks, end, is_cut } = in_order(chunks);
            let extent = match (is_cut, is_behind) {
                (true, _) => Extent::Cut,
                (false, true) => Extent::Whole,
                (false, false) => Extent::EndInDoubt,
            };
            let conversation = self.names.get(&key).map(|(_, name)| name.clone());
            Salvaged { conversation, key, extent, end, chunks }
        });
        let conversations = conversations.collect();
        let path = path.to_owned();
        Salvage { image, path, conversations, lost, is_ours, chunks_lost, end_is_certain }
    }

    /// Whether every row of the last leaf of the table was found, and the way to it is whole.
    fn end_is_certain(&self, image: &Image) -> bool {
        let leaf = self.root.and_then(|root| last_leaf(image, root));
        let rows = leaf.and_then(|leaf| rows(image, leaf)).unwrap_or_default();
        let is_known = |row: Option<Row>| row.is_some_and(|row| self.chunks.contains_key(&row.id));
        !rows.is_empty() && rows.into_iter().all(is_known)
    }
}

/// The chunks of a conversation as far as each follows the one before it.
struct InOrder {
    chunks: Vec<Cell>,
    /// The last entry of them.
    end: Seq,
    /// Whether there are more, behind one that is missing.
    is_cut: bool,
}

fn in_order(mut chunks: Vec<(i64, &Place)>) -> InOrder {
    chunks.sort_by_key(|(id, place)| (place.first, *id));
    let mut kept = InOrder { chunks: Vec::new(), end: Seq(0), is_cut: false };
    for (_, place) in &chunks {
        if place.first != kept.end.next() {
            kept.is_cut = true;
            break;
        }
        kept.end = place.last;
        kept.chunks.push(place.cell);
    }
    kept
}

/// A row as a chunk with its conversation, if it is one and its sum holds.
fn chunk(row: Row) -> Option<(i64, Chunk)> {
    let [
        Value::Null,
        Value::Integer(place),
        Value::Integer(records),
        Value::Integer(unpacked),
        Value::Integer(checksum),
        status,
        Value::Blob(body),
    ] = <[Value; 7]>::try_from(row.values).ok()?
    else {
        return None;
    };
    let status = match status {
        Value::Null => None,
        Value::Text(status) => Some(status),
        Value::Integer(_) | Value::Blob(_) | Value::Other => return None,
    };
    let chunk = Chunk {
        first: place::first_seq(place),
        records: u64::try_from(records).ok()?,
        unpacked: usize::try_from(unpacked).ok()?,
        status,
        body,
    };
    let conversation = place::conversation(place);
    let is_whole = chunk.checksum(conversation) == checksum
        || gone::is_old_note(conversation, &chunk, checksum);
    is_whole.then_some((conversation, chunk))
}
