//! A call in one line, for a person who decides on it: what stands in it can neither hide nor look like
//! another line.

use serde_json::{Map, Value};

use super::{INPUT_SUMMARY_CHARS_MAX, TELLING, one_line, patched};
use crate::event::{ARGUMENT_BYTES_MAX, ARGUMENTS_BYTES_MAX};
use crate::permit::{SHELL, is_unseen};

/// Longest command that stands whole in the line.
const COMMAND_CHARS_MAX: usize = 200;
/// Most blanks in a row: more of them push away what is in front.
const BLANKS_MAX: usize = 8;
/// The same where a line begins.
const INDENT_MAX: usize = 40;
/// Of what is cut, this part of it is from the end.
const END_PART: usize = 4;

/// A call in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallHeading {
    /// The line: the tool, and what says most about the call.
    pub text: String,
    /// The arguments of which it says everything.
    pub says: Vec<String>,
}

/// Puts a call into one line.
pub fn call_heading(name: &str, arguments: &str) -> CallHeading {
    let fields: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let (text, says) = heading(name, &fields);
    CallHeading { text, says: says.into_iter().map(str::to_owned).collect() }
}

/// Arguments within bounds, and how many of them are left out. A text that is too long keeps its
/// beginning and its end.
pub fn bounded_arguments(arguments: &str) -> (String, u64) {
    if arguments.len() <= ARGUMENT_BYTES_MAX {
        return (arguments.to_owned(), 0);
    }
    let fields: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let (mut kept, mut bytes, mut left_out) = (Map::new(), 0, 0);
    // What says the most about the call is not crowded out by the rest.
    let telling = fields.iter().filter(|(key, _)| TELLING.contains(&key.as_str()));
    let others = fields.iter().filter(|(key, _)| !TELLING.contains(&key.as_str()));
    for (key, value) in telling.chain(others) {
        let value = match value.as_str() {
            Some(text) => Value::from(cut(text)),
            None if ARGUMENT_BYTES_MAX < value.to_string().len() => cut(&value.to_string()).into(),
            None => value.clone(),
        };
        bytes += key.len() + value.to_string().len();
        if bytes <= ARGUMENTS_BYTES_MAX {
            kept.insert(key.clone(), value);
        } else {
            left_out += 1;
        }
    }
    // A map of values cannot fail to serialise.
    (serde_json::to_string(&kept).unwrap_or_default(), left_out)
}

/// The beginning and the end of a text that is too long, and what is missing.
fn cut(text: &str) -> String {
    if text.len() <= ARGUMENT_BYTES_MAX {
        return text.to_owned();
    }
    let last = ARGUMENT_BYTES_MAX / END_PART;
    let begin_end = text.floor_char_boundary(ARGUMENT_BYTES_MAX - last);
    let end_start = text.ceil_char_boundary(text.len() - last);
    let (begin, end) = (text.get(..begin_end), text.get(end_start..));
    let hidden = end_start - begin_end;
    format!("{}[… {hidden} bytes …]{}", begin.unwrap_or_default(), end.unwrap_or_default())
}

/// The line, and the arguments of which it says everything.
fn heading<'a>(name: &'a str, fields: &'a Map<String, Value>) -> (String, Vec<&'a str>) {
    let text = |key: &'a str| Some((key, fields.get(key)?.as_str()?));
    if let (SHELL, Some((_, command))) = (name, text("command")) {
        let shown = written_out(command.trim());
        let mut said = vec!["command"];
        let mut heading = format!("{name}: {shown}");
        if COMMAND_CHARS_MAX < shown.chars().count() {
            heading = format!("{name}: {}", without_middle(&shown, INPUT_SUMMARY_CHARS_MAX));
            said.clear();
        }
        if let Some(dir) = text("dir").map(|(_, dir)| path(dir)) {
            let shown = written_out(&dir);
            if dir != "." && shown.chars().count() <= COMMAND_CHARS_MAX {
                heading = format!("{heading} (in {shown})");
            }
            if shown.chars().count() <= COMMAND_CHARS_MAX {
                said.push("dir");
            }
        }
        return (heading, said);
    }
    let typed = (name == "shell_write").then_some("text");
    let telling = typed.into_iter().chain(TELLING).filter_map(text);
    let Some((key, value)) = telling.into_iter().find(|(_, value)| !value.trim().is_empty()) else {
        let paths = patched(fields).map(|paths| written_out(&one_line(&paths)));
        let paths = paths.map(|paths| without_middle(&paths, INPUT_SUMMARY_CHARS_MAX));
        let heading = paths.map_or_else(|| name.to_owned(), |paths| format!("{name}: {paths}"));
        return (heading, Vec::new());
    };
    let meant = if key == "path" { path(value) } else { value.to_owned() };
    let shown = without_middle(&written_out(&one_line(&meant)), INPUT_SUMMARY_CHARS_MAX);
    // As it was given: what a stranger makes of a path is not known.
    let said = if shown == value { vec![key] } else { Vec::new() };
    (format!("{name}: {shown}"), said)
}

