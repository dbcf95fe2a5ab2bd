//! What must not be written: secrets, in whatever quotes them later. Tools are told some, and providers
//! are sent keys.
//!
//! Knows the forms in which a text quotes a secret word for word: as it is, and as JSON writes it.
//! A tool that takes it apart or encodes it otherwise is not noticed.

use std::collections::BTreeSet;

use piton_core::event::{Shape, Wants};
use piton_core::question::{Question, Secret};

/// What a secret that a tool was told reads as where it would be written down.
const COVERED: &str = "[redacted]";
/// Shortest part of a secret that is looked for beside a cut, in bytes.
const PART_BYTES_MIN: usize = 2;
/// Longest line that can say that something was left out, in bytes.
const CUT_LINE_BYTES_MAX: usize = 120;
/// How often a text can be written as JSON within JSON: a tool's JSON, in the result of a server.
const NESTING_MAX: usize = 2;

/// Secrets, in all forms in which they are looked for.
pub(crate) struct Veil {
    /// What stands in the place of a secret.
    cover: &'static str,
    forms: BTreeSet<Vec<u8>>,
    /// The bytes that a form begins with.
    first: BTreeSet<u8>,
}

impl Veil {
    /// Over what tools were told.
    pub(crate) fn over<'a>(secrets: impl Iterator<Item = &'a Secret>) -> Self {
        Self::covering(secrets.map(Secret::reveal), COVERED)
    }

    /// Over these texts, with `cover` in their place.
    pub(crate) fn covering<'a>(
        secrets: impl Iterator<Item = &'a str>,
        cover: &'static str,
    ) -> Self {
        let mut forms = BTreeSet::new();
        for secret in secrets.filter(|secret| !secret.is_empty()) {
            let mut level = vec![secret.to_owned()];
            for _ in 0..NESTING_MAX {
                let inner = level.clone();
                level.extend(inner.iter().flat_map(|text| as_json(text)));
            }
            forms.extend(level.into_iter().map(String::into_bytes));
        }
        let first = forms.iter().filter_map(|form| form.first().copied()).collect();
        Self { cover, forms, first }
    }

    /// A text that quotes no secret.
    pub(crate) fn text(&self, text: &mut String) {
        if self.forms.is_empty() {
            return;
        }
        let covered = self.bytes(text.as_bytes());
        // A form begins and ends between characters, so nothing is ever replaced here.
        *text = String::from_utf8_lossy(&covered).into_owned();
    }

    /// The same for a text that may have been cut off at its end.
    pub(crate) fn cut_text(&self, text: &mut String) {
        self.text(text);
        let kept = text.trim_end_matches('…');
        if let Some(part) = self.begun_at_end(kept.as_bytes()) {
            text.truncate(kept.len() - part);
            text.push_str(self.cover);
        }
    }

    /// The same for any output.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut covered = Vec::with_capacity(bytes.len());
        let mut hidden_until = 0;
        for (start, end) in self.places(bytes) {
            covered.extend_from_slice(bytes.get(hidden_until..start).unwrap_or_default());
            if hidden_until <= start {
                covered.extend_from_slice(self.cover.as_bytes());
            }
            hidden_until = hidden_until.max(end);
        }
        covered.extend_from_slice(bytes.get(hidden_until..).unwrap_or_default());
        covered
    }

    /// A question that quotes no secret.
    pub(crate) fn question(&self, question: &mut Question) {
        self.text(&mut question.text);
        let Wants { name, shape, default, .. } = &mut question.wants;
        self.text(name);
        match shape {
            Shape::Text | Shape::Confirm | Shape::Secret => {}
            Shape::Choice { options } => options.iter_mut().for_each(|option| self.text(option)),
            Shape::Form { schema } => {
                let mut text = schema.to_string();
                self.text(&mut text);
                *schema = text.into();
            }
        }
        // Covered, an empty answer would mean words that nobody has said.
        *default = default.take().filter(|default| self.places(default.as_bytes()).is_empty());
    }

    /// From where to where there are secrets, or parts of them beside a cut, in order.
    fn places(&self, bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            let rest = bytes.get(at..).unwrap_or_default();
            if self.first.contains(byte) {
                let here = self.forms.iter().filter(|form| rest.starts_with(form));
                places.extend(here.map(Vec::len).max().map(|length| (at, at + length)));
            }
            if let Some(length) = cut_line(rest) {
                let before = bytes.get(..at).unwrap_or_default();
                let behind = rest.get(length..).unwrap_or_default();
                let (begun, ended) = (self.begun_at_end(before), self.ended_at_start(behind));
                places.extend(begun.map(|part| (at - part, at)));
                places.extend(ended.map(|part| (at + length, at + length + part)));
            }
        }
        places.sort_unstable();
        places
    }

    /// How much of a secret stands at the end.
    fn begun_at_end(&self, text: &[u8]) -> Option<usize> {
        self.longest_part(|form, part| form.get(..part).is_some_and(|it| text.ends_with(it)))
    }

    /// How much of a secret stands at the beginning.
    fn ended_at_start(&self, text: &[u8]) -> Option<usize> {
        self.longest_part(|form, part| {
            form.get(form.len() - part..).is_some_and(|it| text.starts_with(it))
        })
    }

    fn longest_part(&self, is_there: impl Fn(&[u8], usize) -> bool) -> Option<usize> {
        let longest =
            |form: &Vec<u8>| (PART_BYTES_MIN..form.len()).rev().find(|part| is_there(form, *part));
        self.forms.iter().filter_map(longest).max()
    }
}

