//! Arguments of calls as they can be sent again: always a JSON object.

use std::sync::Arc;

use serde_json::{Value, json};

/// Arguments that came as JSON.
pub(crate) fn of_value(value: Option<&Value>) -> Arc<str> {
    match value {
        None | Some(Value::Null) => "{}".into(),
        Some(Value::Object(_)) => value.map(Value::to_string).unwrap_or_default().into(),
        Some(Value::String(text)) => of_text(text),
        Some(other) => json!({ "raw": other.to_string() }).to_string().into(),
    }
}

/// Arguments that came as a text, which should be JSON.
pub(crate) fn of_text(text: &str) -> Arc<str> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) => text.into(),
        _ if text.trim().is_empty() => "{}".into(),
        _ => raw(text),
    }
}

/// A text that was never meant to be JSON.
pub(crate) fn raw(text: &str) -> Arc<str> {
    json!({ "raw": text }).to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_always_an_object() {
        assert_eq!(&*of_text(r#"{"a": 1}"#), r#"{"a": 1}"#, "kept letter by letter");
        assert_eq!(&*of_text(r#"{"a": "#), r#"{"raw":"{\"a\": "}"#);
        assert_eq!(&*of_text("  "), "{}");
        assert_eq!(&*of_value(Some(&json!([1]))), r#"{"raw":"[1]"}"#);
        assert_eq!(&*of_value(None), "{}");
    }
}
