//! A request as it came in.

use serde_json::Value;

/// Who is asked for what.
#[derive(Debug)]
pub(super) struct Asked {
    /// The body; `null` if it is not JSON.
    pub(super) body: Value,
    /// The model's name.
    pub(super) model: String,
    /// Whether the answer is to come in pieces.
    pub(super) streams: bool,
}

/// A field that is a text; nothing else counts as one.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A field that is a list; nothing else counts as one.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts in a content that is a string or a list of parts.
pub(super) fn texts(content: Option<&Value>) -> Vec<&str> {
    match content {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    }
}

/// Sets a field of an object.
pub(super) fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

/// A number in a finding such as `turn 3: …` or `input[3]: …`, behind `mark`.
pub(super) fn number_behind(finding: &str, mark: &str) -> Option<usize> {
    let (_, rest) = finding.split_once(mark)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
