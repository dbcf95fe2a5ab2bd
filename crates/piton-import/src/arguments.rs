//! Arguments of calls as they can be sent again: always a JSON object.

use std::sync::Arc;

use serde_json::{Value, json};

/// Arguments of a call.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    /// A JSON object.
    pub(crate) text: Arc<str>,
    /// Whether the file had none where one belongs: what it had is in this one, as a text.
    pub(crate) is_mended: bool,
}

/// Arguments that came as JSON.
pub(crate) fn of_value(value: Option<&Value>) -> Arguments {
    match value {
        None | Some(Value::Null) => whole("{}"),
        Some(object @ Value::Object(_)) => whole(&object.to_string()),
        Some(Value::String(text)) => of_text(text),
        Some(other) => Arguments { is_mended: true, ..raw(&other.to_string()) },
    }
}

/// Arguments that came as a text, which should be JSON.
pub(crate) fn of_text(text: &str) -> Arguments {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) => whole(text),
        _ if text.trim().is_empty() => whole("{}"),
        _ => Arguments { is_mended: true, ..raw(text) },
    }
}

/// A text that was never meant to be JSON.
pub(crate) fn raw(text: &str) -> Arguments {
    whole(&json!({ "raw": text }).to_string())
}

fn whole(text: &str) -> Arguments {
    Arguments { text: text.into(), is_mended: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_always_an_object() {
        let given = |it: Arguments| (it.text.to_string(), it.is_mended);
        let told = |text: &str, is_mended| (text.to_owned(), is_mended);
        let kept = told(r#"{"a": 1}"#, false);
        assert_eq!(given(of_text(r#"{"a": 1}"#)), kept, "kept letter by letter");
        assert_eq!(given(of_text(r#"{"a": "#)), told(r#"{"raw":"{\"a\": "}"#, true));
        assert_eq!(given(of_text("  ")), told("{}", false));
        assert_eq!(given(of_value(Some(&json!([1])))), told(r#"{"raw":"[1]"}"#, true));
        assert_eq!(given(of_value(None)), told("{}", false));
        assert_eq!(given(raw("*** Begin")), told(r#"{"raw":"*** Begin"}"#, false));
    }
}
