//! Rules for arguments: regular expressions, each for the whole of a value.
//!
//! Command lines and paths are no texts here: a command line is matched command by command, a path
//! without detours.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::command::Sight;
use super::{Asked, path};
use crate::event::{PermissionRule, RuleEffect};

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

impl Asked<'_> {
    /// Whether the arguments that a rule names are there and match; commands are left out.
    pub(super) fn sight_of_arguments(&self, rule: &PermissionRule) -> Sight {
        // Another tool has other arguments than the shell.
        if self.roles.borrows(rule) {
            let more = rule.arguments.keys().any(|key| !self.roles.is_ruled(rule, key));
            return if more { Sight::Hidden } else { Sight::Found };
        }
        let sights = rule.arguments.iter().map(|(key, pattern)| {
            // A line of commands is looked at elsewhere.
            if self.roles.is_ruled(rule, key) && self.line.is_some() {
                return Sight::Found;
            }
            // Nobody knows what was meant by a bad one: it allows nothing, and what forbids asks.
            compiled(pattern, rule.effect)
                .map_or(Sight::Hidden, |pattern| self.sight_of(key, &pattern))
        });
        sights.fold(Sight::Found, Sight::min)
    }

    fn sight_of(&self, key: &str, pattern: &Regex) -> Sight {
        let found = |matches| if matches { Sight::Found } else { Sight::Absent };
        match self.fields.get(key) {
            None | Some(Value::Null) => Sight::Absent,
            Some(Value::String(path)) if self.roles.is_path(key) => {
                let path = path::within(self.workspace, path);
                path.map_or(Sight::Hidden, |path| found(pattern.is_match(&path)))
            }
            Some(Value::String(text)) => found(pattern.is_match(text)),
            Some(value) => found(pattern.is_match(&value.to_string())),
        }
    }
}
