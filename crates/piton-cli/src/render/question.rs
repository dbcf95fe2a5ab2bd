//! A question for permission on the screen: the call, its paths, and what it would change.
//!
//! What stands in the lines can neither hide nor look like another line, and nothing pushes the
//! question off the screen: what does not fit is told. The data are in the question; widths and bounds
//! of a screen are known here only.

use anstyle::Style as Look;
use piton_core::permit::SHELL;
use piton_core::summary::{
    INPUT_SUMMARY_CHARS_MAX, TELLING, call_heading, without_middle, written_out,
};
use piton_core::view::{Diff, FilePreview, InquiryKind, Part, Preview, QuestionView};
use serde_json::{Map, Value};

use super::diff::kept;
use super::legible::legible;
use super::paint::{Line, Page, Span, expand_tabs};
use super::wrap::{break_letters, wrap};

/// How much is shown where nobody can turn pages. A terminal that breaks a line itself puts the rest where
/// a line begins, so none is wider than most screens.
const BOUNDS: Bounds = Bounds { columns: 72, value_lines_max: 40, value_chars_max: 4_000 };
/// Columns of what stands in front of a line.
const MARK_COLUMNS: usize = 4;
/// Longest line of an argument that has several, in characters.
const LINE_CHARS_MAX: usize = 500;
/// What a yes does to the sandbox, where it does it.
const YES_FREES: &str = "a yes runs it outside the sandbox: with your files, keys and network";
/// Most lines of all arguments.
const LINES_MAX: usize = 160;
/// Longest text of all arguments, in characters.
const CHARS_MAX: usize = 16_000;
/// Of what is cut, this part of it is from the end.
const END_PART: usize = 4;
/// Arguments in the order in which they are read best; the others follow.
const ORDER: [&str; 4] = ["call", "old", "new", "text"];
/// Arguments that the difference shows, where there is one.
const CONTENTS: [&str; 4] = ["old", "new", "content", "patch"];

/// The argument that asks for openings in the sandbox, which are told in words.
const NEEDS: &str = "needs";

/// How much of an argument is shown.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Widest line, in columns.
    columns: usize,
    /// Most lines of one argument.
    value_lines_max: usize,
    /// Longest argument, in characters.
    value_chars_max: usize,
}

/// All that a question says.
pub(crate) fn shown(asked: &QuestionView) -> String {
    let mut all = vec![asked.heading.clone()];
    if asked.kind != InquiryKind::Question {
        all.extend(lines(asked));
    }
    all.join("\n")
}

/// All that a question about a call says, laid out: the first line is its heading. Nothing that is recorded
/// is left out, so it may be longer than a screen.
pub(crate) fn laid_out(asked: &QuestionView, page: Page) -> Vec<Line> {
    let bold = Look::new().bold();
    let columns = page.columns.saturating_sub(MARK_COLUMNS).max(MARK_COLUMNS);
    let mut lines = wrap(&[Span::new(&asked.heading, bold)], columns);
    for line in lines.iter_mut().skip(1) {
        line.insert(0, Span::plain("  > "));
    }
    let plain = |line: String| vec![Span::plain(&line)];
    lines.extend(place_lines(asked, columns).into_iter().map(plain));
    if let Some(change) = asked.found.as_ref().and_then(|found| found.change.as_ref()) {
        for told in told_change(change, asked) {
            for (place, mut line) in wrap(&[Span::plain(&told)], columns).into_iter().enumerate() {
                line.insert(0, Span::plain(if place == 0 { "  " } else { "  > " }));
                lines.push(line);
            }
        }
        lines.extend(change.diff.iter().flat_map(|diff| kept(diff, page)));
    }
    let bounds = Bounds { columns, value_lines_max: LINES_MAX, value_chars_max: CHARS_MAX };
    lines.extend(argument_lines(asked, bounds).into_iter().map(plain));
    lines.extend(opening_lines(asked, columns).into_iter().map(plain));
    lines.extend(part_lines(asked, columns).into_iter().map(plain));
    lines.extend(yes_lines(asked, columns).into_iter().map(plain));
    lines
}

