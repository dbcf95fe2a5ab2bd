//! Blocks as the rules read them, and the letters of their names.

use serde_json::Value;

/// One block; a bare string is a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    pub(super) kind: &'a str,
    pub(super) value: &'a Value,
}

impl<'a> Block<'a> {
    pub(super) fn all(content: Option<&'a Value>) -> Vec<Self> {
        match content {
            Some(Value::Array(blocks)) => blocks.iter().map(Self::of).collect(),
            Some(text @ Value::String(_)) => vec![Self { kind: "text", value: text }],
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                Vec::new()
            }
        }
    }

    pub(super) fn of(value: &'a Value) -> Self {
        Self { kind: value.get("type").and_then(Value::as_str).unwrap_or_default(), value }
    }

    pub(super) fn string(&self, field: &str) -> &'a str {
        self.value.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// The text of a text block.
    pub(super) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_else(|| self.string("text"))
    }

    pub(super) fn is_thought(&self) -> bool {
        matches!(self.kind, "thinking" | "redacted_thinking")
    }
}

pub(super) fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

pub(super) fn is_tool_name(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.bytes().all(is_letter)
}
