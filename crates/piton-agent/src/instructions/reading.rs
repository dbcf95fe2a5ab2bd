//! Reading a file within bounds, and what a person hears if it does not count.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Most bytes of one file.
const FILE_BYTES_MAX: usize = 32 * 1024;

/// A file of instructions that does not count, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionNote {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// What does not count of a file, because there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    Bytes(u64),
}

/// Opens a file that lies, behind all links, in one of the directories.
pub(super) fn open(path: &Path, within: &[&Path]) -> Result<(File, Metadata), String> {
    let real = fs::canonicalize(path).map_err(|error| error.to_string())?;
    let inside = |directory: &&Path| {
        let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
        real.starts_with(directory)
    };
    if !within.iter().any(inside) {
        return Err("it is a link that leads out; put a copy in its place".into());
    }
    let is_file = fs::metadata(&real).map_err(|error| error.to_string())?.is_file();
    if !is_file {
        return Err("it is no file".into());
    }
    let file = File::open(&real).map_err(|error| error.to_string())?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    Ok((file, found))
}

/// Its beginning, and how much is left.
pub(super) fn read(file: File, found: &Metadata) -> io::Result<(Vec<u8>, Left)> {
    // With room for all of it, the file is read at once, and not in ever larger pieces.
    let bytes = usize::try_from(found.len()).unwrap_or(usize::MAX).min(FILE_BYTES_MAX);
    let mut content = Vec::with_capacity(bytes + 1);
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut content)?;
    if content.len() <= FILE_BYTES_MAX {
        return Ok((content, Left::Nothing));
    }
    content.truncate(FILE_BYTES_MAX);
    let left = found.len().saturating_sub(FILE_BYTES_MAX as u64).max(1);
    Ok((content, Left::Bytes(left)))
}
