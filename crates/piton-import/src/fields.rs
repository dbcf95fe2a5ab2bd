//! Looking into JSON that may have any shape.

use chrono::DateTime;
use piton_core::id::Timestamp;
use serde_json::Value;

/// The text of a field; none if it is missing, empty or something else.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The same as a text of one's own.
pub(crate) fn owned(value: &Value, name: &str) -> Option<String> {
    text(value, name).map(ToOwned::to_owned)
}

/// What lies behind several names, one in the other.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// Whether a field says yes.
pub(crate) fn is_true(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool) == Some(true)
}

/// The items of a list; none if it is none.
pub(crate) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A moment: written out, or counted in milliseconds.
pub(crate) fn moment(value: Option<&Value>) -> Option<Timestamp> {
    match value? {
        Value::String(text) => {
            let moment = DateTime::parse_from_rfc3339(text).ok()?.timestamp_millis();
            u64::try_from(moment).ok().map(Timestamp)
        }
        Value::Number(number) => number.as_u64().map(Timestamp),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
