//! How Gemini frames a stream.

/// How the pieces of an answer follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) enum Framing {
    Events,
    /// One JSON array that grows.
    Array,
}
