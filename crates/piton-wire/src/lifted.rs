//! Large opaque strings (signatures, encrypted reasoning), lifted out of an event before it is
//! parsed: a parser looks at every byte of them, most of them several times, to learn nothing.
//!
//! Knows under which key such a string stands and that nothing in it is escaped. What is not plainly
//! one stays where it is, so that an event means the same with and without this.

use std::borrow::Cow;

/// Strings below this size, in bytes, are parsed where they are.
const LARGE_BYTES: usize = 4 * 1024;

/// Stands where a string was. Not empty, because that would mean something.
const STAND_IN: &str = "\"lifted\"";

/// JSON without its large strings.
#[derive(Debug)]
pub(crate) struct Lifted<'a> {
    rest: Cow<'a, str>,
    taken: Vec<Taken<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Taken<'a> {
    /// Where its stand-in begins in the rest.
    at: usize,
    /// As it stood there, quotes included.
    value: &'a str,
}

impl<'a> Lifted<'a> {
    /// Lifts the large strings under the first of the keys (quotes included) that has any.
    pub(crate) fn of(data: &'a str, keys: &[&str]) -> Self {
        if data.len() < LARGE_BYTES {
            return Self { rest: Cow::Borrowed(data), taken: Vec::new() };
        }
        let lifted = keys.iter().find_map(|key| Self::under(data, key));
        lifted.unwrap_or(Self { rest: Cow::Borrowed(data), taken: Vec::new() })
    }

    fn under(data: &'a str, key: &str) -> Option<Self> {
        let finder = memchr::memmem::Finder::new(key);
        let (mut rest, mut taken) = (String::new(), Vec::new());
        // Up to where the rest is written, and up to where the data is searched.
        let (mut written, mut seen) = (0, 0);
        while let Some(place) = finder.find(data.as_bytes().get(seen..)?) {
            seen += place + key.len();
            let Some(value) = large_string(data.get(seen..)?) else { continue };
            let start = value.as_ptr().addr() - data.as_ptr().addr();
            rest.push_str(data.get(written..start)?);
            taken.push(Taken { at: rest.len(), value });
            rest.push_str(STAND_IN);
            seen = start + value.len();
            written = seen;
        }
        rest.push_str(data.get(written..)?);
        (!taken.is_empty()).then_some(Self { rest: Cow::Owned(rest), taken })
    }

    /// What is left to parse.
    pub(crate) fn rest(&self) -> &str {
        &self.rest
    }

    /// Whether something was lifted out of a part of the rest.
    pub(crate) fn is_cut(&self, part: &str) -> bool {
        self.inside(part).next().is_some()
    }

    /// Something that was borrowed from the rest, as it came.
    pub(crate) fn whole<'b>(&'b self, part: &'b str) -> Cow<'b, str> {
        if !self.is_cut(part) {
            return Cow::Borrowed(part);
        }
        let bytes: usize = self.inside(part).map(|(_, value)| value.len()).sum();
        let mut whole = String::with_capacity(part.len() + bytes);
        let mut copied = 0;
        for (at, value) in self.inside(part) {
            whole.push_str(part.get(copied..at).unwrap_or_default());
            whole.push_str(value);
            copied = at + STAND_IN.len();
        }
        whole.push_str(part.get(copied..).unwrap_or_default());
        Cow::Owned(whole)
    }

    /// What was lifted out of a part of the rest, and where in the part. Told by where it lies in
    /// memory: a text that merely looks like a stand-in is none.
    fn inside<'b>(&'b self, part: &'b str) -> impl Iterator<Item = (usize, &'b str)> {
        let start = part.as_ptr().addr().wrapping_sub(self.rest.as_ptr().addr());
        self.taken.iter().filter_map(move |taken| {
            let at = taken.at.checked_sub(start)?;
            (at + STAND_IN.len() <= part.len()).then_some((at, taken.value))
        })
    }
}

