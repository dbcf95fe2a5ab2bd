//! Patterns of rules for arguments: regular expressions, each for the whole of a value.

use regex::{Regex, RegexBuilder};

use crate::rule::RuleEffect;

/// Largest pattern once it is compiled, in bytes.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// A pattern for the whole of a value. In a rule that forbids or asks, `.` is any letter; in one that
/// allows it is none that ends a line, because what comes behind is rarely meant.
pub(super) fn compiled(pattern: &str, effect: RuleEffect) -> Result<Regex, regex::Error> {
    // By itself first: it must not close the group that makes it count for the whole.
    RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build()?;
    RegexBuilder::new(&format!(r"\A(?:{pattern})\z"))
        .dot_matches_new_line(effect != RuleEffect::Allow)
        .size_limit(PATTERN_BYTES_MAX)
        .build()
}
