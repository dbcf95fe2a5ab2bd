//! What is looked for: a literal text, or a regular expression. Time is linear in the text, whatever is
//! written.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};

/// Something to look for within a line.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Shared: a copy of an expression would make its memory for searching anew.
    regex: Arc<Regex>,
    literal: Option<String>,
}

/// Why a pattern is none.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// It would match everything.
    #[error("the pattern is empty")]
    Empty,
    /// Hits are lines.
    #[error("the pattern has more than one line")]
    Lines,
    /// It is no regular expression.
    #[error("{0}")]
    Regex(#[from] regex::Error),
}

impl Pattern {
    /// A text exactly as it is; in upper and lower case alike, unless it has a letter in upper case.
    pub fn exactly(text: &str) -> Result<Self, PatternError> {
        if text.contains(['\n', '\r']) {
            return Err(PatternError::Lines);
        }
        let regex = built(&regex::escape(text), text)?;
        Ok(Self { regex: Arc::new(regex), literal: Some(text.to_owned()) })
    }

    /// A regular expression, with the same rule for upper and lower case.
    pub fn regex(expression: &str) -> Result<Self, PatternError> {
        Ok(Self { regex: Arc::new(built(expression, expression)?), literal: None })
    }

    /// Whether it is in a text.
    pub fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Where it is in a line, in bytes: the first place.
    pub fn place(&self, line: &str) -> Option<std::ops::Range<usize>> {
        self.regex.find(line).map(|found| found.range())
    }

    pub(super) fn literal(&self) -> Option<&str> {
        self.literal.as_deref()
    }
}

fn built(expression: &str, typed: &str) -> Result<Regex, PatternError> {
    if typed.is_empty() {
        return Err(PatternError::Empty);
    }
    let ignores_case = !letters(typed).any(char::is_uppercase);
    // Texts are searched whole before their lines are: anchors are about lines in both.
    Ok(RegexBuilder::new(expression).case_insensitive(ignores_case).multi_line(true).build()?)
}

/// The letters that were typed, without those behind a backslash: `\S` is not in upper case.
fn letters(typed: &str) -> impl Iterator<Item = char> {
    let mut is_escaped = false;
    typed.chars().filter(move |letter| {
        let counts = !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        counts
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_counts_only_where_it_was_typed() {
        let found = |typed: &str, text: &str| Pattern::exactly(typed).unwrap().is_in(text);
        assert!(found("retry", "The Retry budget"));
        assert!(!found("Retry", "the retry budget"));
        assert!(found("a.b", "x A.B y") && !found("a.b", "a-b"));
        assert!(Pattern::regex(r"\Stry").unwrap().is_in("RETRY"));
        assert!(Pattern::regex("^end$").unwrap().is_in("first\nEnd"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        assert!(matches!(Pattern::exactly(""), Err(PatternError::Empty)));
        assert!(matches!(Pattern::exactly("a\nb"), Err(PatternError::Lines)));
        assert!(matches!(Pattern::regex("(a"), Err(PatternError::Regex(_))));
        assert!(Pattern::exactly("(a").is_ok());
    }
}
