//! What a command prints, in a file that it writes itself.
//!
//! No pipe: nobody who dies can break it, nothing is copied, and a reader goes on from any byte. The
//! file is kept small by punching out its middle, which moves no byte: places in the output stay
//! what they were.
//!
//! What a file can and a pipe cannot: a command that opens `/dev/stdout` or `/dev/stderr` anew, as
//! `> /dev/stderr` does, empties it. That cannot be prevented without a copy on the way, which would
//! die with the process that makes it. But it can be known: a seal stands before the output and goes with it.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;

use rustix::fs::{FallocateFlags, fallocate};

use super::log::Intent;

/// What is kept of the beginning of an output, in bytes.
pub const HEAD_BYTES: u64 = 256 * 1024;
/// What is kept of its end, in bytes.
pub const TAIL_BYTES: u64 = 4 * 1024 * 1024;
/// File systems give back whole blocks only, in bytes.
const BLOCK_BYTES: u64 = 4096;
/// Less than this is not worth a call, in bytes.
const PUNCH_BYTES_MIN: u64 = 256 * 1024;
const _: () = assert!(HEAD_BYTES.is_multiple_of(BLOCK_BYTES));
/// Stands before an output that was never emptied.
const SEAL: [u8; 8] = *b"\0piton\0\n";

/// An output as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Where it begins in its file.
    pub start: u64,
    /// How long it is, in bytes.
    pub length: u64,
    /// Whether its command has emptied it: what it had printed before is lost.
    pub emptied: bool,
}

impl Printed {
    /// Looks at an output.
    pub fn look(out: &File, intent: &Intent) -> io::Result<Self> {
        let length = out.metadata()?.len();
        if !intent.sealed {
            return Ok(Self { start: 0, length, emptied: false });
        }
        let mut found = [0; SEAL.len()];
        let is_whole = out.read_exact_at(&mut found, 0).is_ok() && found == SEAL;
        let start = if is_whole { SEAL.len() as u64 } else { 0 };
        Ok(Self { start, length: length.saturating_sub(start), emptied: !is_whole })
    }
}

/// Puts the seal on an output that is about to begin.
pub(crate) fn seal(mut out: &File) -> io::Result<()> {
    out.write_all(&SEAL)
}

/// Keeps an output small while it grows.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Everything from the head to here is gone.
    punched: u64,
}

impl Bound {
    pub(crate) fn new() -> Self {
        Self { punched: HEAD_BYTES }
    }

    /// Punches out what is neither beginning nor end. Says how long the output is.
    pub(crate) fn keep(&mut self, out: &File) -> io::Result<u64> {
        let length = out.metadata()?.len();
        if length < self.punched {
            // It was emptied, and grows again.
            self.punched = HEAD_BYTES;
        }
        let until = length.saturating_sub(TAIL_BYTES) / BLOCK_BYTES * BLOCK_BYTES;
        if self.punched + PUNCH_BYTES_MIN <= until {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(out, mode, self.punched, until - self.punched)?;
            self.punched = until;
        }
        Ok(length)
    }
}

/// How many bytes between beginning and end are not kept of an output of this length.
pub(crate) fn left_out(length: u64) -> u64 {
    length.saturating_sub(HEAD_BYTES + TAIL_BYTES)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_flood_takes_little_room_and_no_byte_moves() {
        let mut file = tempfile::tempfile().unwrap();
        let mut bound = Bound::new();
        file.write_all(b"first").unwrap();
        for _ in 0..40 {
            file.write_all(&vec![b'.'; 1_000_003]).unwrap();
            bound.keep(&file).unwrap();
        }
        file.write_all(b"last").unwrap();
        let length = bound.keep(&file).unwrap();
        assert_eq!(length, 40 * 1_000_003 + 9);
        let room = file.metadata().unwrap().blocks() * 512;
        assert!(room < HEAD_BYTES + TAIL_BYTES + 2 * PUNCH_BYTES_MIN, "{room} bytes");
        let mut four = [0; 4];
        file.read_at(&mut four, length - 4).unwrap();
        assert_eq!(&four, b"last");
        file.read_at(&mut four, HEAD_BYTES - 4).unwrap();
        assert_eq!(&four, b"....");
        file.read_at(&mut four, length - TAIL_BYTES).unwrap();
        assert_eq!(&four, b"....");
        file.read_at(&mut four, length / 2).unwrap();
        assert_eq!(four, [0; 4], "the middle is gone");
    }

    #[test]
    fn an_output_that_was_emptied_is_bounded_anew() {
        let mut file = tempfile::tempfile().unwrap();
        let mut bound = Bound::new();
        for _ in 0..2 {
            file.set_len(0).unwrap();
            io::Seek::rewind(&mut file).unwrap();
            bound.keep(&file).unwrap();
            file.write_all(&vec![b'.'; 20_000_000]).unwrap();
            bound.keep(&file).unwrap();
            let room = file.metadata().unwrap().blocks() * 512;
            assert!(room < HEAD_BYTES + TAIL_BYTES + 2 * PUNCH_BYTES_MIN, "{room} bytes");
        }
    }
}
