//! SHA-256 of file contents, written the way the journal writes digests.

use std::fmt::Write as _;

use piton_core::id::Digest;
use sha2::{Digest as _, Sha256};

/// The digest of `bytes`.
pub(crate) fn of(bytes: &[u8]) -> Digest {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _always_ok = write!(hex, "{byte:02x}");
    }
    Digest::new(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_lower_case_hexadecimal_sha_256() {
        assert_eq!(
            of(b"abc").as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
