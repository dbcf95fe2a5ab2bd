//! What the same content is known by.

use std::fmt::Write as _;

use piton_core::id::Digest;
use sha2::{Digest as _, Sha256};

/// The digest of what was read.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    let hash = Sha256::digest(bytes);
    let mut text = String::new();
    for byte in hash {
        // Writing to memory cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    Digest::new(text)
}