/// The lines below the first one.
fn lines(asked: &QuestionView) -> Vec<String> {
    let mut lines = place_lines(asked, BOUNDS.columns);
    if let Some(change) = asked.found.as_ref().and_then(|found| found.change.as_ref()) {
        let told = told_change(change, asked).into_iter();
        lines.extend(told.flat_map(|told| broken("  ", &told, BOUNDS.columns)));
        lines.extend(change.diff.iter().flat_map(diff_lines));
    }
    lines.extend(argument_lines(asked, BOUNDS));
    lines.extend(opening_lines(asked, BOUNDS.columns));
    lines.extend(part_lines(asked, BOUNDS.columns));
    lines.extend(yes_lines(asked, BOUNDS.columns));
    cut(lines, LINES_MAX, CHARS_MAX)
}

/// Which commands of a line need a yes, and which rules allow already. Nothing if all of them need one.
fn part_lines(asked: &QuestionView, columns: usize) -> Vec<String> {
    if !asked.parts.iter().any(|part| part.is_allowed) {
        return Vec::new();
    }
    let part = |Part { command, is_allowed }: &Part| {
        let says = if *is_allowed { "allowed by a rule" } else { "needs a yes" };
        let command = without_middle(&legible(command), LINE_CHARS_MAX);
        broken("  ", &format!("{says}: {command}"), columns)
    };
    asked.parts.iter().flat_map(part).collect()
}

/// What the call asks to be opened in the sandbox.
fn opening_lines(asked: &QuestionView, columns: usize) -> Vec<String> {
    let line =
        |told: &String| broken("  ", &without_middle(&legible(told), LINE_CHARS_MAX), columns);
    asked.opens.iter().flat_map(line).collect()
}

/// What a yes does to the sandbox.
fn yes_lines(asked: &QuestionView, columns: usize) -> Vec<String> {
    if asked.frees { broken("  ", YES_FREES, columns) } else { Vec::new() }
}

/// The arguments that nothing else says.
fn argument_lines(asked: &QuestionView, bounds: Bounds) -> Vec<String> {
    let arguments = asked.arguments.as_deref().unwrap_or_default();
    let fields: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    // The heading of a question about a call in doubt is a summary.
    let says = match asked.kind {
        InquiryKind::InDoubt => Vec::new(),
        InquiryKind::Permission | InquiryKind::Question => {
            call_heading(&asked.tool, arguments).says
        }
    };
    let change = asked.found.as_ref().and_then(|found| found.change.as_ref());
    let diff = change.and_then(|change| change.diff.as_ref());
    let is_told = |key: &str| {
        says.iter().any(|said| said == key)
            || diff.is_some() && CONTENTS.contains(&key)
            || key == NEEDS && !asked.opens.is_empty()
    };
    let place = |key: &str| TELLING.iter().chain(&ORDER).position(|it| *it == key);
    let mut rest: Vec<_> = fields.iter().filter(|(key, _)| !is_told(key)).collect();
    rest.sort_by_key(|(key, _)| place(key).unwrap_or(usize::MAX));
    let rest = rest.into_iter().filter(|(_, value)| &*asked.tool != SHELL || !is_default(value));
    rest.flat_map(|(key, value)| lines_of(key, value, bounds)).collect()
}

/// Where the call leads, and why it could not run.
fn place_lines(asked: &QuestionView, columns: usize) -> Vec<String> {
    let Some(found) = &asked.found else { return Vec::new() };
    let mut lines = Vec::new();
    let written = asked.path.as_deref().map(|path| path.trim_start_matches("./"));
    if let Some(real) = found.path.as_deref().filter(|real| written.is_some_and(|it| it != *real)) {
        let real = legible(&Value::from(real).to_string());
        lines.extend(broken("  ", &format!("leads to: {real}"), columns));
    }
    if let Some(refused) = &found.refused {
        let refused = without_middle(&legible(refused), LINE_CHARS_MAX);
        lines.extend(broken("  ", &format!("cannot run as things are: {refused}"), columns));
    }
    lines
}

