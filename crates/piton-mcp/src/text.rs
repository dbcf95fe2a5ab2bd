//! Texts of others in bounds, and digests.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// SHA-256 as lower-case hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").unwrap_or_default();
        hex
    })
}

/// The longest beginning that has at most so many bytes.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

/// The longest end that has at most so many bytes.
pub(crate) fn tail(text: &str, bytes_max: usize) -> &str {
    let start = text.len().saturating_sub(bytes_max);
    text.get(text.ceil_char_boundary(start)..).unwrap_or(text)
}

/// One line, in bounds.
pub(crate) fn line(text: &str, bytes_max: usize) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    let flat = flat.join(" ");
    let kept = head(&flat, bytes_max);
    if kept.len() == flat.len() { flat } else { format!("{kept}…") }
}
