//! A terminal for a command that needs one: the supervisors hold one end, the command the other.
//!
//! What the command prints is copied from there into its file. If the one that copies is killed, the
//! other goes on; what the first had taken and not yet written is lost. If both are killed, the
//! terminal is gone, and the kernel hangs up on the command.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::supervise::record::log::{self, Record};

/// The word that makes our binary begin a session and become another program.
pub(crate) const SESSION: &str = "session";
/// What programs take it for.
pub(crate) const KIND: &str = "xterm-256color";
/// How large it is, in letters.
const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
/// Most bytes that are copied at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// Most pieces of that size before others have their turn.
const CHUNKS_MAX: usize = 16;

/// A new one: the end that supervisors hold. Nothing that is done with it waits.
pub(crate) fn create() -> io::Result<OwnedFd> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    tcsetwinsize(&ours, SIZE)?;
    let mut modes = tcgetattr(&ours)?;
    // Lines in the file end like those of any other command.
    modes.output_modes.remove(OutputModes::ONLCR);
    tcsetattr(&ours, OptionalActions::Now, &modes)?;
    fcntl_setfl(&ours, OFlags::NONBLOCK)?;
    Ok(ours)
}

/// The end that the command has.
pub(crate) fn theirs(ours: impl AsFd) -> io::Result<File> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(ioctl_tiocgptpeer(ours, flags)?.into())
}

/// What is left to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// There may be more.
    Some,
    /// Nothing for now.
    All,
    /// Nobody has the other end open.
    HungUp,
}

/// Copies what the command has printed, as far as that is there.
pub(crate) fn copy(ours: impl AsFd, mut out: &File) -> io::Result<Copied> {
    let mut chunk = vec![0; CHUNK_BYTES];
    for _ in 0..CHUNKS_MAX {
        match rustix::io::read(&ours, &mut chunk) {
            Ok(0) | Err(Errno::IO) => return Ok(Copied::HungUp),
            Ok(count) => out.write_all(chunk.get(..count).unwrap_or_default())?,
            Err(Errno::AGAIN) => return Ok(Copied::All),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Copied::Some)
}

/// Begins a session whose terminal is our standard output, and becomes the program that is named.
/// A safe program cannot do that between fork and exec. Comes back only if that fails, and then says
/// so in the record, which is our standard error.
pub(crate) fn become_leader(words: impl Iterator<Item = OsString>) -> io::Result<()> {
    let Err(error) = lead(words);
    let why = format!("it could not have a terminal: {error}");
    let log = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    log::append(&log, &Record::NeverRan { why })
}

fn lead(mut words: impl Iterator<Item = OsString>) -> io::Result<Infallible> {
    setsid()?;
    ioctl_tiocsctty(io::stdout())?;
    let program = words.next().ok_or_else(|| io::Error::other("nothing to become"))?;
    Err(Command::new(program).args(words).exec())
}
