//! What a call puts into a file, read off its arguments.
//!
//! Knows the names that arguments of edits have. What is in the file before is not known here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text that goes into a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct EditView {
    /// The file, as it was named.
    pub path: String,
    /// The text that is replaced; absent if the whole content is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The text that takes its place.
    pub new: String,
    /// Whether every place that has the old text is meant.
    #[serde(default, skip_serializing_if = "is_false")]
    pub everywhere: bool,
}

/// The arguments of calls that change files.
#[derive(Deserialize)]
struct Named {
    path: String,
    old: Option<String>,
    new: Option<String>,
    content: Option<String>,
    #[serde(default)]
    replace_all: Option<bool>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl EditView {
    /// What arguments say; `None` if they say nothing of a file that is changed.
    pub(super) fn of(arguments: &str) -> Option<Self> {
        let Named { path, old, new, content, replace_all } =
            serde_json::from_str(arguments).ok()?;
        match (old, new, content) {
            (Some(old), Some(new), None) => {
                let everywhere = replace_all.unwrap_or_default();
                Some(Self { path, old: Some(old), new, everywhere })
            }
            (None, None, Some(new)) => Some(Self { path, old: None, new, everywhere: false }),
            (_, _, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &str, expected: Option<(&str, Option<&str>, &str, bool)>) {
        let edit = EditView::of(arguments);
        let told = edit.as_ref().map(|EditView { path, old, new, everywhere }| {
            (path.as_str(), old.as_deref(), new.as_str(), *everywhere)
        });
        assert_eq!(told, expected, "{arguments}");
    }

    #[test]
    fn an_edit_is_read_off_its_arguments() {
        check(r#"{"path":"a","old":"x","new":"y"}"#, Some(("a", Some("x"), "y", false)));
        let all = r#"{"path":"a","old":"x","new":"","replace_all":true}"#;
        check(all, Some(("a", Some("x"), "", true)));
        check(r#"{"path":"a","content":"y"}"#, Some(("a", None, "y", false)));
    }

    #[test]
    fn anything_else_is_no_edit() {
        for arguments in ["", "[]", "{}", r#"{"path":"a"}"#, r#"{"path":1,"content":"y"}"#] {
            check(arguments, None);
        }
        check(r#"{"path":"a","old":"x","new":"y","content":"z"}"#, None);
    }
}
