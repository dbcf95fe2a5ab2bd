//! The text that a call puts into a file, taken out of its arguments to be changed, and put back.

use std::path::Path;

use piton_core::view::QuestionView;
use serde_json::{Map, Value};

/// Arguments with such a text.
const TEXTS: [&str; 3] = ["content", "new", PATCH];
/// The one that names its files itself.
const PATCH: &str = "patch";
/// Longest ending of a name that is kept, in letters.
const SUFFIX_CHARS_MAX: usize = 8;

/// A text that a person can write anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) text: String,
    /// How the name of a file with such a text ends, so that an editor knows what it is.
    pub(crate) suffix: String,
    /// All arguments, and the name of the one with the text.
    arguments: Map<String, Value>,
    name: &'static str,
}

impl Content {
    /// None if a call does not put a text into a file.
    pub(super) fn of(asked: &QuestionView) -> Option<Self> {
        let arguments: Map<String, Value> =
            serde_json::from_str(asked.arguments.as_deref()?).ok()?;
        let is_text = |name: &&str| arguments.get(*name).is_some_and(Value::is_string);
        let name = TEXTS.into_iter().find(is_text)?;
        if name != PATCH && asked.edit.is_none() {
            return None;
        }
        let text = arguments.get(name)?.as_str()?.to_owned();
        let path = asked.edit.as_ref().map(|edit| Path::new(&edit.path));
        let suffix = path.and_then(|path| path.extension()?.to_str());
        let is_plain = |it: &&str| {
            it.len() <= SUFFIX_CHARS_MAX && it.chars().all(|letter| letter.is_ascii_alphanumeric())
        };
        let usual = if name == PATCH { "diff" } else { "txt" };
        let suffix = suffix.filter(is_plain).unwrap_or(usual).to_owned();
        Some(Self { text, suffix, arguments, name })
    }

    /// The arguments with another text; none if it is the same.
    pub(crate) fn with(&self, text: &str) -> Option<String> {
        let mut arguments = self.arguments.clone();
        arguments.insert(self.name.to_owned(), text.into());
        (text != self.text).then(|| Value::Object(arguments).to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(arguments: &Value, edit: &Value) -> Option<Content> {
        let asked = json!({
            "id": "1", "kind": "permission", "call": "1.1.0", "tool": "t", "heading": "Run?",
            "open": true, "arguments": arguments.to_string(), "edit": edit, "at": 0,
        });
        Content::of(&serde_json::from_value(asked).unwrap())
    }

    #[test]
    fn what_a_call_writes_is_taken_out_and_put_back() {
        let edit = json!({ "path": "src/a.rs", "new": "x\n" });
        let written = content(&json!({ "path": "src/a.rs", "content": "x\n" }), &edit).unwrap();
        assert_eq!((written.text.as_str(), written.suffix.as_str()), ("x\n", "rs"));
        let arguments = r#"{"content":"y\n","path":"src/a.rs"}"#;
        assert_eq!(written.with("y\n").as_deref(), Some(arguments));
        assert_eq!(written.with("x\n"), None);
        let patch = content(&json!({ "patch": "*** Begin Patch" }), &Value::Null).unwrap();
        assert_eq!((patch.text.as_str(), patch.suffix.as_str()), ("*** Begin Patch", "diff"));
        assert_eq!(content(&json!({ "command": "ls" }), &Value::Null), None);
        assert_eq!(content(&json!({ "content": "x" }), &Value::Null), None);
        let odd = json!({ "path": "a.$(x)", "new": "" });
        assert_eq!(content(&json!({ "old": "", "new": "" }), &odd).unwrap().suffix, "txt");
    }
}
