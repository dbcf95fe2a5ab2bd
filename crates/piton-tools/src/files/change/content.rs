//! Reading a whole file, if it is not too large.

use std::fs::File;
use std::io::{self, Read};

use crate::contract::{Refusal, Site};
use crate::files::workspace::{Entry, MissingParents, Place};

/// Largest file that is changed, and largest content that is written, in bytes. Both versions are
/// in memory at once.
pub const EDIT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The content at `place` now; `None` if there is no file, also if its directory is missing.
pub(crate) fn current(site: &Site, place: &Place) -> Result<Option<Vec<u8>>, Refusal> {
    match place.entry(site, MissingParents::Refuse) {
        Ok(entry) => content(&entry),
        Err(refusal) => {
            let parent_missing = place
                .absolute(site)
                .parent()
                .is_some_and(|parent| matches!(parent.try_exists(), Ok(false)));
            if parent_missing { Ok(None) } else { Err(refusal) }
        }
    }
}

pub(in crate::files) fn content(entry: &Entry) -> Result<Option<Vec<u8>>, Refusal> {
    let Some(file) = entry.open()? else { return Ok(None) };
    let bytes = read_bounded(&file)
        .map_err(|error| Refusal(format!("`{}` cannot be read: {error}", entry.shown)))?;
    bounded(&entry.shown, u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
    Ok(Some(bytes))
}

pub(in crate::files) fn read_bounded(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than allowed tells "too large" from "just fits".
    file.take(EDIT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(in crate::files) fn bounded(shown: &str, bytes: u64) -> Result<(), Refusal> {
    if bytes <= EDIT_BYTES_MAX {
        return Ok(());
    }
    Err(Refusal(format!(
        "`{shown}` has or would have more than {EDIT_BYTES_MAX} bytes: change it with shell"
    )))
}
