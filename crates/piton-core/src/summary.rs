//! One line about a call, for people.

use serde_json::{Map, Value};

/// Longest summary of a call's input, in characters.
pub const INPUT_SUMMARY_CHARS_MAX: usize = 100;
/// Longest command in a question, in characters.
pub const QUESTION_CHARS_MAX: usize = 4_000;
/// Longest summary of a call's output, in characters.
pub const OUTPUT_SUMMARY_CHARS_MAX: usize = 80;
/// Arguments that say the most about a call, the first that is there wins.
const TELLING: [&str; 6] = ["command", "path", "query", "pattern", "url", "task"];

/// Sums up what a call was asked to do: `shell: cargo test`.
pub fn input_summary(name: &str, arguments: &str) -> String {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(arguments) else {
        return name.to_owned();
    };
    let told = TELLING
        .iter()
        .filter_map(|key| fields.get(*key)?.as_str())
        .find(|value| !value.trim().is_empty());
    let summary = match told {
        Some(value) => format!("{name}: {}", one_line(value)),
        None if fields.is_empty() => name.to_owned(),
        None => format!("{name} {}", one_line(arguments)),
    };
    shorten(&summary, INPUT_SUMMARY_CHARS_MAX)
}

/// What a call was asked to do, for somebody who has to decide on it: nothing is left out that
/// could make a difference, and nothing hides.
pub fn input_in_full(name: &str, arguments: &str) -> String {
    let fields: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let command = fields.get("command").and_then(Value::as_str);
    // What a stranger makes of its arguments is not known, so none of them is left out.
    let strange = name != "shell" && (command.is_some() || name.contains("__"));
    if strange && 1 < fields.len() {
        return visible(&format!("{name} "), arguments);
    }
    let Some(command) = command else {
        return input_summary(name, arguments);
    };
    let text = visible(&format!("{name}: "), command);
    match fields.get("dir").and_then(Value::as_str) {
        Some(directory) => format!("{text} (in {})", shorten(directory, INPUT_SUMMARY_CHARS_MAX)),
        None => text,
    }
}

/// A text that a person can see all of, up to a bound that is told.
fn visible(before: &str, text: &str) -> String {
    let mut shown = String::new();
    for letter in text.trim().chars() {
        let plain = letter.is_ascii_graphic() || letter == ' ' || letter.is_alphanumeric();
        if plain {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_default());
        }
    }
    let text = format!("{before}{}", shorten(&shown, QUESTION_CHARS_MAX));
    match shown.chars().count().saturating_sub(QUESTION_CHARS_MAX) {
        0 => text,
        hidden => format!("{text} [and {hidden} more characters]"),
    }
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

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // D29, D30
    #[test]
    fn the_most_telling_argument_is_shown() {
        let check = |arguments, expected| assert_eq!(input_summary("t", arguments), expected);
        check(r#"{"path":"a","command":"ls  -l\n"}"#, "t: ls -l");
        check(r#"{"path":" ","pattern":"x"}"#, "t: x");
        check(r#"{"n":1}"#, r#"t {"n":1}"#);
        check("{}", "t");
        check("not json", "t");
    }

    // Must show 3: a person decides on all of it.
    #[test]
    fn a_question_about_a_tool_of_others_leaves_no_argument_out() {
        let check = |name: &str, arguments: &str, expected: &str| {
            assert_eq!(input_in_full(name, arguments), expected);
        };
        let arguments = r#"{"command":"ls","really":"deploy"}"#;
        check("x__run", arguments, &format!("x__run {arguments}"));
        check("run", arguments, &format!("run {arguments}"));
        check("x__put", r#"{"path":"a","mode":"w"}"#, r#"x__put {"path":"a","mode":"w"}"#);
        check("x__put", r#"{"path":"a"}"#, "x__put: a");
        check("shell", r#"{"command":"ls","dir":"b"}"#, "shell: ls (in b)");
        check("write_file", r#"{"path":"a","content":"b"}"#, "write_file: a");
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
