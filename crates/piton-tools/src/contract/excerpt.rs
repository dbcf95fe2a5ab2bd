//! Text in bounds: cuts that break no character, notes that say what was cut.

use std::fmt::Display;

/// Says that a line was cut.
pub(crate) const CUT_MARK: &str = " [cut]";

/// The longest beginning of `text` that has at most `bytes_max` bytes.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

/// The longest end of `text` that has at most `bytes_max` bytes.
pub(crate) fn tail(text: &str, bytes_max: usize) -> &str {
    let start = text.len().saturating_sub(bytes_max);
    text.get(text.ceil_char_boundary(start)..).unwrap_or(text)
}

/// Adds a remark of the tool's own, on a line of its own.
pub(crate) fn note(text: &mut String, note: impl Display) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&note.to_string());
}

/// `text` without its line end, and with a mark if it had to be cut.
pub(crate) fn line(text: &str, bytes_max: usize) -> String {
    let text = text.trim_end_matches(['\n', '\r']);
    let kept = head(text, bytes_max);
    if kept.len() == text.len() { text.to_owned() } else { format!("{kept}{CUT_MARK}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_never_split_a_character() {
        let text = "aé漢🙂";
        for bytes in 0..=text.len() + 1 {
            assert!(head(text, bytes).len() <= bytes);
            assert!(tail(text, bytes).len() <= bytes);
            assert!(text.starts_with(head(text, bytes)));
            assert!(text.ends_with(tail(text, bytes)));
        }
        assert_eq!(head(text, 100), text);
        assert_eq!(tail(text, 100), text);
        assert_eq!(line("abcdef\r\n", 3), "abc [cut]");
        assert_eq!(line("abc\n", 3), "abc");
    }
}
