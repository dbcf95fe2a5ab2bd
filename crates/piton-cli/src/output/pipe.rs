//! A standard stream that is read by whoever it leads to, when they like.
//!
//! A reader who is slow holds up no turn: as long as a pipe has room it is written to at once, and what finds
//! none is kept and written by a thread, in order, as they read on.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};

/// How much a pipe takes for sure once it says that there is room, in bytes.
const ROOM_BYTES: usize = 4096;
/// Most that is kept for a slow reader, in bytes. Whoever lets more come holds up the turn after all.
const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Which stream it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Data,
    Talk,
}

/// A stream, and what its reader has not taken yet.
#[derive(Debug)]
pub(super) struct Pipe {
    end: End,
    /// Whether a write can wait for a reader. Files take everything, and a person at a terminal reads on.
    can_wait: bool,
    slow: Option<Slow>,
}

/// A reader who does not keep up.
#[derive(Debug)]
struct Slow {
    kept: Arc<Kept>,
    writer: JoinHandle<io::Result<()>>,
}

/// What is kept for a slow reader.
#[derive(Debug, Default)]
struct Kept {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// Bytes that are being written.
    leaving: usize,
    /// Nothing more comes.
    ends: bool,
    /// The writer has given up.
    failed: bool,
}

impl Pipe {
    pub(super) fn new(end: End) -> Self {
        let kind = end.with_fd(|fd| fstat(fd).map(|found| FileType::from_raw_mode(found.st_mode)));
        let can_wait = matches!(kind, Ok(FileType::Fifo | FileType::Socket));
        Self { end, can_wait, slow: None }
    }

    /// Writes all of it, now or later.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.can_wait {
            return self.end.write(bytes);
        }
        if let Some(slow) = &self.slow {
            if slow.is_busy() {
                slow.keep(bytes);
                return Ok(());
            }
            self.settle()?;
        }
        for (place, piece) in bytes.chunks(ROOM_BYTES).enumerate() {
            if !self.end.has_room() {
                let rest = bytes.get(place * ROOM_BYTES..).unwrap_or_default();
                self.slow = Some(Slow::begin(self.end, rest)?);
                return Ok(());
            }
            self.end.write(piece)?;
        }
        Ok(())
    }

    /// Waits until everything is written, or cannot be.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        let Some(Slow { kept, writer }) = self.slow.take() else { return Ok(()) };
        kept.state().ends = true;
        kept.changed.notify_all();
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer has died")))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // The process ends with its first thread, and nothing that was said must be lost by that.
        self.settle().unwrap_or_default();
    }
}

impl Slow {
    fn begin(end: End, bytes: &[u8]) -> io::Result<Self> {
        let state = State { bytes: bytes.to_vec(), ..State::default() };
        let kept = Arc::new(Kept { state: Mutex::new(state), changed: Condvar::new() });
        let theirs = kept.clone();
        let writer = thread::Builder::new().name("slow reader".into());
        Ok(Self { kept, writer: writer.spawn(move || theirs.write_to(end))? })
    }

    /// Whether something is left to write.
    fn is_busy(&self) -> bool {
        let state = self.kept.state();
        !state.failed && 0 < state.bytes.len() + state.leaving
    }

    fn keep(&self, bytes: &[u8]) {
        let is_full =
            |state: &mut State| !state.failed && KEPT_BYTES_MAX < state.bytes.len() + state.leaving;
        let state = self.kept.changed.wait_while(self.kept.state(), is_full);
        state.unwrap_or_else(PoisonError::into_inner).bytes.extend_from_slice(bytes);
        self.kept.changed.notify_all();
    }
}

impl Kept {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what is there until nothing more comes.
    fn write_to(&self, end: End) -> io::Result<()> {
        loop {
            let is_idle = |state: &mut State| state.bytes.is_empty() && !state.ends;
            let state = self.changed.wait_while(self.state(), is_idle);
            let mut state = state.unwrap_or_else(PoisonError::into_inner);
            let bytes = std::mem::take(&mut state.bytes);
            state.leaving = bytes.len();
            drop(state);
            if bytes.is_empty() {
                return Ok(());
            }
            let written = bytes.chunks(ROOM_BYTES).try_for_each(|piece| end.write_slowly(piece));
            let mut state = self.state();
            state.leaving = 0;
            state.failed = written.is_err();
            drop(state);
            self.changed.notify_all();
            written?;
        }
    }
}

impl End {
    fn write(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Data => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
            Self::Talk => {
                let mut stderr = io::stderr().lock();
                stderr.write_all(bytes).and_then(|()| stderr.flush())
            }
        }
    }

    /// Waits for room first: a pipe that others have told not to wait would refuse.
    fn write_slowly(self, bytes: &[u8]) -> io::Result<()> {
        self.with_fd(|fd| poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], None))?;
        self.write(bytes)
    }

    /// Whether so much can be written at once. An end that is closed can: the write says so.
    fn has_room(self) -> bool {
        let polled = self.with_fd(|fd| {
            poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], Some(&Timespec::default()))
        });
        polled.is_ok_and(|ready| 0 < ready)
    }

    fn with_fd<T>(self, look: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
        match self {
            Self::Data => look(io::stdout().as_fd()),
            Self::Talk => look(io::stderr().as_fd()),
        }
    }
}
