//! Reading what a command may have put somewhere: a pipe would never end, and a link leads elsewhere.

use std::io::Read as _;
use std::path::Path;

use crate::files::open_regular;

/// At most so many bytes of a file; nothing of a link, or of what is no file.
pub(super) fn read(file: &Path, most: u64) -> Option<Vec<u8>> {
    if file.is_symlink() {
        return None;
    }
    let mut bytes = Vec::new();
    open_regular(file).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
