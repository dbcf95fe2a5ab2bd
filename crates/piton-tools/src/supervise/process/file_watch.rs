//! Tells when a text was written to a mailbox: inotify.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init, remove_watch};

/// Room for several events at once.
const EVENTS_BYTES: usize = 4096;

/// A watch on several files. Where the kernel has none left, the caller has to poll the files.
#[derive(Debug, Default)]
pub(crate) struct FileWatch(Option<OwnedFd>);

/// The kernel's number for one watched file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchDescriptor(i32);

impl FileWatch {
    /// Watches `file` for writes until [`FileWatch::remove`].
    pub(crate) fn add(&mut self, file: BorrowedFd<'_>) -> Option<WatchDescriptor> {
        if self.0.is_none() {
            self.0 = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        }
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        add_watch(self.0.as_ref()?, path, WatchFlags::MODIFY).ok().map(WatchDescriptor)
    }

    /// Stops watching a file.
    pub(crate) fn remove(&self, descriptor: WatchDescriptor) {
        if let Some(inotify) = &self.0 {
            remove_watch(inotify, descriptor.0).ok();
        }
    }

    /// Becomes readable when a watched file was written to.
    pub(crate) fn handle(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }

    /// Reads and drops the events so far.
    pub(crate) fn drain(&self) {
        if let Some(inotify) = &self.0 {
            while rustix::io::read(inotify, &mut [0; EVENTS_BYTES]).is_ok_and(|count| 0 < count) {}
        }
    }
}
