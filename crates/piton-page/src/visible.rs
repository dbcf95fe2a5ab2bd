//! Letters that a browser would obey, written so that they are seen.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Text in which nothing turns lines around, hides or is no letter at all.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_obeyed(letter) {
            // Writing to a string cannot fail.
            write!(shown, "\\u{{{:x}}}", u32::from(letter)).unwrap_or_default();
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// Text as HTML, between tags or within quotes.
pub(crate) fn escape(text: &str, html: &mut String) {
    for letter in visible(text).chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            letter => html.push(letter),
        }
    }
}

/// The same as a text of its own.
pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    escape(text, &mut html);
    html
}

/// Control characters but line ends and tabs, and those that change the direction of what follows.
fn is_obeyed(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => true,
        letter => letter.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_would_obey_is_seen() {
        assert_eq!(visible("a\u{202e}b\0c\rd"), "a\\u{202e}b\\u{0}c\\u{d}d");
        assert_eq!(visible("two\n\tlines, שלום 👩‍💻"), "two\n\tlines, שלום 👩‍💻");
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
