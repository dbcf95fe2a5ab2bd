//! From bytes to JSON values, whichever of the two framings they come in.
//!
//! The first byte that is not blank decides: an array or a bare object (how errors and some
//! gateways answer) is JSON, everything else is server-sent events. Nothing is parsed here.

use crate::sse::{EVENT_BYTES_MAX, EventReader, EventTooLarge, text};

/// Assembles the texts of JSON values.
#[derive(Debug, Default)]
pub(super) enum Frames {
    /// Only blanks so far.
    #[default]
    Undecided,
    /// `alt=sse`.
    Events(EventReader),
    /// The growing array.
    Values(ValueReader),
}

impl Frames {
    /// Takes in the next bytes; gives every value that they complete to `take`.
    pub(super) fn push<E: From<EventTooLarge>>(
        &mut self,
        bytes: &[u8],
        take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut bytes = bytes;
        if let Self::Undecided = self {
            // A byte order mark counts as blank.
            let blank = |byte: &u8| byte.is_ascii_whitespace() || b"\xEF\xBB\xBF".contains(byte);
            let (_, rest) = bytes.split_at(bytes.iter().take_while(|byte| blank(byte)).count());
            bytes = rest;
            *self = match rest.first() {
                None => Self::Undecided,
                Some(b'[' | b'{') => Self::Values(ValueReader::default()),
                Some(_) => Self::Events(EventReader::default()),
            };
        }
        match self {
            Self::Undecided => Ok(()),
            Self::Events(reader) => reader.push(bytes, take),
            Self::Values(reader) => reader.push(bytes, take),
        }
    }

    /// Whether the framing itself says that nothing follows. Events never do.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Values(reader) if reader.closed)
    }
}

/// Cuts an array into its objects without waiting for the array's end.
#[derive(Debug, Default)]
pub(super) struct ValueReader {
    value: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl ValueReader {
    fn push<E: From<EventTooLarge>>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        for byte in bytes {
            if self.depth == 0 {
                match byte {
                    b'{' if !self.closed => {
                        self.value.push(*byte);
                        self.depth = 1;
                    }
                    b']' => self.closed = true,
                    // The opening bracket, commas and line breaks; what else a gateway puts
                    // between the values means nothing.
                    _ => {}
                }
                continue;
            }
            self.value.push(*byte);
            if EVENT_BYTES_MAX < self.value.len() {
                return Err(EventTooLarge.into());
            }
            if self.take(*byte) {
                // Decoded as a whole, so a character split over pieces stays whole.
                let taken = take(&text(&self.value));
                self.value.clear();
                taken?;
            }
        }
        Ok(())
    }

    /// Follows the nesting; whether the value is whole now.
    fn take(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &[&str], closed: bool) {
        for size in [1, 2, 3, 7, 4096] {
            let mut frames = Frames::default();
            let mut values = Vec::new();
            for piece in body.as_bytes().chunks(size) {
                let take = |value: &str| {
                    values.push(value.to_owned());
                    Ok::<(), EventTooLarge>(())
                };
                frames.push(piece, take).unwrap();
            }
            assert_eq!(values, expected, "in pieces of {size}");
            assert_eq!(frames.is_closed(), closed, "in pieces of {size}");
        }
    }

    // O31: a brace inside a string, or at the end of a piece, does not end a value.
    #[test]
    fn an_array_is_cut_into_its_objects() {
        let first = r#"{"a":"}]\"{ä","b":[{}]}"#;
        check(&format!("[{first}\r\n,\n{{}}\n]\n"), &[first, "{}"], true);
        check(&format!("\u{feff} [{first},{{\"cut\":"), &[first], false);
    }

    #[test]
    fn what_follows_the_array_is_not_read() {
        check(r#"[{}]{"late":1}"#, &["{}"], true);
    }

    #[test]
    fn a_bare_object_is_one_value() {
        check("{\"error\":{}}\n", &[r#"{"error":{}}"#], false);
    }

    #[test]
    fn all_else_is_events() {
        check("\r\n: hello\r\ndata: {}\r\n\r\n", &["{}"], false);
    }
}
