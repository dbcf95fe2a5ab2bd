//! A request as it came in.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

/// Fields that stand before all messages.
const HEAD: [&str; 4] = ["instructions", "system", "systemInstruction", "tools"];
/// Marks for caches move from request to request, and are no part of what is said.
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Who is asked for what.
#[derive(Debug)]
pub(super) struct Asked {
    /// The body; `null` if it is not JSON.
    pub(super) body: Value,
    /// The body, byte for byte.
    pub(super) raw: Bytes,
    /// The model's name.
    pub(super) model: String,
    /// Whether the answer is to come in pieces.
    pub(super) streams: bool,
}

impl Asked {
    /// All that stands before the answer which the message at a place belongs to, byte for byte; before
    /// the answer to come, if the place is the end. Other messages of the model directly before that
    /// place belong to the same answer.
    pub(super) fn before(&self, messages: &str, place: usize) -> String {
        let known = list(&self.body, messages).get(..place).unwrap_or_default();
        let place = known.iter().rposition(|message| !is_own(message)).map_or(0, |last| last + 1);
        let fields: BTreeMap<String, &RawValue> =
            serde_json::from_slice(&self.raw).unwrap_or_default();
        let head = HEAD.iter().filter_map(|name| fields.get(*name).map(|raw| raw.get()));
        let said: Vec<&RawValue> = fields
            .get(messages)
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        let said = said.iter().take(place).map(|raw| raw.get());
        head.chain(said).map(|raw| raw.replace(CACHE_MARK, "")).collect()
    }

    /// The same before the answer to come.
    pub(super) fn before_answer(&self, messages: &str) -> String {
        self.before(messages, list(&self.body, messages).len())
    }
}

/// Whether a message is the model's, in whichever dialect.
fn is_own(message: &Value) -> bool {
    matches!(text(message, "role"), "assistant" | "model")
        || matches!(text(message, "type"), "reasoning" | "function_call")
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
