//! The pages in a write-ahead log, read without `SQLite`.
//!
//! Knows the form of a log (<https://www.sqlite.org/fileformat2.html#walformat>) and nothing of what
//! is in the pages. Believes a log as far as `SQLite` does: up to the last commit whose sums hold.

use std::collections::BTreeMap;
use std::io;

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

/// The pages of a log that were committed, each as it was written last.
#[derive(Debug, Default)]
pub(super) struct LogPages {
    pub(super) pages: BTreeMap<u32, Vec<u8>>,
    /// How many pages the database has after the last commit.
    pub(super) count: u32,
}

impl LogPages {
    /// Reads a log; `None` if it is none.
    pub(super) fn read(log: impl io::Read) -> io::Result<Option<Self>> {
        let Some(mut frames) = Frames::begin(log)? else { return Ok(None) };
        while frames.next()? {}
        Ok(Some(frames.committed))
    }

    /// The first page of the database, if all of its pages are in the log.
    pub(super) fn first_page(mut self) -> Option<Vec<u8>> {
        let found = u32::try_from(self.pages.range(..=self.count).count());
        self.pages.remove(&1).filter(|_| found == Ok(self.count))
    }
}

/// A walk along the frames of a log.
struct Frames<R> {
    log: R,
    page_bytes: usize,
    salts: [u32; 2],
    sum: Sum,
    committed: LogPages,
    /// Those of the commit that is being read.
    pending: BTreeMap<u32, Vec<u8>>,
}

impl<R: io::Read> Frames<R> {
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
            committed: LogPages::default(),
            pending: BTreeMap::new(),
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
        self.pending.insert(number, page);
        // The last frame of a commit says how many pages the database has now.
        if pages > 0 {
            self.committed.pages.append(&mut self.pending);
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
