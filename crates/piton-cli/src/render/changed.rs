//! What a call changed in a file, as its result and its arguments tell.

use anstyle::Style as Look;
use piton_core::view::{CallState, CallView, Outcome};
use serde_json::{Map, Value};

use super::diff::unified;
use super::paint::{Line, Page, Span};

/// Most lines of a change that are shown when it is made.
const SHOWN_LINES_MAX: usize = 16;

/// How much of a change is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What one looks at while it goes on.
    Short,
    /// All that is known.
    Whole,
}

/// The lines below a call that changed a file; none if it did not.
pub(crate) fn changed(call: &CallView, extent: Extent, page: Page) -> Vec<Line> {
    let Some(diff) = diff(call) else { return Vec::new() };
    let mut lines = unified(&diff, page);
    if extent == Extent::Short && SHOWN_LINES_MAX < lines.len() {
        let rest = lines.len() - SHOWN_LINES_MAX;
        lines.truncate(SHOWN_LINES_MAX);
        let told = format!("     … {rest} more lines: piton print");
        lines.push(vec![Span::new(&told, Look::new().dimmed())]);
    }
    lines
}

/// What a call added and took away, if that is what a question showed; then it need not be shown again.
pub(crate) fn as_asked(call: &CallView, asked: &str) -> Option<String> {
    let made = diff(call)?;
    let (new, lost) = (count(&made, '+'), count(&made, '-'));
    (moved(&made) == moved(asked)).then(|| format!("+{new} −{lost}"))
}

/// The lines of a difference that are new or lost.
fn moved(diff: &str) -> Vec<&str> {
    diff.lines().filter(|line| line.starts_with(['+', '-'])).collect()
}

fn count(diff: &str, sign: char) -> usize {
    diff.lines().filter(|line| line.starts_with(sign)).count()
}

/// The difference that a call made.
pub(crate) fn diff(call: &CallView) -> Option<String> {
    let change = call.change.as_ref()?;
    let CallState::Done { outcome: Outcome::Ok, .. } = call.state else { return None };
    let arguments: Map<String, Value> = serde_json::from_str(&call.arguments).unwrap_or_default();
    let content = arguments.get("content").and_then(Value::as_str);
    if let (None, Some(content)) = (&change.before, content) {
        let lines: Vec<String> = content.lines().map(|line| format!("+{line}\n")).collect();
        return Some(format!("@@ -0,0 +1,{} @@\n{}", lines.len(), lines.concat()));
    }
    let text = &call.result.as_ref()?.text;
    let (_, diff) = text.split_once('\n')?;
    // In a patch each file has a heading.
    let is_diff = diff.starts_with("@@ ") || diff.starts_with("*** ");
    is_diff.then(|| diff.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::render::paint::{Painted, Style};

    fn shown(before: Option<&str>, arguments: &Value, result: &str, extent: Extent) -> String {
        let digest = |digit: &str| digit.repeat(64);
        let call = json!({
            "id": "1.1.0", "tool": "write_file", "arguments": arguments.to_string(),
            "state": {"is": "done", "outcome": "ok"}, "result": {"text": result},
            "change": {"path": "a", "before": before.map(digest), "after": digest("2")},
        });
        let page = Page { columns: 80, style: Style::Plain };
        let lines = changed(&serde_json::from_value(call).unwrap(), extent, page);
        Painted::lines(&lines, page.style).as_str().to_owned()
    }

    #[test]
    fn a_patch_is_shown_with_a_heading_for_each_file() {
        let result = "applied the patch to 2 files\n*** Update File: a\n@@ -3 +3 @@\n-x\n+y\n*** Delete File: b\n@@ -1,1 +1,0 @@\n-z\n";
        let change = |path: &str| json!({"path": path, "before": "1".repeat(64)});
        let call = json!({
            "id": "1.1.0", "tool": "apply_patch", "arguments": "{}",
            "state": {"is": "done", "outcome": "ok"}, "result": {"text": result},
            "change": change("a"), "changes": [change("a"), change("b")],
        });
        let page = Page { columns: 80, style: Style::Plain };
        let lines = changed(&serde_json::from_value(call).unwrap(), Extent::Short, page);
        assert_eq!(
            Painted::lines(&lines, page.style).as_str(),
            "     *** Update File: a\n     @@ -3 +3 @@\n   3 -x\n   3 +y\n     \
             *** Delete File: b\n     @@ -1,1 +1,0 @@\n   1 -z\n"
        );
    }

    #[test]
    fn a_change_that_was_asked_about_is_told_by_its_size() {
        let result = "edited `a` in 1 place\n@@ -3 +3 @@\n-x\n+y\n+z\n";
        let call = json!({
            "id": "1.1.0", "tool": "edit_file", "arguments": "{}",
            "state": {"is": "done", "outcome": "ok"}, "result": {"text": result},
            "change": {"path": "a", "before": "1".repeat(64), "after": "2".repeat(64)},
        });
        let call: CallView = serde_json::from_value(call).unwrap();
        let asked = "@@ -2,3 +2,4 @@\n w\n-x\n+y\n+z\n v\n";
        assert_eq!(as_asked(&call, asked).as_deref(), Some("+2 −1"));
        assert_eq!(as_asked(&call, "@@ -3 +3 @@\n-x\n+y\n"), None, "it is another one by now");
    }

    fn thirty_lines() -> String {
        (1..=30).map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat()
    }

    #[test]
    fn an_edit_is_shown_with_its_difference() {
        let result = "edited `a` in 1 place\n@@ -3 +3 @@\n-x\n+y\n";
        let arguments = json!({"path": "a", "old": "x", "new": "y"});
        let text = shown(Some("1"), &arguments, result, Extent::Short);
        assert_eq!(text, "     @@ -3 +3 @@\n   3 -x\n   3 +y\n");
        assert_eq!(shown(Some("1"), &arguments, "already done", Extent::Short), "");
    }

    #[test]
    fn a_new_file_is_shown_short_at_first_and_whole_later() {
        let content = thirty_lines();
        let arguments = json!({"path": "a", "content": content});
        let result = "created `a` (30 lines, 200 bytes)";
        let text = shown(None, &arguments, result, Extent::Short);
        assert!(text.contains("   1 +line 1\n") && text.contains("  15 +line 15\n"), "{text}");
        assert!(text.ends_with("     … 15 more lines: piton print\n"), "{text}");
        let text = shown(None, &arguments, result, Extent::Whole);
        assert!(text.ends_with("  30 +line 30\n"), "{text}");
    }
}
