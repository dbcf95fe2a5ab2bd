//! The output of a command in bounded memory.
//!
//! Keeps the beginning and the end in memory, because that is what the model sees. What does not fit
//! goes to a file without a name, which vanishes with its handle however this process ends; that
//! file is bounded as well, again by keeping the beginning and the end.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use crate::contract::{OUTPUT_BYTES_MAX, excerpt};
use crate::supervise::{HEAD_BYTES, left_out};

/// Most bytes of an output that are kept in full, in bytes: the first half and the last half.
pub const SPILL_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Half of what is kept in a file, in bytes.
const SPILL_HALF_BYTES: u64 = SPILL_BYTES_MAX / 2;
/// Room kept in the text for what is said about the output, in bytes.
const NOTES_BYTES_MAX: usize = 1024;
/// Half of what is shown, in bytes.
const SHOWN_HALF_BYTES: usize = (OUTPUT_BYTES_MAX - NOTES_BYTES_MAX) / 2;
const _: () = assert!(2 * OUTPUT_BYTES_MAX as u64 <= SPILL_BYTES_MAX);

/// Output as it comes.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    spill: Spill,
}

/// An extract and, if it is one, the whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Captured {
    /// What the model sees.
    pub(crate) text: String,
    /// How much of that is output; the rest is notes.
    pub(crate) printed: usize,
    /// Everything that was kept, if the text is not everything.
    pub(crate) full: Option<Vec<u8>>,
}

impl Captured {
    /// Of an output that is kept in a file, from one of its bytes on.
    pub(crate) fn of_file(file: &File, from: u64, notes: &[String]) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let from = from.min(length);
        let gap = left_out(length);
        // What is gone from the middle is not read: it would be a sea of zeros.
        let (middle, rest) = (HEAD_BYTES, HEAD_BYTES + gap);
        let mut head = Vec::new();
        let mut tail = Vec::new();
        if gap == 0 {
            read_range(file, from, length, &mut head)?;
        } else {
            read_range(file, from, middle, &mut head)?;
            read_range(file, from.max(rest), length, &mut tail)?;
        }
        let missed = rest.saturating_sub(from.max(middle)).min(gap);
        let whole = head.len() + tail.len() <= 2 * SHOWN_HALF_BYTES && missed == 0;
        let mut capture = Capture { spill: Spill::Elsewhere, ..Capture::new(PathBuf::new()) };
        capture.push(&head);
        capture.skip(missed);
        capture.push(&tail);
        let mut captured = capture.into_extract(notes);
        if !whole {
            let note = format!("\n[... {missed} bytes left out ...]\n");
            let note = if missed == 0 { "" } else { &note };
            captured.full = Some([&head, note.as_bytes(), &tail].concat());
        }
        Ok(captured)
    }
}

fn read_range(file: &File, from: u64, until: u64, into: &mut Vec<u8>) -> io::Result<()> {
    let length = usize::try_from(until.saturating_sub(from)).unwrap_or(usize::MAX);
    into.resize(length, 0);
    let mut filled = 0;
    while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, from + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    into.truncate(filled);
    Ok(())
}

impl Capture {
    pub(crate) fn new(scratch: PathBuf) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            spill: Spill::Unneeded { scratch },
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.spill(bytes);
        self.total += bytes.len() as u64;
        let room = SHOWN_HALF_BYTES - self.head.len();
        let (first, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(SHOWN_HALF_BYTES);
        self.tail.drain(..surplus);
    }

    /// Bytes that are not there any more. They are missing from the end that is shown, too.
    fn skip(&mut self, bytes: u64) {
        if 0 < bytes {
            self.total += bytes;
            self.tail.clear();
        }
    }

    fn spill(&mut self, bytes: &[u8]) {
        let fits = self.head.len() + self.tail.len() + bytes.len() <= 2 * SHOWN_HALF_BYTES;
        let scratch = match &mut self.spill {
            Spill::Unneeded { .. } if fits => return,
            Spill::Unneeded { scratch } => scratch.clone(),
            Spill::Open(ring) => {
                if let Err(error) = ring.push(bytes) {
                    self.spill = Spill::Failed(error.to_string());
                }
                return;
            }
            Spill::Elsewhere | Spill::Failed(_) => return,
        };
        // Up to now everything is in memory, and there is not a gap in it.
        let opened = Ring::open(&scratch).and_then(|mut ring| {
            ring.push(&self.head)?;
            ring.push(self.tail.make_contiguous())?;
            ring.push(bytes)?;
            Ok(ring)
        });
        self.spill = match opened {
            Ok(ring) => Spill::Open(ring),
            Err(error) => Spill::Failed(error.to_string()),
        };
    }

