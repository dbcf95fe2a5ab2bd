//! One name in an open directory.
//!
//! Everything that changes a file works on this pair of handle and name: once the directory is
//! open, nobody can move the work elsewhere by renaming a parent.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, openat, statat};
use rustix::io::Errno;

use super::step::{became_link, open_step};
use crate::contract::Refusal;

/// Mode of new directories before the umask.
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);
/// The bits of a mode that say who may do what.
const PERMISSION_BITS: u32 = 0o7777;

/// What to do when a parent directory does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingParents {
    /// Leave it so.
    Refuse,
    /// Make it, durably.
    Create,
}

impl MissingParents {
    pub(super) fn open(self, directory: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
        match (open_step(directory, name), self) {
            (Err(Errno::NOENT), Self::Create) => {}
            (opened, Self::Create | Self::Refuse) => return opened,
        }
        match mkdirat(directory, name, DIRECTORY_MODE) {
            // Somebody else made it in between: as good.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        // A file whose directory is lost in a power cut is lost as well.
        rustix::fs::fsync(directory)?;
        open_step(directory, name)
    }
}

/// A name in an open directory.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The directory.
    pub(crate) directory: OwnedFd,
    /// The name in it.
    pub(crate) name: String,
    /// The path as people see it.
    pub(crate) shown: String,
}

impl Entry {
    pub(super) fn new(directory: OwnedFd, name: &str, shown: &str) -> Self {
        Self { directory, name: name.to_owned(), shown: shown.to_owned() }
    }

    /// Opens the regular file of that name; `None` if there is nothing.
    pub(crate) fn open(&self) -> Result<Option<File>, Refusal> {
        let shown = &self.shown;
        // NONBLOCK: opening a FIFO would otherwise wait for a writer, for ever.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.directory, self.name.as_str(), flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(became_link(shown)),
            Err(Errno::NXIO) => return Err(not_regular(shown, self.kind())),
            Err(errno) => {
                let error = io::Error::from(errno);
                return Err(Refusal(format!("`{shown}` cannot be opened: {error}")));
            }
        };
        let stat = fstat(&file).map_err(|errno| {
            Refusal(format!("`{shown}` cannot be examined: {}", io::Error::from(errno)))
        })?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::RegularFile {
            Ok(Some(File::from(file)))
        } else {
            Err(not_regular(shown, kind))
        }
    }

    /// Opens the file of that name to read and overwrite it.
    pub(crate) fn open_to_overwrite(&self) -> Result<File, Errno> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(&self.directory, self.name.as_str(), flags, Mode::empty()).map(File::from)
    }

    /// What has that name; `None` if nothing has.
    pub(super) fn found(&self) -> Option<FileType> {
        let stat = statat(&self.directory, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        stat.ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
    }

    /// The rights of the file of that name; `None` if there is none.
    pub(crate) fn mode(&self) -> Option<u32> {
        let stat = statat(&self.directory, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        stat.ok().map(|stat| stat.st_mode & PERMISSION_BITS)
    }

    fn kind(&self) -> FileType {
        self.found().unwrap_or(FileType::Unknown)
    }
}

fn not_regular(shown: &str, kind: FileType) -> Refusal {
    let next = if kind == FileType::Directory {
        "use list_dir to look into it"
    } else {
        "only regular files can be read and changed"
    };
    Refusal(format!("`{shown}` is a {}, not a file: {next}", kind_name(kind)))
}

/// The word for a kind of file.
pub(crate) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "FIFO",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "special file",
    }
}
