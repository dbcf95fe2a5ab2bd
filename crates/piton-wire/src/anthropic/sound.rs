//! JSON that may go into a body as it is.
//!
//! Raw JSON is checked for its grammar only. A full parse also finds numbers out of range, broken
//! escapes and nesting that no parser follows, for each of which the service would reject the body.

use serde_json::{Map, Value};

/// Deepest nesting that is sent; parsers give up somewhat above a hundred.
const DEPTH_MAX: usize = 64;

/// The object in a text, if the text may be sent as one.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    let object: Map<String, Value> = serde_json::from_str(text).ok()?;
    object.values().all(|value| is_shallow(value, DEPTH_MAX)).then_some(object)
}

fn is_shallow(value: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match value {
        Value::Array(values) => values.iter().all(|value| is_shallow(value, depth)),
        Value::Object(values) => values.values().all(|value| is_shallow(value, depth)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
