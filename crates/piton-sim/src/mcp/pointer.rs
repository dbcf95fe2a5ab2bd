//! Reading messages by JSON pointers.

use serde_json::Value;

/// What is at a place of a message; null if nothing is.
pub(super) fn at<'a>(value: &'a Value, place: &str) -> &'a Value {
    static NOTHING: Value = Value::Null;
    value.pointer(place).unwrap_or(&NOTHING)
}
