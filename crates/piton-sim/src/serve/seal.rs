//! Seals on reasoning: what a provider signs, and finds altered when it comes back changed.
//!
//! A seal has two parts: one follows from what it seals, one from everything that stood before it when
//! it was given (system, tools, messages, byte for byte). So both are checked without remembering
//! anything, by this process or by another. A client whose history changed for a reason leaves out the
//! sealed blocks behind the change, and is not refused; no other change is accepted. It protects
//! nothing: it is as real as the model.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Bytes of the digest of what is sealed, two letters each.
const CONTENT_BYTES: usize = 24;
/// Bytes of the digest of what stands before it.
const BEFORE_BYTES: usize = 12;

/// The seal of a content for a model, behind what stands before it.
pub(super) fn of(model: &str, content: &str, before: &str) -> String {
    // Four letters, so that the whole is base64, which Google's library insists on.
    let content = digest(&format!("piton-sim\0{model}\0{content}"), CONTENT_BYTES);
    format!("simu{content}{}", digest(before, BEFORE_BYTES))
}

/// What became of a seal.
pub(super) fn check(seal: &str, model: &str, content: &str, before: &str) -> Condition {
    let expected = of(model, content, before);
    let is_content = |seal: &str| {
        let length = expected.len() - 2 * BEFORE_BYTES;
        seal.len() == expected.len() && seal.get(..length) == expected.get(..length)
    };
    if seal == expected {
        Condition::Intact
    } else if is_content(seal) {
        Condition::Moved
    } else {
        Condition::Altered
    }
}

fn digest(of: &str, bytes: usize) -> String {
    let mut letters = String::new();
    for byte in Sha256::digest(of).iter().take(bytes) {
        // Writing to a string cannot fail.
        write!(letters, "{byte:02x}").unwrap_or_default();
    }
    letters
}

/// How a sealed block came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// As it was sent.
    Intact,
    /// The block or its seal was changed.
    Altered,
    /// The block is as it was, and what stands before it is not.
    Moved,
}

/// A block that came back with a seal on it.
#[derive(Debug)]
pub(super) struct Sealed {
    /// Where it stands, in the provider's words.
    pub(super) at: String,
    /// How it came back.
    pub(super) condition: Condition,
}
