//! The stored form of a few consecutive records: framed, packed if that helps, summed.
//!
//! Knows bytes only. `SQLite` does not notice a flipped bit inside a row, so every chunk carries a sum
//! over its content. A chunk that cannot be read back exactly is reported as damaged, never guessed.

use std::hash::Hasher as _;

use piton_core::id::{Seq, Timestamp};

use crate::{ENTRY_BYTES_MAX, NewRecord, Record};

/// A commit of more bytes than this is cut into several rows, so that a page of records can be read
/// out of it without unpacking all of it.
const CHUNK_BYTES: usize = 256 * 1024;
/// Bodies below this size, in bytes, are not worth packing: the time would be longer than what the
/// disk saves.
const PACK_BYTES_MIN: usize = 256;
/// Bytes that often occur. Most commits are small and alike, so what they share need not be written
/// each time. Part of the stored form: another dictionary is another format of the database.
const DICTIONARY: &[u8] = include_bytes!("dictionary.txt");
/// Longest frame in front of a body, in bytes: time, format, length.
const FRAME_BYTES_MAX: usize = 10 + 3 + 10;
/// No honest chunk is larger when unpacked, in bytes. Checked before memory is asked for, since the
/// number comes from the disk.
const UNPACKED_BYTES_MAX: usize = CHUNK_BYTES + ENTRY_BYTES_MAX + FRAME_BYTES_MAX;

/// A row of the table `chunks`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Place of its first record.
    pub(super) first: Seq,
    /// How many records it holds.
    pub(super) records: u64,
    /// Its size when unpacked, 0 if it is not packed.
    pub(super) unpacked: usize,
    /// State of the open turn after this commit; only in a commit's last chunk.
    pub(super) status: Option<String>,
    /// The frames.
    pub(super) body: Vec<u8>,
}

/// Cuts one commit's records into chunks; the last one carries the status.
pub(super) fn encode(expected: Seq, records: &[NewRecord], status: String) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut chunk = Chunk::begin(expected.next());
    for record in records {
        if chunk.body.len() >= CHUNK_BYTES {
            let next = Chunk::begin(Seq(chunk.first.0 + chunk.records));
            chunks.push(std::mem::replace(&mut chunk, next).pack());
        }
        put_number(&mut chunk.body, record.at.0);
        put_number(&mut chunk.body, u64::from(record.format));
        put_number(&mut chunk.body, record.body.len() as u64);
        chunk.body.extend_from_slice(record.body.as_bytes());
        chunk.records += 1;
    }
    chunk.status = Some(status);
    chunks.push(chunk.pack());
    chunks
}

impl Chunk {
    fn begin(first: Seq) -> Self {
        Self { first, records: 0, unpacked: 0, status: None, body: Vec::new() }
    }

    fn pack(mut self) -> Self {
        if self.body.len() >= PACK_BYTES_MIN {
            let packed = lz4_flex::block::compress_with_dict(&self.body, DICTIONARY);
            if packed.len() < self.body.len() {
                self.unpacked = self.body.len();
                self.body = packed;
            }
        }
        self
    }

    /// Place of its last record.
    pub(super) fn last(&self) -> Seq {
        Seq((self.first.0 + self.records).saturating_sub(1))
    }

    /// A sum over all that the row says, and over the journal it belongs to. Against decay, not
    /// against people: FNV-1a notices every change of a single byte and needs no table.
    pub(super) fn checksum(&self, conversation: i64) -> i64 {
        let mut sum = Fnv(0xcbf2_9ce4_8422_2325);
        sum.write(&conversation.to_le_bytes());
        for number in [self.first.0, self.records, self.unpacked as u64] {
            sum.write(&number.to_le_bytes());
        }
        sum.write(self.status.as_deref().unwrap_or_default().as_bytes());
        sum.write(&[u8::from(self.status.is_some())]);
        sum.write(&self.body);
        sum.finish().cast_signed()
    }

