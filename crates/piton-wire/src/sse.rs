//! Server-sent events from bytes in pieces of any size.
//!
//! Lines end with LF, CRLF or CR; comments and unknown fields are skipped; several `data:` lines
//! join with a line break; an empty line ends an event; an event without one at the end of the body
//! is discarded. Text is decoded per line, so a character that is split over pieces stays whole.
//! Some servers send JSON objects one to a line instead; a reader may take those as well. And some
//! answer with a single object, as they answer with an error: that is kept until the end.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// Longest line and longest event, in bytes; what is longer is an error of the stream.
pub const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Longest body that is kept because it may be a single object, in bytes.
const OBJECT_BYTES_MAX: usize = 64 * 1024;

/// Assembles events.
#[derive(Debug, Default)]
pub struct EventReader {
    line: Vec<u8>,
    data: String,
    has_data: bool,
    after_cr: bool,
    takes_lines: bool,
    body: Body,
}

/// What a body seems to be, by how it begins.
#[derive(Debug, Default)]
enum Body {
    #[default]
    Blank,
    Object(Vec<u8>),
    Stream,
}

impl Body {
    fn push(&mut self, bytes: &[u8]) {
        if let Self::Blank = self {
            *self = match bytes.trim_ascii_start().first() {
                None => Self::Blank,
                Some(b'{') => Self::Object(Vec::new()),
                Some(_) => Self::Stream,
            };
        }
        if let Self::Object(object) = self {
            if OBJECT_BYTES_MAX < object.len() + bytes.len() {
                *self = Self::Stream;
            } else {
                object.extend_from_slice(bytes);
            }
        }
    }
}

/// An event or line is larger than [`EVENT_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {EVENT_BYTES_MAX} bytes")]
pub struct EventTooLarge;

impl EventReader {
    /// Takes a line that is a JSON object for an event, which to others means nothing.
    pub fn with_lines() -> Self {
        Self { takes_lines: true, ..Self::default() }
    }

    /// Takes in the next bytes; gives the data of every event that they complete to `take`, one at
    /// a time, so that what came before an error has been read when the error is told.
    pub fn push<E: From<EventTooLarge>>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.body.push(bytes);
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            // Whole runs between line ends: byte by byte is slower than the JSON parser behind.
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let (run, behind) = rest.split_at(end.unwrap_or(rest.len()));
            if EVENT_BYTES_MAX < self.line.len() + run.len() + self.data.len() {
                return Err(EventTooLarge.into());
            }
            let Some((end, behind)) = behind.split_first() else {
                self.line.extend_from_slice(run);
                break;
            };
            self.after_cr = *end == b'\r';
            if self.line.is_empty() {
                rest = self.end_line(run, behind, &mut take)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(run);
                let ended = self.end_line(&line, behind, &mut take);
                line.clear();
                self.line = line;
                rest = ended?;
            }
        }
        Ok(())
    }

    /// The body, if it is a single JSON object that was no event.
    pub fn object(&self) -> Option<String> {
        let Body::Object(object) = &self.body else { return None };
        let object = text(object).trim().to_owned();
        serde_json::from_str::<IgnoredAny>(&object).is_ok().then_some(object)
    }

    /// Takes in a line; gives what is left of the bytes behind it.
    fn end_line<'a, E>(
        &mut self,
        line: &[u8],
        behind: &'a [u8],
        take: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<&'a [u8], E> {
        if line.is_empty() {
            if std::mem::take(&mut self.has_data) {
                let taken = take(&self.data);
                self.data.clear();
                taken?;
            }
            return Ok(behind);
        }
        let line = text(line);
        if self.takes_lines && line.starts_with('{') && line.ends_with('}') {
            self.body = Body::Stream;
            return take(&line).map(|()| behind);
        }
        let Some(value) = data_of(&line) else { return Ok(behind) };
        // Nearly every event is one line and an empty one: those need not be kept anywhere.
        if !self.has_data
            && let Some(rest) = self.behind_empty_line(behind)
        {
            take(value)?;
            return Ok(rest);
        }
        if self.has_data {
            self.data.push('\n');
        }
        self.data.push_str(value);
        self.has_data = true;
        Ok(behind)
    }

    /// What follows the empty line that comes next, if one does.
    fn behind_empty_line<'a>(&mut self, behind: &'a [u8]) -> Option<&'a [u8]> {
        let crlf = if self.after_cr { behind.strip_prefix(b"\n") } else { None };
        let (first, rest) = crlf.unwrap_or(behind).split_first()?;
        matches!(first, b'\n' | b'\r').then(|| {
            self.after_cr = *first == b'\r';
            rest
        })
    }
}

/// Text from bytes that should be UTF-8. The check of the standard library is many times faster than
/// its lossy reading, which is for the few that are not.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The value of a data field.
fn data_of(line: &str) -> Option<&str> {
    let value = line.strip_prefix("data")?;
    let value = value.strip_prefix(':').or(value.is_empty().then_some(""))?;
    Some(value.strip_prefix(' ').unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &[&str]) {
        for size in [1, 2, 3, 7, 4096] {
            let mut reader = EventReader::default();
            let mut events = Vec::new();
            for piece in body.as_bytes().chunks(size) {
                let take = |event: &str| {
                    events.push(event.to_owned());
                    Ok::<(), EventTooLarge>(())
                };
                reader.push(piece, take).unwrap();
            }
            assert_eq!(events, expected, "in pieces of {size}");
        }
    }

    // O31
    #[test]
    fn lines_end_in_three_ways() {
        check("data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n", &["a", "b", "c", "d"]);
    }

    #[test]
    fn comments_names_and_unknown_fields_are_skipped() {
        check(": ping\nevent: x\nid: 1\nretry: 5\ndata:a\ndatabase: no\n\n", &["a"]);
    }

    #[test]
    fn data_lines_join_and_the_first_space_goes() {
        check("data: a\ndata:  b\ndata\ndata:\n\n", &["a\n b\n\n"]);
    }

    #[test]
    fn an_event_without_its_empty_line_is_discarded() {
        check("data: a\n\ndata: cut\n", &["a"]);
        check("\n\n\n", &[]);
    }

    #[test]
    fn events_before_one_that_is_too_large_are_given() {
        let body = format!("data: a\n\ndata: {}", "x".repeat(EVENT_BYTES_MAX));
        for size in [4096, body.len()] {
            let (mut reader, mut events) = (EventReader::default(), Vec::new());
            let mut take = |event: &str| {
                events.push(event.to_owned());
                Ok(())
            };
            let mut pieces = body.as_bytes().chunks(size);
            let read = pieces.try_for_each(|piece| reader.push(piece, &mut take));
            assert_eq!((read, events), (Err(EventTooLarge), vec!["a".to_owned()]));
        }
    }

    #[test]
    fn split_characters_stay_whole() {
        check("data: äöü 🧗\n\n", &["äöü 🧗"]);
    }
}
