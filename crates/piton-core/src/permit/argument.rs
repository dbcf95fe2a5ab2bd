//! Rules for arguments: regular expressions, each for the whole of a value.
//!
//! Command lines and paths are no texts here: a command line is matched command by command, a path
//! without detours.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::command::{Matcher, Pattern, Sight};
use super::{Asked, SHELL, SHELL_INPUT};
use crate::event::{PermissionRule, RuleEffect};

/// The argument that has a command line, in tools that run one.
pub(super) const COMMAND: &str = "command";
/// The argument that has a path, in tools that work on one.
pub(super) const PATH: &str = "path";
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

/// Whether a rule is about some commands only.
pub(super) fn says_commands(rule: &PermissionRule) -> bool {
    rule.command.is_some() || rule.arguments.contains_key(COMMAND)
}

/// What a rule says of commands; `None` if nobody knows what was meant by it.
pub(super) fn matcher(rule: &PermissionRule) -> Option<Matcher> {
    let words = match &rule.command {
        Some(command) => Some(Pattern::read(command)?),
        None => None,
    };
    let form = match rule.arguments.get(COMMAND) {
        Some(pattern) => Some(compiled(pattern, rule.effect).ok()?),
        None => None,
    };
    Some(Matcher::new(words, form))
}

impl Asked<'_> {
    /// Whether the arguments that a rule names are there and match; commands are left out.
    pub(super) fn sight_of_arguments(&self, rule: &PermissionRule) -> Sight {
        // What is typed into a command has other arguments than the command had.
        if self.tool == SHELL_INPUT && rule.tool == SHELL {
            let more = rule.arguments.keys().any(|key| key != COMMAND);
            return if more { Sight::Hidden } else { Sight::Found };
        }
        let sights = rule.arguments.iter().map(|(key, pattern)| {
            // A line of commands is looked at elsewhere.
            if key == COMMAND && self.line.is_some() {
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
            Some(Value::String(_)) if key == PATH => {
                self.path.as_ref().map_or(Sight::Hidden, |path| found(pattern.is_match(path)))
            }
            Some(Value::String(text)) => found(pattern.is_match(text)),
            Some(value) => found(pattern.is_match(&value.to_string())),
        }
    }
}
