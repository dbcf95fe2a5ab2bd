//! Characters that a terminal would obey, written so that they are seen: on a terminal, and in a pipe that may
//! lead to one.
//!
//! What models say and files hold must not move the cursor, set a title or turn a line around.

use std::borrow::Cow;
use std::fmt::Write as _;

use piton_core::summary::name_on_one_line;

/// Text for a terminal.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |shown, code| match code {
        0..=0xff => write!(shown, "\\x{code:02x}"),
        _ => write!(shown, "\\u{{{code:x}}}"),
    })
}

/// A name on one line, whatever it contains.
pub(crate) fn visible_name(name: &str) -> Cow<'_, str> {
    match name_on_one_line(name) {
        Cow::Borrowed(name) => visible(name),
        // What is written out has nothing in it that a terminal obeys.
        Cow::Owned(written) => Cow::Owned(written),
    }
}

/// JSON for a terminal: the same value, in other letters.
pub(crate) fn visible_json(json: &str) -> Cow<'_, str> {
    replaced(json, |shown, code| write!(shown, "\\u{code:04x}"))
}

fn replaced(text: &str, put: impl Fn(&mut String, u32) -> std::fmt::Result) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_obeyed(letter) {
            // Writing to a string cannot fail.
            put(&mut shown, u32::from(letter)).unwrap_or_default();
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// Control characters but newline and tab, and those that change the direction of text.
fn is_obeyed(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        letter => letter.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(visible(text), expected, "{text:?}");
    }

    #[test]
    fn what_a_terminal_would_obey_is_seen() {
        check("\x1b]0;title\x07", "\\x1b]0;title\\x07");
        check("safe\rrm -rf", "safe\\x0drm -rf");
        check("\0\x08\x7f\u{80}\u{9b}2J\u{9f}", "\\x00\\x08\\x7f\\x80\\x9b2J\\x9f");
        check("\u{61c}a\u{200e}b\u{200f}", "\\u{61c}a\\u{200e}b\\u{200f}");
        check("a\u{202a}b\u{202e}c\u{2066}d\u{2069}", "a\\u{202a}b\\u{202e}c\\u{2066}d\\u{2069}");
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        for text in
            ["", "two\nlines\n", "\ta\tb", "naïve — 日本語 שלום 👩‍💻", "\\x1b", "\u{a0}\u{2065}"]
        {
            check(text, text);
            assert_eq!(visible_json(text), text);
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({ "text": "a\u{7f}b\u{9b}c\u{202e}d\x1b" });
        let shown = visible_json(&value.to_string()).into_owned();
        assert!(!shown.chars().any(is_obeyed), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).ok(), Some(value));
    }
}
