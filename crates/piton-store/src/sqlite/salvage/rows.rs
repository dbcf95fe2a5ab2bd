//! Rows of tables, found on the pages that hold them. The tree above those pages is not needed.
//!
//! Knows the form of a leaf and of a record (<https://www.sqlite.org/fileformat2.html#b_tree_pages>).
//! Whatever does not have that form is no row.

use super::image::{Image, Page};

/// The kinds of pages of a table: inner pages lead to leaves, leaves hold rows.
const INNER: u8 = 0x05;
const LEAF: u8 = 0x0d;
/// Bytes of the head of a leaf.
const LEAF_HEAD_BYTES: usize = 8;
/// Largest row that is believed, in bytes.
const ROW_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
    /// Of a kind that no table of ours has.
    Other,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) values: Vec<Value>,
}

/// Where a row is: its page, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) page: u32,
    pub(super) number: usize,
}

/// The rows of a page, each with its number there; what is none is left out. `None` if it is no leaf.
pub(super) fn rows(image: &Image, page: u32) -> Option<Vec<Option<Row>>> {
    let leaf = image.page(page)?;
    let cells = cells(&leaf)?;
    Some((0..cells).map(|number| row(image, &leaf, number)).collect())
}

/// One row.
pub(super) fn row_at(image: &Image, cell: Cell) -> Option<Row> {
    let leaf = image.page(cell.page)?;
    cells(&leaf).filter(|cells| cell.number < *cells)?;
    row(image, &leaf, cell.number)
}

/// The last leaf of a table, found from its root; `None` if the way there is damaged.
pub(super) fn last_leaf(image: &Image, root: u32) -> Option<u32> {
    let mut number = root;
    // A tree is never this high; a damaged one may lead in a circle.
    for _ in 0..64 {
        let page = image.page(number)?;
        match *page.bytes.get(page.begin)? {
            LEAF => return Some(number),
            INNER => number = u32::from_be_bytes(array(&page.bytes, page.begin + 8)?),
            _ => return None,
        }
    }
    None
}

/// How many cells a leaf has; `None` if it is none.
fn cells(page: &Page) -> Option<usize> {
    if *page.bytes.get(page.begin)? != LEAF {
        return None;
    }
    let cells = usize::from(u16::from_be_bytes(array(&page.bytes, page.begin + 3)?));
    let pointers_end = page.begin + LEAF_HEAD_BYTES + 2 * cells;
    (pointers_end <= page.bytes.len()).then_some(cells)
}

fn row(image: &Image, leaf: &Page, number: usize) -> Option<Row> {
    let pointer = leaf.begin + LEAF_HEAD_BYTES + 2 * number;
    let at = usize::from(u16::from_be_bytes(array(&leaf.bytes, pointer)?));
    let mut rest = leaf.bytes.get(at..)?;
    let length = usize::try_from(varint(&mut rest)?).ok()?;
    let id = varint(&mut rest)?;
    if ROW_BYTES_MAX < length {
        return None;
    }
    Some(Row { id, values: values(&payload(image, rest, length)?)? })
}

/// All bytes of a row: those on its leaf, and those on the pages that it goes on on.
fn payload(image: &Image, here: &[u8], length: usize) -> Option<Vec<u8>> {
    let usable = image.page_bytes();
    let most = usable - 35;
    let local = if length <= most {
        length
    } else {
        let least = (usable - 12) * 32 / 255 - 23;
        let even = least + (length - least) % (usable - 4);
        if even <= most { even } else { least }
    };
    let mut bytes = here.get(..local)?.to_vec();
    let mut next = if local < length { u32::from_be_bytes(array(here, local)?) } else { 0 };
    while bytes.len() < length {
        let page = image.page(next).filter(|_| next != 0)?;
        next = u32::from_be_bytes(array(&page.bytes, 0)?);
        let left = length - bytes.len();
        bytes.extend(page.bytes.get(4..)?.iter().take(left));
    }
    Some(bytes)
}

/// The values of a record.
fn values(record: &[u8]) -> Option<Vec<Value>> {
    let mut kinds = record;
    let head = usize::try_from(varint(&mut kinds)?).ok()?;
    let kinds_bytes = head.checked_sub(record.len() - kinds.len())?;
    let (mut kinds, mut rest) = (kinds.get(..kinds_bytes)?, record.get(head..)?);
    let mut values = Vec::new();
    while !kinds.is_empty() {
        let kind = varint(&mut kinds)?;
        values.push(value(kind, &mut rest)?);
    }
    rest.is_empty().then_some(values)
}

fn value(kind: i64, rest: &mut &[u8]) -> Option<Value> {
    let length = match kind {
        0 | 8 | 9 => 0,
        1..=4 => usize::try_from(kind).ok()?,
        5 => 6,
        6 | 7 => 8,
        12.. => usize::try_from((kind - 12) / 2).ok()?,
        _ => return None,
    };
    let (bytes, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(match kind {
        0 => Value::Null,
        1..=6 => Value::Integer(integer(bytes)),
        8 => Value::Integer(0),
        9 => Value::Integer(1),
        12.. if kind % 2 == 0 => Value::Blob(bytes.to_vec()),
        12.. => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
        _ => Value::Other,
    })
}

/// A number of up to eight bytes, the highest first, with a sign.
fn integer(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|first| 0x80 <= *first);
    let begin: i64 = if negative { -1 } else { 0 };
    bytes.iter().fold(begin, |number, byte| (number << 8) | i64::from(*byte))
}

/// A number of one to nine bytes, seven bits in each but the ninth.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0_i64;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            return Some((number << 8) | i64::from(*byte));
        }
        number = (number << 7) | i64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn array<const LENGTH: usize>(bytes: &[u8], at: usize) -> Option<[u8; LENGTH]> {
    bytes.get(at..)?.first_chunk().copied()
}