    /// Unfolds the records. The error says what is wrong and at which place.
    pub(super) fn decode(&self) -> Result<Vec<Record>, (Seq, &'static str)> {
        let unpacked = match self.unpacked {
            0 => None,
            size if size > UNPACKED_BYTES_MAX => {
                return Err((self.first, "it claims a size beyond all bounds"));
            }
            size => match lz4_flex::block::decompress_with_dict(&self.body, size, DICTIONARY) {
                Ok(bytes) => Some(bytes),
                Err(_) => return Err((self.first, "it cannot be unpacked")),
            },
        };
        let mut rest = unpacked.as_deref().unwrap_or(&self.body);
        let mut records = Vec::new();
        let mut seq = self.first;
        for _ in 0..self.records {
            records.push(take_record(&mut rest, seq).map_err(|detail| (seq, detail))?);
            seq = seq.next();
        }
        if rest.is_empty() { Ok(records) } else { Err((self.first, "something follows its end")) }
    }
}

fn take_record(rest: &mut &[u8], seq: Seq) -> Result<Record, &'static str> {
    const SHORT: &str = "it ends too early";
    let at = Timestamp(take_number(rest).ok_or(SHORT)?);
    let format = take_number(rest).ok_or(SHORT)?;
    let format = u16::try_from(format).map_err(|_| "its format is no format")?;
    let length = usize::try_from(take_number(rest).ok_or(SHORT)?).map_err(|_| SHORT)?;
    let (body, behind) = rest.split_at_checked(length).ok_or(SHORT)?;
    *rest = behind;
    let body = str::from_utf8(body).map_err(|_| "it is not valid UTF-8")?.to_owned();
    Ok(Record { seq, at, format, body })
}

/// Seven bits a byte, the lowest first; the high bit says that more follow.
fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(0x80 | (number & 0x7f) as u8);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

struct Fnv(u64);

impl std::hash::Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(bodies: &[&str]) -> Vec<NewRecord> {
        let record = |body: &&str| NewRecord { at: Timestamp(7), format: 1, body: (*body).into() };
        bodies.iter().map(record).collect()
    }

    fn bodies(chunks: &[Chunk]) -> Vec<(u64, String)> {
        let all = chunks.iter().flat_map(|chunk| chunk.decode().unwrap());
        all.map(|record| (record.seq.0, record.body)).collect()
    }

    #[test]
    fn numbers_of_every_length_read_back() {
        for number in [0, 1, 127, 128, 1 << 32, u64::MAX] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            assert_eq!(take_number(&mut &bytes[..]), Some(number));
            bytes.pop();
            assert_eq!(take_number(&mut &bytes[..]), None);
        }
    }

    #[test]
    fn text_is_packed_and_reads_back() {
        let text = "the same words again and again, ".repeat(40);
        let chunks = encode(Seq(4), &records(&["", &text]), "running".into());
        assert!(chunks[0].body.len() < text.len() / 2);
        assert_eq!(bodies(&chunks), [(5, String::new()), (6, text)]);
        assert_eq!(chunks[0].status.as_deref(), Some("running"));
    }

    #[test]
    fn a_large_commit_is_cut_and_only_its_last_chunk_has_the_status() {
        let large = "x".repeat(CHUNK_BYTES);
        let chunks = encode(Seq(0), &records(&[&large, "b", &large, "d"]), "s".into());
        let shape: Vec<_> =
            chunks.iter().map(|c| (c.first.0, c.last().0, c.status.is_some())).collect();
        assert_eq!(shape, [(1, 1, false), (2, 3, false), (4, 4, true)]);
        assert_eq!(bodies(&chunks).len(), 4);
    }

    // F10 in small: no flipped byte goes unnoticed, and none makes the reader fall over.
    #[test]
    fn every_flipped_byte_changes_the_sum_and_none_panics() {
        let chunks = encode(Seq(0), &records(&["abc", &"text ".repeat(50)]), "s".into());
        for place in 0..chunks[0].body.len() {
            for bit in 0..8 {
                let mut chunk =
                    encode(Seq(0), &records(&["abc", &"text ".repeat(50)]), "s".into()).remove(0);
                let honest = chunk.checksum(1);
                chunk.body[place] ^= 1 << bit;
                assert_ne!(chunk.checksum(1), honest);
                chunk.decode().ok();
            }
        }
    }
}
