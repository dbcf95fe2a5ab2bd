//! Names of blobs: the digest of the content, so that equal content is kept once and decay shows.

use piton_core::event::BlobRef;
use piton_core::id::Digest;
use sha2::{Digest as _, Sha256};

use crate::{BLOB_BYTES_MAX, StoreError};

/// Length of a digest as text, in characters.
const DIGEST_CHARS: usize = 64;
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Names content, unless it is larger than any store takes.
pub(crate) fn name(content: &[u8]) -> Result<BlobRef, StoreError> {
    admit(content.len())?;
    let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
    Ok(BlobRef { digest: digest(content), bytes })
}

/// Refuses content that is larger than any store takes.
pub(crate) fn admit(bytes: usize) -> Result<(), StoreError> {
    if BLOB_BYTES_MAX < bytes { Err(StoreError::BlobSize { bytes }) } else { Ok(()) }
}

/// The name that this content must have.
pub(crate) fn digest(content: &[u8]) -> Digest {
    let mut sum = Summing::default();
    sum.add(content);
    sum.digest()
}

/// The name of content that comes in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summing(Sha256);

impl Summing {
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(crate) fn digest(self) -> Digest {
        let mut text = String::with_capacity(DIGEST_CHARS);
        for byte in self.0.finalize() {
            for half in [byte >> 4, byte & 15] {
                text.extend(HEX.get(usize::from(half)).map(|letter| char::from(*letter)));
            }
        }
        Digest::new(text)
    }
}

/// Whether a text can be the name of a blob at all. Asked before it becomes part of a path: a name
/// such as `../piton.db` must not lead anywhere.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == DIGEST_CHARS && text.bytes().all(|letter| HEX.contains(&letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_sha_256_in_lower_case_hexadecimal() {
        assert_eq!(
            digest(b"abc").as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert!(is_digest(digest(b"").as_str()));
    }

    #[test]
    fn paths_and_capitals_are_no_digests() {
        assert!(!is_digest("../piton.db"));
        assert!(!is_digest(&"A".repeat(DIGEST_CHARS)));
    }
}