/// The large string that follows a key, quotes included. Nothing in an opaque one needs escaping.
fn large_string(behind_key: &str) -> Option<&str> {
    let value = behind_key.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
    let inner = value.strip_prefix('"')?;
    let end = memchr::memchr2(b'"', b'\\', inner.as_bytes())?;
    if end < LARGE_BYTES || inner.as_bytes().get(end) != Some(&b'"') {
        return None;
    }
    let value = value.get(..end + 2)?;
    // Without leaving early, so that many bytes are looked at together.
    let least = value.bytes().fold(u8::MAX, u8::min);
    (b' ' <= least).then_some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const KEYS: [&str; 2] = ["\"seal\"", "\"data\""];

    fn long() -> String {
        "Zm9v".repeat(LARGE_BYTES)
    }

    /// The whole must come back, and mean the same.
    fn check(data: &str, lifts: usize) {
        let lifted = Lifted::of(data, &KEYS);
        assert_eq!(lifted.taken.len(), lifts, "{data:.80}");
        assert_eq!(lifted.whole(lifted.rest()), data);
        let mut rest: Value = serde_json::from_str(lifted.rest()).unwrap();
        let mut values: Vec<String> =
            lifted.taken.iter().map(|taken| serde_json::from_str(taken.value).unwrap()).collect();
        put_back(&mut rest, &mut values);
        assert_eq!(values, Vec::<String>::new());
        assert_eq!(rest, serde_json::from_str::<Value>(data).unwrap());
    }

    fn put_back(value: &mut Value, lifted: &mut Vec<String>) {
        match value {
            Value::String(text) if text == "lifted" => *text = lifted.remove(0),
            Value::Array(list) => list.iter_mut().for_each(|it| put_back(it, lifted)),
            Value::Object(fields) => fields.values_mut().for_each(|it| put_back(it, lifted)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn large_strings_are_taken_out() {
        let long = long();
        check(&format!(r#"{{"seal":"{long}"}}"#), 1);
        check(&format!(r#"[{{"seal" : "{long}","b":1}},{{"a":{{"seal":"{long}"}}}}]"#), 2);
        check(&format!(r#"{{"data":"{long}"}}"#), 1);
        check(&format!(r#"{{"type":"seal","seal":"{long}"}}"#), 1);
    }

    #[test]
    fn what_is_not_plainly_one_stays() {
        let long = long();
        for data in [
            r#"{"seal":"Zm9v"}"#.to_owned(),
            format!(r#"{{"seal":"Zm9v","text":"{long}"}}"#),
            format!(r#"{{"seal":"a\"{long}"}}"#),
            format!(r#"{{"seal":"{long}\n"}}"#),
            format!(r#"{{"seal":7,"text":"{long}"}}"#),
            format!(r#"{{"text":"\"seal\":\"{long}\""}}"#),
        ] {
            check(&data, 0);
        }
    }

    #[test]
    fn what_is_no_json_stays_none() {
        let long = long();
        for data in [
            format!(r#"{{"seal":"{long}"#),
            format!("{{\"seal\":\"{long}\t\"}}"),
            format!(r#"{{seal":"{long}"}}"#),
            format!(r#"{{"a":"b"seal":"{long}"}}"#),
            format!(r#"{{"a":"\"seal":"{long}"}}"#),
            format!(r#"{{"a":"b""seal":"{long}"}}"#),
        ] {
            let lifted = Lifted::of(&data, &KEYS);
            assert_eq!(lifted.whole(lifted.rest()), data);
            serde_json::from_str::<Value>(lifted.rest()).unwrap_err();
        }
    }

    #[test]
    fn parts_come_back_as_they_were() {
        let long = long();
        let data = format!(r#"{{"a":["lifted",{{"seal":"{long}"}}],"seal":"{long}"}}"#);
        let lifted = Lifted::of(&data, &KEYS);
        let rest = lifted.rest();
        let (first, second) = rest.split_once("],").unwrap();
        assert_eq!(lifted.whole(first), format!(r#"{{"a":["lifted",{{"seal":"{long}"}}"#));
        assert_eq!(lifted.whole(second), format!(r#""seal":"{long}"}}"#));
        assert_eq!(lifted.whole(rest.get(5..15).unwrap()), r#"["lifted","#);
        assert_eq!(lifted.whole(STAND_IN), STAND_IN, "another's text");
    }
}
