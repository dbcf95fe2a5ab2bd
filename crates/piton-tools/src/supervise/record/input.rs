//! The mailbox of a command: texts that it is to read, and how much of them its input has taken. The
//! file `in`.
//!
//! One checksummed line for each, as in the log. A text counts as soon as its whole line is there.
//! Its key tells a later process whether it was written. All texts in their order are one stream;
//! the supervisors see to it that each of its bytes reaches the command once.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files::opening;
use super::log;

/// The name of the file.
const NAME: &str = "in";
/// Longest mailbox that is read, in bytes: [`INPUT_BYTES_MAX`](crate::supervise::INPUT_BYTES_MAX),
/// escaped.
const BYTES_MAX: u64 = 32 * 1024 * 1024;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Line {
    /// A text for the command.
    #[serde(rename = "W")]
    Text(Text),
    /// So many bytes of all have been taken. Written by a supervisor.
    #[serde(rename = "F")]
    Taken(Taken),
}

/// A text for a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Text {
    /// Its unique name. Of two texts with the same key the first one counts.
    pub(crate) key: String,
    /// What.
    pub(crate) body: String,
    /// Whether nothing comes behind it.
    pub(crate) end: bool,
    /// How much the command had printed then, in bytes.
    pub(crate) printed: u64,
}

/// How far the input of a command is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// How many bytes of all texts.
    pub(crate) bytes: u64,
    /// Whether it has been closed, so that no more will be.
    pub(crate) closed: bool,
}

/// A text and its place in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Its first byte in the stream.
    pub(crate) from: u64,
    /// What and whose.
    pub(crate) text: Text,
}

impl Placed {
    /// The byte behind its last one.
    pub(crate) fn until(&self) -> u64 {
        self.from + self.text.body.len() as u64
    }
}

/// All texts, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    /// The texts.
    pub(crate) texts: Vec<Placed>,
    /// Where the next one begins.
    pub(crate) length: u64,
    /// Whether nothing comes behind the last text.
    pub(crate) ended: bool,
    /// The last word on what was taken.
    pub(crate) taken: Taken,
}

impl Stream {
    /// Reads the whole file.
    pub(crate) fn read(mailbox: &File) -> io::Result<Self> {
        let bytes = log::read_from(mailbox, 0, mailbox.metadata()?.len().min(BYTES_MAX))?;
        let mut stream = Self::default();
        stream.add(&bytes);
        Ok(stream)
    }

    /// Adds what more lines say. A text behind the end, or with a key that was there before, counts
    /// for nothing.
    pub(crate) fn add(&mut self, lines: &[u8]) {
        for line in log::records(lines) {
            match line {
                Line::Taken(taken) => self.taken = taken,
                Line::Text(text) if self.ended || self.find(&text.key).is_some() => {}
                Line::Text(text) => {
                    self.ended = text.end;
                    let placed = Placed { from: self.length, text };
                    self.length = placed.until();
                    self.texts.push(placed);
                }
            }
        }
    }

    /// The text of a key.
    pub(crate) fn find(&self, key: &str) -> Option<&Placed> {
        self.texts.iter().find(|placed| placed.text.key == key)
    }
}

/// Makes the file.
pub(crate) fn create(directory: &Path) -> io::Result<File> {
    opening().create_new(true).open(directory.join(NAME))
}

/// Opens the file.
pub(crate) fn open(directory: &Path) -> io::Result<File> {
    opening().open(directory.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(key: &str, text: &str, end: bool) -> Line {
        Line::Text(Text { key: key.into(), body: text.into(), end, printed: 0 })
    }

    fn check(lines: &[Line], expected: &[(&str, u64, u64)]) -> Stream {
        let file: String = lines.iter().map(|line| log::encode(line).unwrap()).collect();
        let mut stream = Stream::default();
        stream.add(file.as_bytes());
        let found = stream.texts.iter().map(|it| (it.text.key.as_str(), it.from, it.until()));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        stream
    }

    #[test]
    fn texts_lie_behind_each_other() {
        let taken = Line::Taken(Taken { bytes: 4, closed: false });
        let stream = check(
            &[text("a", "one\n", false), taken, text("b", "zwölf\n", false)],
            &[("a", 0, 4), ("b", 4, 11)],
        );
        assert_eq!((stream.length, stream.ended, stream.taken.bytes), (11, false, 4));
    }

    #[test]
    fn a_key_counts_once_and_nothing_comes_behind_the_end() {
        let stream = check(
            &[
                text("a", "x", false),
                text("a", "x", false),
                text("b", "", true),
                text("c", "y", true),
            ],
            &[("a", 0, 1), ("b", 1, 1)],
        );
        assert!(stream.ended);
        assert!(stream.find("c").is_none());
    }

    #[test]
    fn a_torn_line_does_not_count_and_takes_no_other_along() {
        let whole = log::encode(&text("a", "first\n", false)).unwrap();
        let next = log::encode(&text("b", "second\n", false)).unwrap();
        for cut in 0..whole.trim_end().len() {
            let mut stream = Stream::default();
            stream.add(format!("{}{next}", &whole[..cut]).as_bytes());
            assert_eq!((stream.texts.len(), stream.length), (1, 7), "cut at {cut}");
        }
    }
}
