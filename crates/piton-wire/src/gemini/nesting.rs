//! How deep JSON may go.

use serde_json::Value;

/// Deepest nesting of JSON that is sent; the service stops reading at 100.
pub(super) const NESTING_MAX: usize = 64;

/// How many objects and arrays stand inside each other.
pub(super) fn nesting(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(nesting).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