/// A path without what says nothing. What `..` means hangs on links, so it stays.
fn path(text: &str) -> String {
    let root = if text.starts_with('/') { "/" } else { "" };
    let names = text.split('/').filter(|name| !name.is_empty() && *name != ".");
    match format!("{root}{}", names.collect::<Vec<_>>().join("/")) {
        path if path.is_empty() => ".".into(),
        path => path,
    }
}

/// Blanks that push away what is in front of them, told as a number.
pub fn without_gaps(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find([' ', '\t']) {
        let (before, from) = rest.split_at(at);
        shown.push_str(before);
        let end = from.find(|letter| ![' ', '\t'].contains(&letter)).unwrap_or(from.len());
        let (gap, behind) = from.split_at(end);
        let most = if shown.is_empty() { INDENT_MAX } else { BLANKS_MAX };
        let told = format!("[… {} blanks …]", gap.len());
        shown.push_str(if gap.len() <= most { gap } else { &told });
        rest = behind;
    }
    shown + rest
}

/// A text within bounds: its beginning and its end, and what is missing is told.
pub fn without_middle(text: &str, chars_max: usize) -> String {
    let all = text.chars().count();
    let Some(hidden) = all.checked_sub(chars_max).filter(|hidden| 0 < *hidden) else {
        return text.to_owned();
    };
    let last = chars_max / END_PART;
    let begin: String = text.chars().take(chars_max - last).collect();
    let end: String = text.chars().skip(all - last).collect();
    format!("{begin} [… {hidden} characters …] {end}")
}

/// Letters that are certain to be what they look like; others are written out.
pub fn written_out(text: &str) -> String {
    let is_certain = |letter: char| {
        letter.is_ascii_graphic()
            || letter == ' '
            || (letter.is_alphanumeric() && !is_unseen(letter))
    };
    let mut shown = String::new();
    for letter in text.chars() {
        if is_certain(letter) {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_default());
        }
    }
    without_gaps(&shown)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(name: &str, arguments: &Value, expected: &str, says: &[&str]) {
        let heading = call_heading(name, &arguments.to_string());
        assert_eq!(heading.text, expected);
        assert_eq!(heading.says, says);
    }

    #[test]
    fn a_line_tells_one_call_from_another() {
        check("pay", &json!({}), "pay", &[]);
        check("x__put", &json!({ "path": "a", "n": 1 }), "x__put: a", &["path"]);
        check(
            "shell",
            &json!({ "command": "ls", "dir": "./b/" }),
            "shell: ls (in b)",
            &["command", "dir"],
        );
        check(
            "shell",
            &json!({ "command": "a\nb", "dir": "." }),
            "shell: a\\nb",
            &["command", "dir"],
        );
        check("shell_write", &json!({ "text": "a\nb" }), "shell_write: a b", &[]);
        // Ours would be the same; what a stranger makes of it is not known.
        check("x__put", &json!({ "path": "s3://a//" }), "x__put: s3:/a", &[]);
    }

    #[test]
    fn the_line_shows_what_it_cannot_hold_by_its_end() {
        let long = "x".repeat(9_000) + " && rm victim";
        let heading = call_heading("shell", &json!({ "command": long }).to_string());
        assert!(heading.text.ends_with("x && rm victim") && heading.text.contains("characters …]"));
        assert!(heading.says.is_empty() && heading.text.chars().count() < 250);
        let path = "a/../".repeat(60) + ".git/hooks/pre-commit";
        let heading = call_heading("write_file", &json!({ "path": path }).to_string());
        assert!(heading.text.ends_with("git/hooks/pre-commit"), "{}", heading.text);
    }

    #[test]
    fn nothing_in_the_line_is_unseen() {
        let gap = " ".repeat(2_130);
        let command = format!("touch x #{gap}Run shell: ls\u{3164}\u{1b}\u{17b4}");
        let seen = "shell: touch x #[… 2130 blanks …]Run shell: ls\\u{3164}\\u{1b}\\u{17b4}";
        check("shell", &json!({ "command": command }), seen, &["command"]);
    }

    #[test]
    fn arguments_of_a_question_are_bounded_as_data() {
        let whole = json!({ "path": "a", "n": [1, 2] }).to_string();
        assert_eq!(bounded_arguments(&whole), (whole, 0));
        let text = format!("begin {} end", "ä".repeat(9_000));
        let (bounded, left_out) = bounded_arguments(&json!({ "content": text }).to_string());
        let content = serde_json::from_str::<Value>(&bounded).unwrap()["content"].to_string();
        assert!(content.starts_with("\"begin ä") && content.ends_with("ä end\""), "{content}");
        assert!(content.contains(" bytes …]") && bounded.len() < 2 * ARGUMENT_BYTES_MAX);
        assert_eq!(left_out, 0);
        let many: Map<_, _> =
            (0..5_000).map(|number| (format!("key{number}"), json!("z".repeat(50)))).collect();
        let (bounded, left_out) = bounded_arguments(&Value::from(many).to_string());
        let kept: Map<String, Value> = serde_json::from_str(&bounded).unwrap();
        assert_eq!(kept.len() as u64 + left_out, 5_000);
        assert!(bounded.len() < 2 * ARGUMENTS_BYTES_MAX);
    }
}
