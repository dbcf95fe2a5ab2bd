//! Opening a file by its name without being held up by it.
//!
//! The author of a workspace can put a pipe where a file is looked for: opening one waits for a
//! writer, for ever, and no signal ends that.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// What is said of anything else.
const NOT_REGULAR: &str = "it is no regular file";

/// Opens a regular file for reading; anything else is an error that says so, and never waits.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = match opened {
        // A socket.
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR));
        }
        opened => opened?,
    };
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR))
}

/// All of a regular file, as text.
pub fn read_regular(path: &Path) -> io::Result<String> {
    io::read_to_string(open_regular(path)?)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::write(path("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        mknodat(CWD, path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        assert_eq!(read_regular(&path("file")).unwrap(), "text");
        assert_eq!(read_regular(&path("link")).unwrap(), "text");
        for name in ["pipe", "socket", "."] {
            let error = open_regular(&path(name)).unwrap_err();
            assert_eq!(error.to_string(), NOT_REGULAR, "{name}");
        }
        let missing = open_regular(&path("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
