//! What a command reads: in memory only, because there may be secrets in it.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};

use rustix::fs::{MemfdFlags, memfd_create};

/// Bytes for the standard input of a command. Printing them for debugging prints how many.
#[derive(Clone)]
pub(crate) struct InputFile {
    bytes: Vec<u8>,
    has_secrets: bool,
}

impl InputFile {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, has_secrets: false }
    }

    /// The same, with something in it that is not to be written anywhere.
    pub(crate) fn with_secrets(bytes: Vec<u8>) -> Self {
        Self { bytes, has_secrets: true }
    }

    /// Whether what reads it may quote a secret.
    pub(crate) fn has_secrets(&self) -> bool {
        self.has_secrets
    }

    /// A file that has no name and no place on any disk, ready to be read.
    pub(crate) fn file(&self) -> io::Result<File> {
        let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
        file.write_all(&self.bytes)?;
        file.rewind()?;
        Ok(file)
    }
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes]", self.bytes.len())
    }
}
