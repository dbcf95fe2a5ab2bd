//! What a call would do, for a person who decides on it: all of it, up to bounds that are told.
//!
//! The first line says which call it is. What does not fit in there has lines of its own, and what
//! stands in them can neither hide nor look like another line.

use serde_json::{Map, Value};

use super::{INPUT_SUMMARY_CHARS_MAX, TELLING, one_line};
use crate::permit::{SHELL, is_unseen};

/// Longest argument, in characters.
const VALUE_CHARS_MAX: usize = 4_000;
/// Most lines of one argument.
const VALUE_LINES_MAX: usize = 40;
/// Longest line of an argument that has several, in characters.
const LINE_CHARS_MAX: usize = 500;
/// Longest line on the screen: a terminal that breaks one itself puts the rest where a line begins.
const SHOWN_CHARS_MAX: usize = 72;
/// Longest command that stands in the first line.
const COMMAND_CHARS_MAX: usize = 200;
/// Most blanks in a row: more of them push away what is in front.
const BLANKS_MAX: usize = 8;
/// The same where a line begins.
const INDENT_MAX: usize = 40;
/// Most lines of all arguments.
const LINES_MAX: usize = 160;
/// Longest text of all arguments, in characters.
const CHARS_MAX: usize = 16_000;
/// Of what is cut, this part of it is from the end.
const END_PART: usize = 4;
/// Arguments in the order in which they are read best; the others follow.
const ORDER: [&str; 4] = ["call", "old", "new", "text"];

/// Asks whether a call may run.
pub fn permission_question(name: &str, arguments: &str) -> String {
    let fields: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let (heading, said) = heading(name, &fields);
    let place = |key: &str| TELLING.iter().chain(&ORDER).position(|it| *it == key);
    let mut rest: Vec<_> = fields.iter().filter(|(key, _)| !said.contains(&key.as_str())).collect();
    rest.sort_by_key(|(key, _)| place(key).unwrap_or(usize::MAX));
    let told = rest.into_iter().filter(|(_, value)| name != SHELL || !is_default(value));
    let lines: Vec<String> = told.flat_map(|(key, value)| lines_of(key, value)).collect();
    let lines = cut(lines, LINES_MAX, CHARS_MAX);
    [vec![format!("Run {heading}?")], lines].concat().join("\n")
}

/// The first line, and the arguments of which it says everything.
fn heading<'a>(name: &'a str, fields: &'a Map<String, Value>) -> (String, Vec<&'a str>) {
    let text = |key: &'a str| Some((key, fields.get(key)?.as_str()?));
    if let (SHELL, Some((_, command))) = (name, text("command")) {
        let shown = strict(command.trim());
        let mut said = vec!["command"];
        let mut heading = format!("{name}: {shown}");
        if COMMAND_CHARS_MAX < shown.chars().count() {
            heading = format!("{name}: {}", middle(&shown, INPUT_SUMMARY_CHARS_MAX));
            said.clear();
        }
        if let Some(dir) = text("dir").map(|(_, dir)| path(dir)) {
            let shown = strict(&dir);
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
        return (name.to_owned(), Vec::new());
    };
    let meant = if key == "path" { path(value) } else { value.to_owned() };
    let shown = middle(&strict(&one_line(&meant)), INPUT_SUMMARY_CHARS_MAX);
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

/// Whether our own tool would do the same without it.
fn is_default(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false))
}

/// An argument. A text of several lines has a bar in front of each, so that none of them can be taken
/// for another argument.
fn lines_of(key: &str, value: &Value) -> Vec<String> {
    let key = middle(&strict(key), INPUT_SUMMARY_CHARS_MAX);
    let text = value.as_str().unwrap_or_default();
    let inner = text.strip_suffix('\n').unwrap_or(text);
    if !inner.contains('\n') {
        let text = format!("{key}: {}", middle(&plain(&value.to_string()), VALUE_CHARS_MAX));
        return cut(broken("  ", &text), VALUE_LINES_MAX, 2 * VALUE_CHARS_MAX);
    }
    let lines = inner.split('\n').map(|line| middle(&plain(line), LINE_CHARS_MAX));
    let heading = format!("  {key}, {} lines:", lines.clone().count());
    let lines = lines.flat_map(|line| broken("  | ", &line)).collect();
    [vec![heading], cut(lines, VALUE_LINES_MAX, VALUE_CHARS_MAX)].concat()
}

