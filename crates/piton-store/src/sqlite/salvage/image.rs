//! A database file as pages, with those of its log laid over them. Nothing is written, and nothing is
//! believed but the sizes.

use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::super::beside::with_suffix;
use super::super::log_pages::LogPages;
use super::super::migrate::APPLICATION_ID;

/// How a database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Bytes in front of what the first page holds.
const HEADER_BYTES: usize = 100;
/// Where the header says whose database it is.
const APPLICATION_AT: Range<usize> = 68..72;
/// Size of a page, in bytes, where the header does not say it: that of every database that piton makes.
const PAGE_BYTES_USUAL: usize = 512;

/// The pages of a database.
#[derive(Debug)]
pub(super) struct Image {
    file: File,
    log: LogPages,
    page_bytes: usize,
    /// How many pages there are.
    pub(super) count: u32,
}

/// A page, with where its content begins.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) bytes: Vec<u8>,
    pub(super) begin: usize,
}

impl Image {
    pub(super) fn open(database: &Path) -> io::Result<Self> {
        let file = File::open(database)?;
        let log = match File::open(with_suffix(database, "-wal")) {
            Ok(log) => LogPages::read(BufReader::new(log))?.unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => LogPages::default(),
            Err(error) => return Err(error),
        };
        let page_bytes = match log.pages.values().next() {
            Some(page) => page.len(),
            None => page_bytes(&file)?,
        };
        let in_file = file.metadata()?.len() / page_bytes as u64;
        let count = u32::try_from(in_file).unwrap_or(u32::MAX).max(log.count);
        Ok(Self { file, log, page_bytes, count })
    }

    /// Bytes of a page.
    pub(super) fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Whether the first page says whose database it is, and that it is ours.
    pub(super) fn is_ours(&self) -> bool {
        let said = self.page(1).and_then(|page| page.bytes.get(APPLICATION_AT).map(<[u8]>::to_vec));
        said.is_some_and(|said| said == APPLICATION_ID.to_be_bytes().split_at(4).1)
    }

    /// Reads a page; `None` if there is none of this number, or the disk does not give it.
    pub(super) fn page(&self, number: u32) -> Option<Page> {
        let begin = if number == 1 { HEADER_BYTES } else { 0 };
        if let Some(bytes) = self.log.pages.get(&number) {
            return Some(Page { bytes: bytes.clone(), begin });
        }
        let mut bytes = vec![0; self.page_bytes];
        let at = u64::from(number.checked_sub(1)?) * self.page_bytes as u64;
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(Page { bytes, begin })
    }
}

/// The size of a page that the header of a file says, if it is a header.
fn page_bytes(file: &File) -> io::Result<usize> {
    let mut header = [0; HEADER_BYTES];
    let read = file.read_at(&mut header, 0)?;
    let said = match header.get(16..18) {
        Some(&[0, 1]) => 65_536,
        Some(&[high, low]) => usize::from(u16::from_be_bytes([high, low])),
        _ => 0,
    };
    let is_header = read == HEADER_BYTES && header.starts_with(MAGIC);
    let is_size = said.is_power_of_two() && (512..=65_536).contains(&said);
    Ok(if is_header && is_size { said } else { PAGE_BYTES_USUAL })
}
