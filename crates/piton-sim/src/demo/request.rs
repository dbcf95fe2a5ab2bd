//! Plain requests, read as tool calls.

use serde_json::{Value, json};

use super::sentence::request_of;

/// What may stand around a word.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// A tool call that a plain request asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// Reads `list . then read README.md` as two calls. What is not understood is left out.
pub(super) fn parse(text: &str) -> Vec<Request> {
    text.split(" then ").filter_map(|clause| clause_of(&request_of(clause))).collect()
}

/// Splits `list . and read a; run b` into subtasks, as a JSON list.
pub(super) fn subtasks(task: &str) -> String {
    let clauses = task.split(['\n', ';']).flat_map(|line| line.split(" and "));
    let clauses: Vec<&str> = clauses.map(str::trim).filter(|clause| !clause.is_empty()).collect();
    json!(clauses).to_string()
}

fn clause_of(clause: &str) -> Option<Request> {
    let (verb, rest) = clause.split_once(char::is_whitespace).unwrap_or((clause, ""));
    let rest = rest.trim();
    match verb.trim_end_matches(':').to_lowercase().as_str() {
        "list" | "ls" => {
            let path = if rest.is_empty() { "." } else { rest };
            Some(request("list_dir", json!({ "path": bare(path) })))
        }
        "read" | "show" | "cat" if !rest.is_empty() => {
            Some(request("read_file", json!({ "path": bare(rest) })))
        }
        "search" | "grep" if !rest.is_empty() => {
            let rest = rest.strip_prefix("for ").unwrap_or(rest);
            let (pattern, path) = rest.rsplit_once(" in ").unwrap_or((rest, "."));
            Some(request("grep", json!({ "pattern": bare(pattern), "path": bare(path) })))
        }
        "find" | "glob" if !rest.is_empty() => {
            Some(request("glob", json!({ "pattern": bare(rest) })))
        }
        "run" | "shell" if !rest.is_empty() => Some(request("shell", json!({ "command": rest }))),
        "delegate" if !rest.is_empty() => {
            Some(request("delegate", json!({ "task": rest.trim_start_matches(':').trim() })))
        }
        "write" => {
            let (path, content) = rest.split_once(':')?;
            let content = content.strip_prefix(' ').unwrap_or(content);
            Some(request(
                "write_file",
                json!({ "path": bare(path), "content": format!("{content}\n") }),
            ))
        }
        "edit" => {
            let (path, change) = rest.split_once(':')?;
            let (old, new) = change.split_once("->")?;
            Some(request(
                "edit_file",
                json!({ "path": bare(path), "old": bare(old), "new": bare(new) }),
            ))
        }
        _ => None,
    }
}

fn request(tool: &'static str, arguments: Value) -> Request {
    Request { tool, arguments }
}

/// Without the quotes and spaces around it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let within = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    QUOTES.into_iter().find_map(within).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&'static str, Value)]) {
        let expected: Vec<_> =
            expected.iter().map(|(tool, arguments)| request(tool, arguments.clone())).collect();
        assert_eq!(parse(text), expected, "{text}");
    }

    #[test]
    fn every_verb_becomes_its_tool() {
        check("list", &[("list_dir", json!({"path": "."}))]);
        check("read `a b.txt`", &[("read_file", json!({"path": "a b.txt"}))]);
        check("search \"x in y\" in src", &[("grep", json!({"pattern": "x in y", "path": "src"}))]);
        check("search 'kill -9' in a", &[("grep", json!({"pattern": "kill -9", "path": "a"}))]);
        check("read '", &[("read_file", json!({"path": "'"}))]);
        check("find *.rs", &[("glob", json!({"pattern": "*.rs"}))]);
        check("delegate: list src", &[("delegate", json!({"task": "list src"}))]);
        check("run echo a: b", &[("shell", json!({"command": "echo a: b"}))]);
        check("write a.txt: hi", &[("write_file", json!({"path": "a.txt", "content": "hi\n"}))]);
        check(
            "edit a.txt: hi -> ho",
            &[("edit_file", json!({"path": "a.txt", "old": "hi", "new": "ho"}))],
        );
    }

    #[test]
    fn a_task_is_split_into_subtasks() {
        assert_eq!(subtasks("list . and read a; run b\n"), r#"["list .","read a","run b"]"#);
    }

    #[test]
    fn requests_are_joined_by_then() {
        check(
            "list . then read a",
            &[("list_dir", json!({"path": "."})), ("read_file", json!({"path": "a"}))],
        );
    }

    #[test]
    fn what_is_not_understood_asks_for_nothing() {
        check("make me a sandwich", &[]);
        check("write without a colon", &[]);
        check("", &[]);
    }
}