/// A line in as many as it takes; those behind the first are marked.
fn broken(mark: &str, line: &str) -> Vec<String> {
    let letters: Vec<char> = line.chars().collect();
    let pieces: Vec<String> =
        letters.chunks(SHOWN_CHARS_MAX).map(|piece| piece.iter().collect()).collect();
    match pieces.split_first() {
        None => vec![mark.trim_end().to_owned()],
        Some((first, rest)) => {
            let rest = rest.iter().map(|piece| format!("  > {piece}"));
            [format!("{mark}{first}")].into_iter().chain(rest).collect()
        }
    }
}

/// Blanks that push away what is in front of them, told as a number.
fn without_gaps(text: &str) -> String {
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

/// Lines within bounds: some from the beginning and some from the end, and what is missing is told.
fn cut(lines: Vec<String>, lines_max: usize, chars_max: usize) -> Vec<String> {
    let chars = |line: &String| line.chars().count();
    if lines.len() <= lines_max && lines.iter().map(chars).sum::<usize>() <= chars_max {
        return lines;
    }
    let fitting = |lines: &mut dyn Iterator<Item = &String>, part: usize| {
        let mut left = chars_max / END_PART * part;
        let fits = |line: &&String| {
            let fits = chars(line) <= left;
            left = left.saturating_sub(chars(line));
            fits
        };
        lines.take(lines_max / END_PART * part).take_while(fits).count()
    };
    let first = fitting(&mut lines.iter(), END_PART - 1);
    let last = fitting(&mut lines.iter().skip(first).rev(), 1);
    let hidden = lines.len() - first - last;
    let told = format!("  [{hidden} lines are not shown here]");
    let begin = lines.iter().take(first).cloned();
    begin.chain([told]).chain(lines.iter().skip(first + hidden).cloned()).collect()
}

/// A text within bounds: its beginning and its end, and what is missing is told.
fn middle(text: &str, chars_max: usize) -> String {
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
fn strict(text: &str) -> String {
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

/// Letters that can be seen, and tabs; others are written out.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        if letter.is_ascii_graphic() || [' ', '\t'].contains(&letter) {
            shown.push(letter);
        } else if is_unseen(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.extend(letter.escape_debug());
        }
    }
    without_gaps(&shown)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(name: &str, arguments: &Value, expected: &str) {
        assert_eq!(permission_question(name, &arguments.to_string()), expected);
    }

    // Must show 3: a person decides on all of it.
    #[test]
    fn a_question_leaves_no_argument_out() {
        check("pay", &json!({}), "Run pay?");
        check("x__put", &json!({ "path": "a" }), "Run x__put: a?");
        check(
            "deploy",
            &json!({ "path": "docs", "target": "production", "force": true }),
            "Run deploy: docs?\n  force: true\n  target: \"production\"",
        );
        check(
            "x__run",
            &json!({ "command": "ls", "n": null, "a": [1, "\n"] }),
            "Run x__run: ls?\n  a: [1,\"\\n\"]\n  n: null",
        );
        check(
            "shell_write",
            &json!({ "text": "echo harmless\nrm victim\n", "call": "1.2.0" }),
            "Run shell_write: echo harmless rm victim?\n  call: \"1.2.0\"\n  text, 2 lines:\n  \
             | echo harmless\n  | rm victim",
        );
        check(
            "edit_file",
            &json!({ "path": "a", "new": "b\nc", "old": "b", "replace_all": false }),
            "Run edit_file: a?\n  old: \"b\"\n  new, 2 lines:\n  | b\n  | c\n  replace_all: false",
        );
    }

    #[test]
    fn a_command_is_asked_about_with_all_that_changes_it() {
        check("shell", &json!({ "command": "ls", "dir": "./b/" }), "Run shell: ls (in b)?");
        check("shell", &json!({ "command": "ls", "dir": ".", "keep": false }), "Run shell: ls?");
        check(
            "shell",
            &json!({ "command": "sh\nx", "input": true, "timeout_s": 9, "keep": null }),
            "Run shell: sh\\nx?\n  input: true\n  timeout_s: 9",
        );
        let dir = "d/".repeat(90) + "end";
        let asked =
            permission_question("shell", &json!({ "command": "x", "dir": dir }).to_string());
        assert_eq!(asked, format!("Run shell: x (in {dir})?"));
    }

    #[test]
    fn the_end_of_a_path_does_not_hide() {
        for before in ["./", "a/../"] {
            let path = before.repeat(60) + ".git/hooks/pre-commit";
            let asked = permission_question("write_file", &json!({ "path": path }).to_string());
            let (heading, rest) = asked.split_once('\n').unwrap();
            assert!(heading.ends_with("git/hooks/pre-commit?"), "{heading}");
            assert_eq!(rest.replace("\n  > ", ""), format!("  path: \"{path}\""));
        }
        // Ours would be the same; what a stranger makes of it is not known.
        let asked = "Run x__put: s3:/a?\n  path: \"s3://a//\"";
        check("x__put", &json!({ "path": "s3://a//" }), asked);
    }

    // Nothing pushes the question off the screen, or begins a line that is none of ours.
    #[test]
    fn no_text_leaves_its_lines() {
        let gap = " ".repeat(2_130);
        let command = format!("touch x #{gap}Run shell: ls");
        let asked = "Run shell: touch x #[… 2130 blanks …]Run shell: ls?";
        check("shell", &json!({ "command": command }), asked);
        let unseen = "Run shell: touch x #\\u{3164}\\u{115f}?";
        check("shell", &json!({ "command": "touch x #\u{3164}\u{115f}" }), unseen);
        let vowels = "Run shell: touch x #\\u{17b4}\\u{17b5}?";
        check("shell", &json!({ "command": "touch x #\u{17b4}\u{17b5}" }), vowels);
        for filler in ["y", " ", "\t", "\u{3164}"] {
            let text = format!("{}Run shell: ls?\n{gap}z", filler.repeat(3_000));
            let long = format!("ls {}", filler.repeat(3_000));
            for (name, arguments) in [
                ("write_file", json!({ "path": "a", "content": text })),
                ("write_file", json!({ "path": "a", "content": text.replace('\n', "") })),
                ("shell", json!({ "command": long })),
            ] {
                let asked = permission_question(name, &arguments.to_string());
                for line in asked.lines().skip(1) {
                    assert!(line.starts_with("  ") && line.chars().count() <= 80, "{line}");
                }
                let heading = asked.lines().next().unwrap();
                assert!(heading.chars().count() < 250, "{heading}");
                assert!(asked.lines().count() < 60, "{asked}");
            }
        }
        check(
            "edit",
            &json!({ "new": "if x:\n        y\n" }),
            "Run edit?\n  new, 2 lines:\n  | if x:\n  |         y",
        );
    }

    #[test]
    fn what_is_too_long_is_told_and_shows_its_end() {
        let lines: Vec<String> = (1..=100).map(|number| format!("line {number}\n")).collect();
        let arguments = json!({ "path": "a", "content": lines.concat() }).to_string();
        let asked = permission_question("write_file", &arguments);
        assert!(asked.starts_with("Run write_file: a?\n  content, 100 lines:\n  | line 1\n"));
        assert!(asked.contains("  | line 30\n  [60 lines are not shown here]\n  | line 91\n"));
        assert!(asked.ends_with("  | line 100"), "{asked}");
        let long = "x".repeat(9_000) + " && rm victim";
        let asked = permission_question("shell", &json!({ "command": long }).to_string());
        assert!(asked.lines().next().unwrap().ends_with("x && rm victim?"), "{asked}");
        assert!(asked.ends_with("x && rm victim\""), "{asked}");
        assert!(asked.contains("characters …]") && asked.len() < 5_000, "{asked}");
        assert!(asked.contains("lines are not shown here]"), "{asked}");
        let lines = vec!["y".repeat(9_000); 90].join("\n");
        let asked = permission_question("shell_write", &json!({ "text": lines }).to_string());
        assert!(asked.contains(" characters …]") && asked.contains("lines are not shown here]"));
        assert!(asked.ends_with('y') && asked.len() < 5_000, "{}", asked.len());
        let many: Map<_, _> =
            (0..5_000).map(|number| (format!("key{number}"), json!("z".repeat(50)))).collect();
        let asked = permission_question("x__run", &Value::from(many).to_string());
        assert!(asked.lines().count() <= LINES_MAX + 2 && asked.len() < 20_000);
        assert!(asked.contains("lines are not shown here]") && asked.contains("key999: "));
    }

    #[test]
    fn no_text_looks_like_another_line_or_moves_the_cursor() {
        let text = "a\n  force: false\n\u{1b}[2J\r\u{202e}x—y";
        let asked = permission_question("x", &json!({ "k\n  | z": text, "b": text }).to_string());
        assert_eq!(
            asked,
            "Run x?\n  b, 3 lines:\n  | a\n  |   force: false\n  \
             | \\u{1b}[2J\\r\\u{202e}x—y\n  k\\n  | z, 3 lines:\n  | a\n  |   force: false\n  \
             | \\u{1b}[2J\\r\\u{202e}x—y"
        );
        let asked = permission_question("t", &json!({ "path": "\u{1b}x" }).to_string());
        assert_eq!(asked, "Run t: \\u{1b}x?\n  path: \"\\u001bx\"");
    }
}
