//! Which numbers of chunks a purge took away.
//!
//! Numbers are given one after the other, so one that is missing is a commit that was lost. Those that
//! were taken away on purpose are noted, in a chunk of nobody: no conversation has the key 0. It stands in
//! the place of the highest of them, so that the number of the newest chunk is never given twice.

use piton_core::id::Seq;
use rusqlite::{Transaction, params};

use super::chunk::Chunk;
use super::place::{self, SEQ_MAX};

/// Whose chunk the note is.
pub(super) const NOBODY: i64 = 0;

/// Numbers, as ranges in order that do not touch each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers(Vec<(i64, i64)>);

impl Numbers {
    /// From ranges in any order.
    pub(super) fn of(mut ranges: Vec<(i64, i64)>) -> Self {
        ranges.retain(|(first, last)| first <= last);
        ranges.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    /// What was written; whatever is no range is left out.
    pub(super) fn read(body: &[u8]) -> Vec<(i64, i64)> {
        let text = std::str::from_utf8(body).unwrap_or_default();
        let range = |word: &str| {
            let (first, last) = word.split_once('-')?;
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        text.split_whitespace().filter_map(range).collect()
    }

    fn written(&self) -> Vec<u8> {
        let words: Vec<_> = self.0.iter().map(|(first, last)| format!("{first}-{last}")).collect();
        words.join(" ").into_bytes()
    }

    /// How many of the numbers from 1 to the highest one are not among them.
    pub(super) fn missing(&self) -> u64 {
        let there: i64 = self.0.iter().map(|(first, last)| last - first + 1).sum();
        let highest = self.0.last().map_or(0, |(_, last)| *last);
        u64::try_from(highest - there).unwrap_or(0)
    }

    /// The highest one that is not among them, below the highest that is.
    pub(super) fn last_missing(&self) -> Option<i64> {
        self.0.last().map(|(first, _)| first - 1).filter(|number| 0 < *number)
    }
}

/// Notes the numbers of chunks that are about to go, with those that went earlier.
pub(super) fn note(writing: &Transaction<'_>, going: Vec<i64>) -> Result<(), rusqlite::Error> {
    let mut ranges: Vec<_> = going.into_iter().map(|id| (id, id)).collect();
    if ranges.is_empty() {
        return Ok(());
    }
    let bounds = [place::of(NOBODY, Seq(0)), place::of(NOBODY, Seq(SEQ_MAX))];
    {
        let sql = "SELECT id, body FROM chunks WHERE place BETWEEN ?1 AND ?2";
        let mut ask = writing.prepare(sql)?;
        let mut rows = ask.query(bounds)?;
        while let Some(row) = rows.next()? {
            let (id, body): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
            ranges.push((id, id));
            ranges.extend(Numbers::read(&body));
        }
    }
    for sql in [
        "DELETE FROM chunks WHERE place BETWEEN ?1 AND ?2",
        "DELETE FROM places WHERE place BETWEEN ?1 AND ?2",
    ] {
        writing.execute(sql, bounds)?;
    }
    let gone = Numbers::of(ranges);
    let Some((_, id)) = gone.0.last().copied() else { return Ok(()) };
    let first = Seq(u64::try_from(id).unwrap_or(0) & SEQ_MAX);
    let note = Chunk { first, records: 0, unpacked: 0, status: None, body: gone.written() };
    writing.execute(
        "INSERT INTO chunks (id, place, records, unpacked, checksum, status, body)
         VALUES (?1, ?2, 0, 0, ?3, NULL, ?4)",
        params![id, place::of(NOBODY, first), note.checksum(NOBODY), note.body],
    )?;
    Ok(())
}

/// Whether a chunk is the note of a build that noted no numbers.
pub(super) fn is_old_note(conversation: i64, chunk: &Chunk, checksum: i64) -> bool {
    conversation == NOBODY && checksum == 0 && chunk.records == 0 && chunk.body.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_apart_from_those_that_are_missing() {
        let numbers = Numbers::of(vec![(7, 9), (1, 2), (3, 4), (8, 12)]);
        assert_eq!(numbers.written(), b"1-4 7-12");
        assert_eq!(Numbers::of(Numbers::read(&numbers.written())), numbers);
        assert_eq!((numbers.missing(), numbers.last_missing()), (2, Some(6)));
        assert_eq!(Numbers::of(vec![(1, 3)]).last_missing(), None);
        assert_eq!(Numbers::default().missing(), 0);
        assert_eq!(Numbers::read(b"1-2 x 5- 9"), [(1, 2)]);
    }
}
