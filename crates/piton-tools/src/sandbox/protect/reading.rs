//! Reading what a command may have put somewhere. Links are followed, as git and agents do. A pipe or a device is
//! refused: reading one might never end.

use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use crate::files::open_regular;

/// At most so many bytes of a file; `None` if there is no file to read.
pub(super) fn read(file: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(file).ok()?.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// All of a file, or `None` if nothing has this name. What was read is taken from `bytes_left`; a file with more
/// bytes is not read.
pub(super) fn whole(file: &Path, bytes_left: &mut u64) -> io::Result<Option<Vec<u8>>> {
    let opened = match open_regular(file) {
        // Not a link to nothing either.
        Err(error) if error.kind() == ErrorKind::NotFound && file.symlink_metadata().is_err() => {
            return Ok(None);
        }
        opened => opened?,
    };
    let mut bytes = Vec::new();
    opened.take(bytes_left.saturating_add(1)).read_to_end(&mut bytes)?;
    let length = bytes.len() as u64;
    *bytes_left = bytes_left.checked_sub(length).ok_or(ErrorKind::FileTooLarge)?;
    Ok(Some(bytes))
}
