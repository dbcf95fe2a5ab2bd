//! The line that a person types while a turn runs. The terminal neither shows nor edits it then, so that it
//! never mixes with what the turn shows.

use crate::ask::LineEdit;
use crate::terminal::named_key;

/// What ends a line.
const RETURNS: [u8; 2] = [b'\r', b'\n'];
const ESCAPE: u8 = 0x1b;
/// Keys that delete: both backspaces, Ctrl-U for all of the line, Ctrl-W for the last word. Nobody sees a
/// cursor, so no key moves it.
const DELETING: [u8; 4] = [0x08, 0x7f, 0x15, 0x17];
/// Longest line, in letters; what is typed beyond that is dropped.
const LINE_CHARS_MAX: usize = 64 * 1024;

/// The line that is being typed.
#[derive(Debug)]
pub(crate) struct Typing {
    line: LineEdit,
}

impl Default for Typing {
    fn default() -> Self {
        Self { line: LineEdit::empty(LINE_CHARS_MAX) }
    }
}

/// What the keys came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// A line was ended.
    Line(String),
    /// The escape key, alone.
    Escape,
}

impl Typing {
    /// What is typed of the line so far.
    pub(crate) fn text(&self) -> String {
        self.line.text()
    }

    /// Takes what is typed so far away, to be typed on elsewhere.
    pub(crate) fn take_text(&mut self) -> String {
        std::mem::take(self).text()
    }

    /// Takes keys in, as the bytes that the terminal sends.
    pub(crate) fn take(&mut self, keys: &[u8]) -> Vec<Pressed> {
        if keys == [ESCAPE] {
            return vec![Pressed::Escape];
        }
        let mut pressed = Vec::new();
        let mut rest = keys;
        while let Some((key, behind)) = rest.split_first() {
            rest = behind;
            match *key {
                ESCAPE => {
                    let other = || behind.get(1..).unwrap_or_default();
                    rest = named_key(behind).map_or_else(other, |(_, rest)| rest);
                }
                key if RETURNS.contains(&key) => {
                    let line = self.take_text();
                    if !line.trim().is_empty() {
                        pressed.push(Pressed::Line(line));
                    }
                }
                b'\t' => drop(self.line.press(b" ")),
                key if key.is_ascii_control() && !DELETING.contains(&key) => {}
                key => drop(self.line.press(&[key])),
            }
        }
        pressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pieces: &[&[u8]]) -> (Vec<Pressed>, String) {
        let mut typing = Typing::default();
        let pressed = pieces.iter().flat_map(|piece| typing.take(piece)).collect();
        (pressed, typing.text())
    }

    fn line(text: &str) -> Pressed {
        Pressed::Line(text.into())
    }

    #[test]
    fn lines_are_edited_and_ended() {
        for (keys, pressed, rest) in [
            ("one\rtwo", vec![line("one")], "two"),
            ("\r\n  \r", vec![], ""),
            ("abx\x7fc", vec![], "abc"),
            ("one two\x17three", vec![], "one three"),
            ("one\x15two\r", vec![line("two")], ""),
            ("a\x1b[Ab\x1b[1;5Cc\x1bOPd", vec![], "abcd"),
            ("a\x01\x04b", vec![], "ab"),
            ("\x7f\x17", vec![], ""),
        ] {
            assert_eq!(typed(&[keys.as_bytes()]), (pressed, rest.to_owned()), "{keys:?}");
        }
    }

    #[test]
    fn letters_come_in_pieces_and_what_is_none_is_dropped() {
        let bytes = "日é".as_bytes();
        let (first, second) = bytes.split_at(2);
        assert_eq!(typed(&[first, second]), (vec![], "日é".into()));
        assert_eq!(typed(&[b"a\xff\xfeb"]), (vec![], "ab".into()));
    }

    #[test]
    fn escape_alone_is_a_key() {
        assert_eq!(typed(&[b"x", b"\x1b"]), (vec![Pressed::Escape], "x".into()));
    }
}
