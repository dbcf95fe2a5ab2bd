//! A log whose database is empty or gone, read without `SQLite`, which takes an empty file for a new
//! database and removes the log that lies beside it.
//!
//! Knows the form of a log (<https://www.sqlite.org/fileformat2.html#walformat>) and nothing of what
//! is in the pages. Believes a log as far as `SQLite` does: up to the last commit whose sums hold.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

use super::beside::with_suffix;
use super::private;
use crate::StoreError;

/// Bytes in front of the first frame.
const HEADER_BYTES: usize = 32;
/// Bytes of the header that its own sum is about.
const SUMMED_HEADER_BYTES: usize = 24;
/// Bytes in front of a page.
const FRAME_BYTES: usize = 24;
/// Bytes of a frame's head that its sum is about.
const SUMMED_FRAME_BYTES: usize = 8;
/// How a log begins; the lowest bit says in which order of bytes the sums are made.
const MAGIC: u32 = 0x377f_0682;
const PAGE_BYTES_MIN: u32 = 512;
const PAGE_BYTES_MAX: u32 = 65536;

/// Whether a log lies beside a database that is empty or gone.
pub(super) fn is_left(database: &Path) -> Result<bool, StoreError> {
    let database = resolved(database);
    // In this order: at its very first start a process writes into the database, then into the log.
    Ok(length(&with_suffix(&database, "-wal"))? > 0 && length(&database)? == 0)
}

/// Whether there is something in a database.
pub(super) fn is_filled(database: &Path) -> bool {
    length(database).is_ok_and(|bytes| bytes > 0)
}

/// Where a database is that may be a link, also one to a file that is gone: the log lies there.
fn resolved(database: &Path) -> PathBuf {
    let missing = |_| match (fs::read_link(database), database.parent()) {
        (Ok(target), Some(parent)) => parent.join(target),
        _ => database.to_owned(),
    };
    fs::canonicalize(database).unwrap_or_else(missing)
}

/// The length of a file; what is not there has none.
fn length(path: &Path) -> Result<u64, StoreError> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(found.len()),
        Ok(_) => Ok(u64::MAX),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(StoreError::io("look at", path, error)),
    }
}

/// Makes the log count, if it has every page of the database; says whether it has. The first page is
/// put in its place, so that `SQLite` does not take the file for a new one; it finds the others, and
/// the first one if we die in between, in the log.
pub(super) fn revive(database: &Path) -> Result<bool, StoreError> {
    let database = &resolved(database);
    let log = with_suffix(database, "-wal");
    let read = File::open(&log).and_then(|file| Frames::first_page(BufReader::new(file)));
    let Some(page) = read.map_err(|error| StoreError::io("read", &log, error))? else {
        return Ok(false);
    };
    let write = || -> io::Result<()> {
        let mut file = private::create().open(database)?;
        file.write_all(&page)?;
        file.sync_all()
    };
    write().map_err(|error| StoreError::io("write", database, error))?;
    database.parent().map_or(Ok(()), private::sync_directory)?;
    Ok(true)
}

/// A walk along the frames of a log.
struct Frames<R> {
    log: R,
    page_bytes: usize,
    salts: [u32; 2],
    sum: Sum,
    committed: Pages,
    /// Those of the commit that is being read.
    pending: Pages,
}

/// Pages that were written.
#[derive(Default)]
struct Pages {
    numbers: BTreeSet<u32>,
    /// Page 1 as it was written last.
    first: Option<Vec<u8>>,
    /// How many the database has.
    count: u32,
}

impl<R: io::Read> Frames<R> {
    /// The first page of a database, if all of its pages are in the log.
    fn first_page(log: R) -> io::Result<Option<Vec<u8>>> {
        let Some(mut frames) = Self::begin(log)? else { return Ok(None) };
        while frames.next()? {}
        let Pages { numbers, first, count } = frames.committed;
        Ok(first.filter(|_| u32::try_from(numbers.range(..=count).count()) == Ok(count)))
    }

    /// Reads the header; `None` if it is none.
    fn begin(mut log: R) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER_BYTES];
        if !fill(&mut log, &mut header)? {
            return Ok(None);
        }
        let [magic, _, page_bytes, _, salt, pepper, ..] = words::<8>(&header);
        let mut sum = Sum { big_endian: magic & 1 == 1, first: 0, second: 0 };
        sum.add(header.get(..SUMMED_HEADER_BYTES).unwrap_or_default());
        let is_page = (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes);
        let [.., first, second] = words::<8>(&header);
        if magic & !1 != MAGIC || !is_page || !page_bytes.is_power_of_two() {
            return Ok(None);
        }
        let frames = Self {
            log,
            page_bytes: page_bytes as usize,
            salts: [salt, pepper],
            committed: Pages::default(),
            pending: Pages::default(),
            sum,
        };
        Ok(Some(frames).filter(|frames| frames.sum.is([first, second])))
    }

    /// Takes the next frame; false at the end, or at what is none.
    fn next(&mut self) -> io::Result<bool> {
        let mut head = [0; FRAME_BYTES];
        let mut page = vec![0; self.page_bytes];
        if !fill(&mut self.log, &mut head)? || !fill(&mut self.log, &mut page)? {
            return Ok(false);
        }
        let [number, pages, salt, pepper, first, second] = words::<6>(&head);
        self.sum.add(head.get(..SUMMED_FRAME_BYTES).unwrap_or_default());
        self.sum.add(&page);
        if number == 0 || [salt, pepper] != self.salts || !self.sum.is([first, second]) {
            return Ok(false);
        }
        self.pending.numbers.insert(number);
        if number == 1 {
            self.pending.first = Some(page);
        }
        // The last frame of a commit says how many pages the database has now.
        if pages > 0 {
            self.committed.numbers.append(&mut self.pending.numbers);
            self.committed.first = self.pending.first.take().or(self.committed.first.take());
            self.committed.count = pages;
        }
        Ok(true)
    }
}

/// Fills a buffer; false if the file ends before.
fn fill(file: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The first numbers of a head. What is not there is zero.
fn words<const COUNT: usize>(bytes: &[u8]) -> [u32; COUNT] {
    let mut words = [0; COUNT];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    words
}

/// The running sum over a log.
#[derive(Clone, Copy)]
struct Sum {
    big_endian: bool,
    first: u32,
    second: u32,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let read = if self.big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        for [one, two] in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
            self.first = self.first.wrapping_add(read(*one)).wrapping_add(self.second);
            self.second = self.second.wrapping_add(read(*two)).wrapping_add(self.first);
        }
    }

    fn is(&self, written: [u32; 2]) -> bool {
        [self.first, self.second] == written
    }
}
