//! Seals on reasoning: what a provider signs, and finds altered when it comes back changed.
//!
//! A seal follows from what it seals, so that it can be checked without remembering anything, by
//! this process or by another. It protects nothing: it is as real as the model.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Bytes of the digest that go into a seal, two letters each.
const SEAL_BYTES: usize = 24;

/// The seal of a content for a model.
pub(super) fn of(model: &str, content: &str) -> String {
    let digest = Sha256::digest(format!("piton-sim\0{model}\0{content}"));
    // Four letters, so that the whole is base64, which Google's library insists on.
    let mut seal = String::from("simu");
    for byte in digest.iter().take(SEAL_BYTES) {
        // Writing to a string cannot fail.
        write!(seal, "{byte:02x}").unwrap_or_default();
    }
    seal
}

/// A block that came back with a seal on it.
#[derive(Debug)]
pub(super) struct Sealed {
    /// Where it stands, in the provider's words.
    pub(super) at: String,
    /// Whether it is as it was sent.
    pub(super) intact: bool,
}
