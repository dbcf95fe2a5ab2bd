//! Tells other processes that something was committed, and hears it from them.
//!
//! The bell is a file beside the database. To ring it is to read one byte of it: the kernel tells
//! every process that watches the file (inotify), and nothing is written, let alone synced. A letter
//! needs no bell: the directory of letters is watched, and the kernel tells which file came into it.
//! Knows nothing of what was committed. Where the kernel cannot tell, the listener has to look now and
//! then.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::beside::with_suffix;
use super::private;

/// What the name of the bell has beyond that of the database.
const BELL: &str = "-bell";
/// What the bell holds at first. It must hold something: reading nothing makes no sound.
const FIRST: &[u8] = b"1";

/// The file to ring.
#[derive(Debug)]
pub(super) struct Bell(Option<File>);

impl Bell {
    /// Opens the bell of a database, or makes one. Without a bell, others look now and then.
    pub(super) fn of(database: &Path) -> Self {
        let open = || {
            let file = private::create().read(true).open(path(database))?;
            if file.metadata()?.len() == 0 {
                file.write_all_at(FIRST, 0)?;
            }
            Ok::<_, std::io::Error>(file)
        };
        Self(open().ok())
    }

    /// Rings.
    pub(super) fn ring(&self) {
        if let Some(file) = &self.0 {
            file.read_at(&mut [0], 0).ok();
        }
    }
}

/// The bell's file. Its content is the number of the last letter (see `letter`).
pub(super) fn path(database: &Path) -> PathBuf {
    with_suffix(database, BELL)
}

/// What was heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// It is time to stop listening.
    pub(super) stop: bool,
    /// Nothing was heard for as long as the listener wanted to wait, or too much to keep.
    pub(super) look_at_all: bool,
    /// The names of letters that came.
    pub(super) letters: Vec<String>,
}

/// Listens to a bell and to a directory of letters.
#[derive(Debug)]
pub(super) struct Ear {
    kernel: Option<kernel::Watch>,
    /// Closed by the other end when it is time to stop.
    stop: UnixStream,
}

impl Ear {
    pub(super) fn new(database: &Path, inbox: &Path, stop: UnixStream) -> Self {
        Self { kernel: kernel::Watch::new(&path(database), inbox), stop }
    }

    /// Whether the kernel tells what happens. If not, the listener has to look more often.
    pub(super) fn is_told(&self) -> bool {
        self.kernel.is_some()
    }

    /// Waits until something is heard, at most so long.
    pub(super) fn wait(&mut self, at_most: Duration) -> Heard {
        let timeout = Timespec {
            tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: at_most.subsec_nanos().into(),
        };
        let mut handles = vec![PollFd::new(&self.stop, PollFlags::IN)];
        let watch = self.kernel.as_ref().map(kernel::Watch::as_fd);
        handles.extend(watch.iter().map(|watch| PollFd::new(watch, PollFlags::IN)));
        let ready = poll(&mut handles, Some(&timeout));
        let stop = handles.first().is_some_and(|stop| !stop.revents().is_empty());
        let mut heard = Heard { stop, look_at_all: ready == Ok(0), ..Heard::default() };
        if let Some(kernel) = &self.kernel {
            kernel.drain(&mut heard);
        }
        heard
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};

    use crate::sqlite::bell::Heard;

    /// Room for several events at once, in bytes.
    const EVENTS_BYTES: usize = 4096;

    #[derive(Debug)]
    pub(super) struct Watch(OwnedFd);

    impl Watch {
        /// `None` where the kernel has no watches left, or no bell is there.
        pub(super) fn new(bell: &Path, inbox: &Path) -> Option<Self> {
            let watch = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
            add_watch(&watch, bell, WatchFlags::ACCESS).ok()?;
            add_watch(&watch, inbox, WatchFlags::MOVED_TO).ok()?;
            Some(Self(watch))
        }

        /// Takes what was heard so far.
        pub(super) fn drain(&self, heard: &mut Heard) {
            let mut buffer = [const { MaybeUninit::uninit() }; EVENTS_BYTES];
            let mut events = Reader::new(&self.0, &mut buffer);
            while let Ok(event) = events.next() {
                heard.look_at_all |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                let name = event.file_name().and_then(|name| name.to_str().ok());
                heard.letters.extend(name.map(str::to_owned));
            }
        }
    }

    impl AsFd for Watch {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::path::Path;

    use crate::sqlite::bell::Heard;

    /// Never made: this kernel has no inotify.
    #[derive(Debug)]
    pub(super) struct Watch(OwnedFd);

    impl Watch {
        pub(super) fn new(_bell: &Path, _inbox: &Path) -> Option<Self> {
            None
        }

        pub(super) fn drain(&self, _heard: &mut Heard) {}
    }

    impl AsFd for Watch {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}