    /// The text for the model, with `notes` behind it, each on its own line.
    pub(crate) fn into_extract(mut self, notes: &[String]) -> Captured {
        let mut notes = notes.to_vec();
        let full = match self.spill {
            Spill::Unneeded { .. } | Spill::Elsewhere => None,
            Spill::Open(ring) => match ring.into_bytes() {
                Ok(bytes) => Some(bytes),
                Err(error) => {
                    notes.push(format!("[the whole output could not be kept: {error}]"));
                    None
                }
            },
            Spill::Failed(why) => {
                notes.push(format!("[the whole output could not be kept: {why}]"));
                None
            }
        };
        let mut text;
        let mut full = full;
        let shown = (self.head.len() + self.tail.len()) as u64;
        let tail = self.tail.make_contiguous();
        if shown == self.total {
            let whole = [self.head.as_slice(), tail].concat();
            text = String::from_utf8_lossy(&whole).into_owned();
            // What is not UTF-8 grows when it is made readable.
            if 2 * SHOWN_HALF_BYTES < text.len() {
                let cut = text.len() - 2 * SHOWN_HALF_BYTES;
                text = joined(&text, &text, cut as u64);
                full = Some(whole);
            }
        } else {
            let head = String::from_utf8_lossy(trim_end(&self.head));
            let tail = String::from_utf8_lossy(trim_start(tail));
            text = joined(&head, &tail, self.total - shown);
        }
        let printed = text.len();
        for note in &notes {
            excerpt::note(&mut text, excerpt::head(note, NOTES_BYTES_MAX / 4));
        }
        Captured { text, printed, full }
    }
}

fn joined(head: &str, tail: &str, left_out: u64) -> String {
    let head = excerpt::head(head, SHOWN_HALF_BYTES);
    let tail = excerpt::tail(tail, SHOWN_HALF_BYTES);
    format!("{head}\n[... {left_out} bytes left out ...]\n{tail}")
}

/// Without a character that is cut off at the end.
fn trim_end(bytes: &[u8]) -> &[u8] {
    match str::from_utf8(bytes) {
        // No length: the input ended within a character. Everything else is not UTF-8 anyway.
        Err(error) if error.error_len().is_none() => {
            bytes.get(..error.valid_up_to()).unwrap_or(bytes)
        }
        Ok(_) | Err(_) => bytes,
    }
}

/// Without the rest of a character that was cut off at the start.
fn trim_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    bytes.get(rest..).unwrap_or(bytes)
}

#[derive(Debug)]
enum Spill {
    Unneeded {
        scratch: PathBuf,
    },
    /// It is in a file already.
    Elsewhere,
    Open(Ring),
    Failed(String),
}

/// A file that keeps the first half of what it gets as it is, and the last half in a circle.
#[derive(Debug)]
struct Ring {
    file: File,
    total: u64,
}

impl Ring {
    fn open(scratch: &PathBuf) -> io::Result<Self> {
        fs::create_dir_all(scratch)?;
        Ok(Self { file: tempfile::tempfile_in(scratch)?, total: 0 })
    }

    fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (at, room) = if self.total < SPILL_HALF_BYTES {
                (self.total, SPILL_HALF_BYTES - self.total)
            } else {
                let place = self.total % SPILL_HALF_BYTES;
                (SPILL_HALF_BYTES + place, SPILL_HALF_BYTES - place)
            };
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.file.seek(SeekFrom::Start(at))?;
            self.file.write_all(now)?;
            self.total += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    fn into_bytes(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.rewind()?;
        if self.total <= SPILL_BYTES_MAX {
            self.file.read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        let left_out = self.total - SPILL_BYTES_MAX;
        let oldest = SPILL_HALF_BYTES + self.total % SPILL_HALF_BYTES;
        (&self.file).take(SPILL_HALF_BYTES).read_to_end(&mut bytes)?;
        writeln!(bytes, "\n[... {left_out} bytes left out ...]")?;
        self.file.seek(SeekFrom::Start(oldest))?;
        (&self.file).read_to_end(&mut bytes)?;
        self.file.seek(SeekFrom::Start(SPILL_HALF_BYTES))?;
        (&self.file).take(oldest - SPILL_HALF_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chunks: &[&[u8]]) -> Captured {
        let scratch = tempfile::tempdir().expect("a directory");
        let mut capture = Capture::new(scratch.path().join("made/when/needed"));
        for chunk in chunks {
            capture.push(chunk);
        }
        capture.into_extract(&["[a note]".to_owned()])
    }

    #[test]
    fn what_fits_is_shown_as_it_is() {
        let Captured { text, full, .. } = captured(&[b"one\n", b"two"]);
        assert_eq!(text, "one\ntwo\n[a note]");
        assert_eq!(full, None);
        let just = vec![b'x'; 2 * SHOWN_HALF_BYTES];
        let Captured { text, full, .. } = captured(&[&just]);
        assert_eq!(text.len(), just.len() + "\n[a note]".len());
        assert_eq!(full, None);
    }

    #[test]
    fn what_does_not_fit_is_shown_by_its_ends_and_kept_whole() {
        let all: Vec<u8> = (0..200_000_u32).map(|n| b'a' + u8::try_from(n % 26).unwrap()).collect();
        let chunks: Vec<&[u8]> = all.chunks(777).collect();
        let Captured { text, full, .. } = captured(&chunks);
        assert_eq!(full.as_deref(), Some(all.as_slice()));
        assert!(text.len() <= OUTPUT_BYTES_MAX, "{}", text.len());
        assert!(text.contains(&format!("{} bytes left out", all.len() - 2 * SHOWN_HALF_BYTES)));
        assert!(text.starts_with("abc"));
        let end = String::from_utf8(all[all.len() - 100..].to_vec()).unwrap();
        assert!(text.ends_with(&format!("{end}\n[a note]")));
    }

    #[test]
    fn a_flood_is_kept_by_its_ends() {
        let chunk: Vec<u8> = vec![b'.'; 1_000_003];
        let mut chunks: Vec<&[u8]> = vec![b"first"];
        chunks.extend(std::iter::repeat_n(chunk.as_slice(), 20));
        chunks.push(b"last");
        let total = 20 * chunk.len() as u64 + 9;
        let Captured { full, .. } = captured(&chunks);
        let full = full.expect("kept");
        let note = format!("\n[... {} bytes left out ...]\n", total - SPILL_BYTES_MAX);
        assert_eq!(full.len() as u64, SPILL_BYTES_MAX + note.len() as u64);
        assert!(full.starts_with(b"first.") && full.ends_with(b".last"));
    }

    #[test]
    fn bytes_that_are_not_text_are_made_readable_within_bounds() {
        let Captured { text, full, .. } = captured(&[b"a\xFFb"]);
        assert_eq!((text.as_str(), full), ("a\u{FFFD}b\n[a note]", None));
        let noise = vec![0xFF; 20_000];
        let Captured { text, full, .. } = captured(&[&noise]);
        assert!(text.len() <= OUTPUT_BYTES_MAX, "{}", text.len());
        assert_eq!(full, Some(noise));
    }

    #[test]
    fn characters_are_not_broken_at_the_cuts() {
        let Captured { text, .. } = captured(&["漢".repeat(50_000).as_bytes()]);
        assert!(!text.contains('\u{FFFD}'));
        assert!(text.len() <= OUTPUT_BYTES_MAX);
    }

    #[test]
    fn without_a_place_to_spill_the_ends_are_still_shown() {
        let mut capture = Capture::new("/dev/null/nowhere".into());
        capture.push(&vec![b'x'; 100_000]);
        let Captured { text, full, .. } = capture.into_extract(&[]);
        assert_eq!(full, None);
        assert!(text.contains("could not be kept"), "{}", &text[text.len() - 200..]);
        assert!(text.len() <= OUTPUT_BYTES_MAX);
    }
}