/// How long the line is that says that something was left out, with the line ends around it, if one
/// begins here.
fn cut_line(text: &[u8]) -> Option<usize> {
    let line = text.strip_prefix(b"\n")?;
    if !line.starts_with(b"[") {
        return None;
    }
    let line = line.get(..CUT_LINE_BYTES_MAX).unwrap_or(line);
    let end = line.iter().position(|byte| *byte == b'\n')?;
    let words = String::from_utf8_lossy(line.get(..end)?);
    (words.contains(" bytes") && words.contains("left out")).then_some(end + 2)
}

/// How JSON writes a text: with as little escaped as it may, with all that is not ASCII escaped, and
/// with slashes escaped, too.
fn as_json(text: &str) -> [String; 5] {
    let written = serde_json::Value::from(text).to_string();
    let bare = written.get(1..written.len() - 1).unwrap_or_default().to_owned();
    let lower = ascii(&bare, |unit| format!("\\u{unit:04x}"));
    let upper = ascii(&bare, |unit| format!("\\u{unit:04X}"));
    let [slashed, lower_slashed] = [&bare, &lower].map(|it| it.replace('/', "\\/"));
    [bare, lower, upper, slashed, lower_slashed]
}

fn ascii(text: &str, escape: impl Fn(u16) -> String) -> String {
    let letter = |letter: char| -> String {
        if letter.is_ascii() {
            return letter.into();
        }
        letter.encode_utf16(&mut [0; 2]).iter().map(|unit| escape(*unit)).collect()
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(secrets: &[&str], text: &str, expected: &str) {
        let secrets: Vec<Secret> = secrets.iter().map(|it| Secret::new(*it)).collect();
        let mut covered = text.to_owned();
        Veil::over(secrets.iter()).text(&mut covered);
        assert_eq!(covered, expected);
    }

    // J65
    #[test]
    fn a_secret_is_covered_wherever_it_is_quoted() {
        check(&["pw"], "a pw, pwpw", "a [redacted], [redacted][redacted]");
        check(&[""], "nothing", "nothing");
        check(&[], "nothing", "nothing");
    }

    #[test]
    fn a_longer_secret_is_covered_before_a_shorter_one_and_none_by_halves() {
        check(&["abc", "abcdef"], "abcdef abc", "[redacted] [redacted]");
        check(&["red", "abc"], "abc", "[redacted]");
        check(&["abcd", "cdef"], "abcdef.", "[redacted].");
    }

    #[test]
    fn a_secret_is_covered_as_json_writes_it() {
        let secret = "p\"\\é/🙂\n";
        let found = serde_json::json!({ "with": secret }).to_string();
        check(&[secret], &found, r#"{"with":"[redacted]"}"#);
        let nested = serde_json::json!({ "text": found }).to_string();
        check(&[secret], &nested, r#"{"text":"{\"with\":\"[redacted]\"}"}"#);
        check(&[secret], r#""p\"\\\u00e9/\ud83d\ude42\n""#, "\"[redacted]\"");
        check(&[secret], r#""p\"\\\u00E9/\uD83D\uDE42\n""#, "\"[redacted]\"");
        check(&[secret], r#""p\"\\\u00e9\/\ud83d\ude42\n""#, "\"[redacted]\"");
        check(&[secret], r#""p\"\\é\/🙂\n""#, "\"[redacted]\"");
    }

    #[test]
    fn a_secret_that_was_cut_in_two_is_covered() {
        let cut = "\n[... 9 bytes left out ...]\n";
        check(
            &["hunter2"],
            &format!("key hunt{cut}r2 x"),
            &format!("key [redacted]{cut}[redacted] x"),
        );
        let mut progress = "with hunte…".to_owned();
        Veil::over([Secret::new("hunter2")].iter()).cut_text(&mut progress);
        assert_eq!(progress, "with [redacted]");
    }

    #[test]
    fn a_question_quotes_no_secret() {
        let options = vec!["use pw".to_owned(), "other".to_owned()];
        let mut question = Question::new("pw", "pw?").shaped(Shape::Choice { options }).or("pw");
        Veil::over([Secret::new("pw")].iter()).question(&mut question);
        let options = vec!["use [redacted]".to_owned(), "other".to_owned()];
        let wanted = Question::new("[redacted]", "[redacted]?").shaped(Shape::Choice { options });
        assert_eq!(question, wanted);
    }

    #[test]
    fn what_is_no_text_stays_as_it_is() {
        let veil = Veil::over([Secret::new("pw")].iter());
        assert_eq!(veil.bytes(b"\xff pw \xfe"), b"\xff [redacted] \xfe");
    }
}
