//! One step from a directory into another, without following links.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::contract::Refusal;

/// Opens a directory in another one. A link is no directory.
pub(crate) fn open_step(directory: &OwnedFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// Says that a link has taken the place of something.
pub(super) fn became_link(shown: &str) -> Refusal {
    Refusal(format!("`{shown}` has become a symbolic link meanwhile: look again with list_dir"))
}
