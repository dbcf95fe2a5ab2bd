//! A line that a person changes, key by key, with the old text in it. Nothing is read or shown here.

use unicode_width::UnicodeWidthChar as _;

use crate::terminal::named_key;

/// Longest text that can be changed so, in characters.
const CHARS_MAX: usize = 8 * 1024;
/// What stands for the end of a line within the text.
const LINE_END: char = '↵';
/// What keys with names begin with.
const ESCAPE: u8 = 0x1b;

/// A text that is being changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineEdit {
    letters: Vec<char>,
    /// In front of which letter the cursor is.
    at: usize,
    /// The beginning of a letter whose end has not come.
    half: Vec<u8>,
    /// Most letters.
    chars_max: usize,
}

/// What keys lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edited {
    /// More keys.
    On,
    /// The text, as it is now.
    Whole(String),
    /// Nobody wants to change anything.
    Left,
}

impl LineEdit {
    /// Begins with a text, behind its end.
    pub(crate) fn new(text: &str) -> Self {
        let letters: Vec<char> = text.chars().take(CHARS_MAX).collect();
        Self { at: letters.len(), letters, half: Vec::new(), chars_max: CHARS_MAX }
    }

    /// Begins with nothing, and takes so many letters.
    pub(crate) fn empty(chars_max: usize) -> Self {
        Self { chars_max, ..Self::new("") }
    }

    /// The text, as it is now.
    pub(crate) fn text(&self) -> String {
        self.letters.iter().collect()
    }

    /// Takes in what was typed at once.
    pub(crate) fn press(&mut self, typed: &[u8]) -> Edited {
        let mut rest = typed;
        while let Some((first, behind)) = rest.split_first() {
            rest = behind;
            match *first {
                ESCAPE if behind.is_empty() => return Edited::Left,
                ESCAPE => rest = self.press_named(behind),
                b'\r' | b'\n' => return Edited::Whole(self.text()),
                0x01 => self.at = 0,
                0x05 => self.at = self.letters.len(),
                0x02 => self.at = self.at.saturating_sub(1),
                0x06 => self.at = (self.at + 1).min(self.letters.len()),
                0x04 => self.delete(self.at, self.at + 1),
                0x08 | 0x7f => self.delete(self.at.saturating_sub(1), self.at),
                0x0b => self.delete(self.at, self.letters.len()),
                0x15 => self.delete(0, self.at),
                0x17 => self.delete(self.word_begin(), self.at),
                byte @ (b' '..=b'~' | 0x80..) => self.insert(byte),
                _ => {}
            }
        }
        Edited::On
    }

    /// What is seen of it in so many columns, and in which of them the cursor is.
    pub(crate) fn seen(&self, columns: usize) -> (String, usize) {
        let columns = columns.max(2);
        let shown: Vec<char> = self.letters.iter().map(|letter| shown(*letter)).collect();
        let width =
            |letters: &[char]| letters.iter().map(|it| it.width().unwrap_or(1)).sum::<usize>();
        let before = shown.get(..self.at).unwrap_or_default();
        // The cursor stays in sight, and so does what is in front of it.
        let first = (0..=before.len())
            .find(|first| before.get(*first..).is_some_and(|seen| width(seen) < columns));
        let first = first.unwrap_or(before.len());
        let mut text = String::new();
        let mut room = columns.saturating_sub(1);
        for letter in shown.iter().skip(first) {
            let Some(left) = room.checked_sub(letter.width().unwrap_or(1)) else { break };
            room = left;
            text.push(*letter);
        }
        (text, width(before.get(first..).unwrap_or_default()))
    }

    fn delete(&mut self, from: usize, to: usize) {
        let to = to.min(self.letters.len());
        if from < to {
            self.letters.drain(from..to);
            self.at = from;
        }
    }

    /// Where the word in front of the cursor begins.
    fn word_begin(&self) -> usize {
        let before = self.letters.get(..self.at).unwrap_or_default();
        let behind_blanks =
            before.iter().rposition(|it| !it.is_whitespace()).map_or(0, |it| it + 1);
        let word = before.get(..behind_blanks).unwrap_or_default();
        word.iter().rposition(|it| it.is_whitespace()).map_or(0, |it| it + 1)
    }

    fn insert(&mut self, byte: u8) {
        self.half.push(byte);
        match std::str::from_utf8(&self.half) {
            // A letter whose end has not come yet.
            Err(error) if error.error_len().is_none() => return,
            Ok(text) if self.letters.len() < self.chars_max => {
                for letter in text.chars() {
                    self.letters.insert(self.at, letter);
                    self.at += 1;
                }
            }
            Ok(_) | Err(_) => {}
        }
        self.half.clear();
    }

    /// Takes a key that sends several bytes behind an escape; gives what comes behind it.
    fn press_named<'a>(&mut self, behind: &'a [u8]) -> &'a [u8] {
        let Some((key, rest)) = named_key(behind) else {
            return behind.get(1..).unwrap_or_default();
        };
        match key {
            b"D" => self.at = self.at.saturating_sub(1),
            b"C" => self.at = (self.at + 1).min(self.letters.len()),
            b"H" | b"1~" => self.at = 0,
            b"F" | b"4~" => self.at = self.letters.len(),
            b"3~" => self.delete(self.at, self.at + 1),
            _ => {}
        }
        rest
    }
}

/// A letter that takes a place and moves no cursor.
fn shown(letter: char) -> char {
    match letter {
        '\n' => LINE_END,
        letter if letter.is_control() || letter.width().is_none_or(|width| width == 0) => '�',
        letter => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, typed: &[&[u8]], expected: &str) {
        let mut line = LineEdit::new(text);
        for keys in typed {
            assert_eq!(line.press(keys), Edited::On, "{keys:?}");
        }
        assert_eq!(line.press(b"\r"), Edited::Whole(expected.into()));
    }

    #[test]
    fn a_text_is_changed_where_the_cursor_is() {
        check("cargo test", &[b" -q"], "cargo test -q");
        check("rm a b", &[b"\x7f\x7f", b"c"], "rm ac");
        check("rm a", &[b"\x01", b"echo "], "echo rm a");
        check("rm a", &[b"\x1b[D\x1b[D", b"-i"], "rm-i a");
        check("rm a", &[b"\x1b[H\x1b[3~\x1b[3~", b"ls"], "ls a");
        check("git push -f", &[b"\x17"], "git push ");
        check("git push -f", &[b"\x15", b"ls"], "ls");
        check("git push", &[b"\x01\x0b", b"ls"], "ls");
        // A letter may come in pieces, and what is no letter is left out.
        check("", &[b"\xc3", b"\xa4", b"\x00\x1b[15~"], "ä");
    }

    #[test]
    fn escape_leaves_the_text_as_it_was() {
        assert_eq!(LineEdit::new("x").press(b"\x1b"), Edited::Left);
    }

    #[test]
    fn the_cursor_stays_in_sight() {
        assert_eq!(LineEdit::new("abc").seen(10), ("abc".into(), 3));
        assert_eq!(LineEdit::new("abcdefghij").seen(5), ("ghij".into(), 4));
        let mut line = LineEdit::new("abcdefghij");
        line.press(b"\x01");
        assert_eq!(line.seen(5), ("abcd".into(), 0));
        assert_eq!(LineEdit::new("a\nb\u{1b}\u{200b}").seen(9), ("a↵b��".into(), 5));
        assert_eq!(LineEdit::new("日本語").seen(5), ("本語".into(), 4));
    }
}