/// What would be replaced and lost: a line, and of several files a line for each before it.
fn told_change(change: &Preview, asked: &QuestionView) -> Vec<String> {
    let mut told: Vec<String> = change.files.iter().map(told_file).collect();
    told.push(match told.len() {
        0 => told_one(change, asked),
        count => {
            let (lost, new) = (counted(change.lines_lost), counted(change.lines_new));
            format!("changes {count} files together, {lost} lost, {new} new:")
        }
    });
    told
}

/// What would become of one of several files.
fn told_file(file: &FilePreview) -> String {
    let path = legible(&Value::from(file.path.as_str()).to_string());
    let (lost, new) = (counted(file.lines_lost), counted(file.lines_new));
    match (file.bytes_replaced, file.bytes_written) {
        (None, _) => format!("creates {path}, {new}"),
        (Some(_), Some(_)) => format!("changes {path}, {lost} lost, {new} new"),
        (Some(_), None) => format!("removes {path}, {lost} lost"),
    }
}

fn counted(lines: u64) -> String {
    if lines == 1 { "1 line".into() } else { format!("{lines} lines") }
}

fn told_one(change: &Preview, asked: &QuestionView) -> String {
    let is_whole_file = asked.edit.as_ref().is_some_and(|edit| edit.old.is_none());
    let (lost, new) = (counted(change.lines_lost), counted(change.lines_new));
    match (change.bytes_replaced, &change.diff) {
        (None, Some(_)) => format!("new file, {new}:"),
        (None, None) => format!("new file, {} bytes, not text", change.bytes_written),
        (Some(_), Some(_)) if is_whole_file => {
            format!("overwrites the file: replaces {lost}, {new} new:")
        }
        (Some(_), Some(_)) => format!("changes the file, {lost} lost, {new} new:"),
        (Some(replaced), None) => {
            format!("replaces {replaced} bytes with {}, not text", change.bytes_written)
        }
    }
}

/// A difference, with a bar in front of each line.
fn diff_lines(diff: &Diff) -> Vec<String> {
    let barred = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| without_middle(&legible(line), LINE_CHARS_MAX));
        lines.flat_map(|line| broken("  | ", &line, BOUNDS.columns)).collect()
    };
    let mut lines = barred(&diff.text);
    if 0 < diff.lines_left_out {
        lines.push(format!("  [{} lines are not shown here]", diff.lines_left_out));
        lines.extend(barred(&diff.end));
    }
    cut(lines, BOUNDS.value_lines_max, BOUNDS.value_chars_max)
}

/// Whether our own tool would do the same without it.
fn is_default(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false))
}

/// An argument. A text of several lines has a bar in front of each, so that none of them can be taken
/// for another argument.
fn lines_of(key: &str, value: &Value, bounds: Bounds) -> Vec<String> {
    let Bounds { columns, value_lines_max, value_chars_max } = bounds;
    let key = without_middle(&written_out(key), INPUT_SUMMARY_CHARS_MAX);
    let text = value.as_str().unwrap_or_default();
    let inner = text.strip_suffix('\n').unwrap_or(text);
    if !inner.contains('\n') {
        let value = without_middle(&legible(&value.to_string()), value_chars_max);
        let lines = broken("  ", &format!("{key}: {value}"), columns);
        return cut(lines, value_lines_max, 2 * value_chars_max);
    }
    let lines = inner.split('\n').map(|line| without_middle(&legible(line), LINE_CHARS_MAX));
    let heading = format!("  {key}, {} lines:", lines.clone().count());
    let lines = lines.flat_map(|line| broken("  | ", &line, columns)).collect();
    [vec![heading], cut(lines, value_lines_max, value_chars_max)].concat()
}

