//! Rings when somebody has given a command something to read.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init, remove_watch};

/// Room for several rings at once.
const RINGS_BYTES: usize = 4096;

/// The bell. Where the kernel has none left, whoever waits has to look by itself.
#[derive(Debug, Default)]
pub(crate) struct FileWatch(Option<OwnedFd>);

/// What hangs on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchDescriptor(i32);

impl FileWatch {
    /// Rings when more is written to `file`, until it is taken off.
    pub(crate) fn hang(&mut self, file: BorrowedFd<'_>) -> Option<WatchDescriptor> {
        if self.0.is_none() {
            self.0 = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        }
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        add_watch(self.0.as_ref()?, path, WatchFlags::MODIFY).ok().map(WatchDescriptor)
    }

    /// Rings for that file no more.
    pub(crate) fn take_off(&self, rope: WatchDescriptor) {
        if let Some(bell) = &self.0 {
            remove_watch(bell, rope.0).ok();
        }
    }

    /// What becomes readable when it rings.
    pub(crate) fn handle(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }

    /// Forgets the rings so far.
    pub(crate) fn hush(&self) {
        if let Some(bell) = &self.0 {
            while rustix::io::read(bell, &mut [0; RINGS_BYTES]).is_ok_and(|count| 0 < count) {}
        }
    }
}
