//! Texts that the service takes for empty, and rejects.

/// Whether the service takes a text for empty. Python's idea of white space, which it shares, is
/// wider than ours by some control characters.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|letter| letter.is_whitespace() || letter.is_control())
}