/// A line in as many as it takes; those behind the first are marked.
fn broken(mark: &str, line: &str, columns: usize) -> Vec<String> {
    if line.is_empty() {
        return vec![mark.trim_end().to_owned()];
    }
    let pieces = break_letters(&[Span::plain(&expand_tabs(line))], columns).into_iter();
    let pieces = pieces.map(|piece| piece.iter().map(Span::text).collect::<String>());
    let mark = |place: usize| if place == 0 { mark } else { "  > " };
    pieces.enumerate().map(|(place, piece)| format!("{}{piece}", mark(place))).collect()
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

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use piton_core::view::Found;
    use serde_json::json;

    use super::*;
    use crate::render::paint::{Painted, Style};

    fn permission_question(name: &str, arguments: &str) -> String {
        asked(name, arguments, None, None)
    }

    fn asked(tool: &str, arguments: &str, path: Option<&str>, found: Option<&Found>) -> String {
        let heading = format!("Run {}?", call_heading(tool, arguments).text);
        let question = json!({
            "id": "1", "kind": "permission", "call": "1.1.0", "tool": tool, "heading": heading,
            "open": true, "arguments": arguments, "path": path, "found": found, "at": 0,
        });
        shown(&serde_json::from_value(question).unwrap())
    }

    fn changing(arguments: &Value, found: &Found) -> String {
        asked("edit_file", &arguments.to_string(), arguments["path"].as_str(), Some(found))
    }

    // D29: what would be replaced and lost, and where it really is.
    #[test]
    fn an_edit_is_shown_as_the_difference_that_it_makes() {
        let arguments = json!({ "path": "l/a", "old": "x", "new": "y", "replace_all": true });
        let text = "@@ -1 +1 @@\n-x\u{202e}\n+y\n".to_owned();
        let diff = Some(Diff { text, ..Diff::default() });
        let change = Preview {
            bytes_replaced: Some(2),
            bytes_written: 2,
            lines_lost: 1,
            lines_new: 1,
            diff,
            files: Vec::new(),
        };
        let path = Some("real/a".to_owned());
        let found = Found { path, change: Some(Box::new(change.clone())), ..Found::default() };
        assert_eq!(
            changing(&arguments, &found),
            "Run edit_file: l/a?\n  leads to: \"real/a\"\n  changes the file, 1 line lost, 1 line new:\n  \
             | @@ -1 +1 @@\n  | -x\\u{202e}\n  | +y\n  replace_all: true"
        );
        let lines: Vec<String> = (0..200).map(|number| format!("+{number}\n")).collect();
        let diff = Some(Diff { text: lines.concat(), lines_left_out: 7, end: "+end\n".into() });
        let change = Preview { bytes_replaced: None, diff, ..change };
        let found = Found { change: Some(Box::new(change)), ..Found::default() };
        let shown = changing(&arguments, &found);
        assert!(shown.contains("  new file, 1 line:\n  | +0\n"), "{shown}");
        assert!(shown.ends_with("  | +end\n  replace_all: true"), "{shown}");
        assert!(shown.lines().count() < 60, "{shown}");
        let found = Found { refused: Some("no\nsuch text".into()), ..Found::default() };
        let shown = changing(&arguments, &found);
        assert!(shown.contains("  cannot run as things are: no\\nsuch text\n  old: \"x\"\n"));
    }

    #[test]
    fn a_question_is_laid_out_for_a_narrow_screen_and_no_line_of_it_looks_like_another() {
        let heading = "Run write_file: a/very/long/name/of/a/file/that/has/no/end?";
        let diff = Diff { text: "@@ -1 +1 @@\n-Run shell: ls?\n+y\n".into(), ..Diff::default() };
        let change = Preview {
            bytes_replaced: Some(2),
            lines_lost: 200,
            lines_new: 1,
            diff: Some(diff),
            ..Preview::default()
        };
        let found = Found { change: Some(Box::new(change)), ..Found::default() };
        let edit = json!({ "path": "a", "new": "y" });
        let arguments = json!({ "path": "a", "content": "y", "note": "z".repeat(40) }).to_string();
        let question = json!({
            "id": "1", "kind": "permission", "call": "1.1.0", "tool": "write_file", "open": true,
            "heading": heading, "arguments": arguments, "found": found, "edit": edit, "at": 0,
        });
        let page = Page { columns: 40, style: Style::Plain };
        let lines = laid_out(&serde_json::from_value(question).unwrap(), page);
        expect![[r#"
            Run write_file:
              > a/very/long/name/of/a/file/that/has/
              > no/end?
              overwrites the file: replaces 200
              > lines, 1 line new:
                 @@ -1 +1 @@
               1 -Run shell: ls?
               1 +y
              note: "zzzzzzzzzzzzzzzzzzzzzzzzzzzzz
              > zzzzzzzzzzz"
        "#]]
        .assert_eq(Painted::lines(&lines, page.style).as_str());
    }

    // D29: every file of a patch is named, whatever becomes of the difference.
    #[test]
    fn a_patch_is_shown_file_by_file() {
        let patch =
            "*** Begin Patch\n*** Delete File: b\n*** Update File: a\n@@\n-x\n+y\n*** End Patch";
        let file = |path: &str, written| FilePreview {
            path: path.into(),
            bytes_replaced: Some(2),
            bytes_written: written,
            lines_lost: 1,
            lines_new: u64::from(written.is_some()),
        };
        let text = "*** Delete File: b\n@@ -1 +0,0 @@\n-x\n".to_owned();
        let change = Preview {
            lines_lost: 2,
            lines_new: 1,
            diff: Some(Diff { text, ..Diff::default() }),
            files: vec![file("b\u{202e}", None), file("a", Some(2))],
            ..Preview::default()
        };
        let found = Found { change: Some(Box::new(change)), ..Found::default() };
        let arguments = json!({ "patch": patch }).to_string();
        assert_eq!(
            asked("apply_patch", &arguments, None, Some(&found)),
            "Run apply_patch: b, a?\n  removes \"b\\u{202e}\", 1 line lost\n  \
             changes \"a\", 1 line lost, 1 line new\n  \
             changes 2 files together, 2 lines lost, 1 line new:\n  \
             | *** Delete File: b\n  | @@ -1 +0,0 @@\n  | -x"
        );
        let asked = permission_question("apply_patch", &arguments);
        assert!(asked.contains("  patch, 7 lines:\n  | *** Begin Patch\n"), "{asked}");
    }

    fn check(name: &str, arguments: &Value, expected: &str) {
        assert_eq!(permission_question(name, &arguments.to_string()), expected);
    }

    // Nobody can say whether a call took effect without knowing all of it.
    #[test]
    fn a_question_about_a_call_in_doubt_shows_the_whole_call() {
        let command = format!("deploy {} --really", "x".repeat(300));
        let arguments = json!({ "command": command, "dir": "b" }).to_string();
        let question = json!({
            "id": "1", "kind": "in_doubt", "call": "1.1.0", "tool": "shell", "open": true, "at": 0,
            "heading": "shell: deploy xxx… was started. Did it take effect?", "arguments": arguments,
        });
        let shown = shown(&serde_json::from_value(question).unwrap()).replace("\n  > ", "");
        assert!(shown.contains(&format!("\n  command: \"{command}\"")), "{shown}");
        assert!(shown.contains("\n  dir: \"b\""), "{shown}");
    }

    // Chains ask for their parts.
    #[test]
    fn a_chain_says_what_needs_a_yes_unless_all_of_it_does() {
        let asked = |allowed: bool| {
            let parts = json!([
                { "command": "cargo build", "is_allowed": allowed },
                { "command": "rm -rf x", "is_allowed": false },
            ]);
            let arguments = json!({ "command": "cargo build && rm -rf x" }).to_string();
            let question = json!({
                "id": "1", "kind": "permission", "call": "1.1.0", "tool": "shell", "open": true,
                "heading": "Run shell: cargo build && rm -rf x?", "arguments": arguments,
                "parts": parts, "at": 0,
            });
            shown(&serde_json::from_value(question).unwrap())
        };
        let heading = "Run shell: cargo build && rm -rf x?";
        assert_eq!(asked(false), heading);
        let parts = "  allowed by a rule: cargo build\n  needs a yes: rm -rf x";
        assert_eq!(asked(true), format!("{heading}\n{parts}"));
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
