//! One line about a call, for people.

mod heading;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::patch;

pub use self::heading::{
    CallHeading, bounded_arguments, call_heading, without_gaps, without_middle, written_out,
};

use crate::tasks::{TaskStatus, written_by};

/// Longest summary of a call's input, in characters.
pub const INPUT_SUMMARY_CHARS_MAX: usize = 100;
/// Longest summary of a call's output, in characters.
pub const OUTPUT_SUMMARY_CHARS_MAX: usize = 80;
/// Arguments that say the most about a call, the first that is there wins.
pub const TELLING: [&str; 6] = ["command", "path", "query", "pattern", "url", "task"];

/// Sums up what a call was asked to do: `shell: cargo test`.
pub fn input_summary(name: &str, arguments: &str) -> String {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(arguments) else {
        return name.to_owned();
    };
    if let Some(tasks) = written_by(name, arguments) {
        let done = tasks.iter().filter(|task| task.status == TaskStatus::Done).count();
        return format!("{name}: {done} of {} done", tasks.len());
    }
    let told = TELLING
        .iter()
        .filter_map(|key| fields.get(*key)?.as_str())
        .find(|value| !value.trim().is_empty());
    let summary = match told.map(Cow::Borrowed).or_else(|| patched(&fields).map(Cow::Owned)) {
        Some(value) => format!("{name}: {}", one_line(&value)),
        None if fields.is_empty() => name.to_owned(),
        None => format!("{name} {}", one_line(arguments)),
    };
    shorten(&summary, INPUT_SUMMARY_CHARS_MAX)
}

/// Sums up what a call gave: its first line with something on it.
pub fn output_summary(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    shorten(line, OUTPUT_SUMMARY_CHARS_MAX)
}

/// Cuts a text to `chars_max` characters; the last one then is an ellipsis.
pub fn shorten(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect()
}

/// The files of a patch.
fn patched(fields: &Map<String, Value>) -> Option<String> {
    Some(patch::paths(fields.get("patch")?.as_str()?)?.join(", "))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name on one line, whatever it contains: one with a line end or another control character is
/// written out.
pub fn name_on_one_line(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_control) {
        Cow::Owned(name.escape_debug().to_string())
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // D29, D30
    #[test]
    fn the_most_telling_argument_is_shown() {
        let check = |arguments: &str, expected| assert_eq!(input_summary("t", arguments), expected);
        check(r#"{"path":"a","command":"ls  -l\n"}"#, "t: ls -l");
        check(r#"{"path":" ","pattern":"x"}"#, "t: x");
        check(r#"{"n":1}"#, r#"t {"n":1}"#);
        check("{}", "t");
        check("not json", "t");
        let plan = r#"{"plan":[{"step":"a","status":"done"},{"step":"b","status":"pending"}]}"#;
        assert_eq!(input_summary("update_plan", plan), "update_plan: 1 of 2 done");
        let patch = "*** Begin Patch\\n*** Delete File: a\\n*** Delete File: b\\n*** End Patch";
        check(&format!(r#"{{"patch":"{patch}"}}"#), "t: a, b");
        check(r#"{"patch":"none"}"#, r#"t {"patch":"none"}"#);
    }

    // D30, D31
    #[test]
    fn cutting_keeps_whole_characters_and_an_ellipsis() {
        assert_eq!(shorten("äöü", 3), "äöü");
        assert_eq!(shorten("äöüß", 3), "äö…");
        assert_eq!(output_summary(&"x".repeat(200)).chars().count(), 80);
        assert_eq!(output_summary("\n\n second \n third"), "second");
    }
}
