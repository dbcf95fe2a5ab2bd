//! Arguments that arrive piece by piece, each with its place.
//!
//! Vertex sends them so on request. We never ask for it, but a gateway may. A call that is built
//! from pieces must be as whole as a call that came at once, or it is not run.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Number, Value};

/// Most levels of a path; what is deeper is not an argument list.
const PATH_STEPS_MAX: usize = 64;

/// One piece: a place and what is put there.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Piece {
    json_path: String,
    string_value: Option<String>,
    number_value: Option<Number>,
    bool_value: Option<bool>,
    null_value: Option<IgnoredAny>,
}

/// A place was given that cannot exist; the arguments are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadPlace;

enum PathStep {
    Key(String),
    Item(usize),
}

/// Puts a piece where it belongs. Pieces of one string follow each other and are joined.
pub(super) fn put(root: &mut Value, piece: Piece) -> Result<(), BadPlace> {
    let mut place = root;
    for step in steps(&piece.json_path).ok_or(BadPlace)? {
        place = descend(place, step).ok_or(BadPlace)?;
    }
    match (place, piece.string_value, piece.number_value, piece.bool_value) {
        (Value::String(whole), Some(more), ..) => whole.push_str(&more),
        (place, Some(text), ..) => *place = Value::String(text),
        (place, None, Some(number), _) => *place = Value::Number(number),
        (place, None, None, Some(yes)) => *place = Value::Bool(yes),
        (place, None, None, None) if piece.null_value.is_some() => *place = Value::Null,
        (_, None, None, None) => {}
    }
    Ok(())
}

fn descend(place: &mut Value, step: PathStep) -> Option<&mut Value> {
    match step {
        PathStep::Key(key) => {
            if place.is_null() {
                *place = Value::Object(serde_json::Map::new());
            }
            Some(place.as_object_mut()?.entry(key).or_insert(Value::Null))
        }
        PathStep::Item(index) => {
            if place.is_null() {
                *place = Value::Array(Vec::new());
            }
            let items = place.as_array_mut()?;
            // Items come in order; a gap would be items that never came.
            if index == items.len() {
                items.push(Value::Null);
            }
            items.get_mut(index)
        }
    }
}

/// `$.a.b[0]['c']`
fn steps(path: &str) -> Option<Vec<PathStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if PATH_STEPS_MAX < steps.len() {
            return None;
        }
        if let Some(after) = rest.strip_prefix('.') {
            let (key, more) = after.split_at(after.find(['.', '[']).unwrap_or(after.len()));
            steps.push(PathStep::Key(key.to_owned()));
            rest = more;
            continue;
        }
        let after = rest.strip_prefix('[')?;
        let quote = after.chars().next().filter(|first| matches!(first, '\'' | '"'));
        let end = quote.map_or_else(|| "]".to_owned(), |quote| format!("{quote}]"));
        let (inner, more) = after.get(quote.map_or(0, char::len_utf8)..)?.split_once(&end)?;
        steps.push(match quote {
            Some(_) => PathStep::Key(inner.to_owned()),
            None => PathStep::Item(inner.parse().ok()?),
        });
        rest = more;
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(pieces: &[Value], expected: Result<Value, BadPlace>) {
        let mut root = json!({});
        let mut all = pieces.iter().map(|piece| serde_json::from_value(piece.clone()).unwrap());
        assert_eq!(all.try_for_each(|piece| put(&mut root, piece)).map(|()| root), expected);
    }

    #[test]
    fn pieces_find_their_places() {
        check(
            &[
                json!({"jsonPath": "$.a[0].b", "stringValue": "x", "willContinue": true}),
                json!({"jsonPath": "$.a[0].b", "stringValue": "y"}),
                json!({"jsonPath": "$.a[1]", "numberValue": 0.5}),
                json!({"jsonPath": "$['c.d'][0][\"e\"]", "boolValue": true}),
                json!({"jsonPath": "$.n", "nullValue": "NULL_VALUE"}),
            ],
            Ok(json!({"a": [{"b": "xy"}, 0.5], "c.d": [{"e": true}], "n": null})),
        );
    }

    #[test]
    fn places_that_cannot_be_are_refused() {
        for path in ["", "a", "$[", "$['a", "$[x]", "$.a[7]", "$[0]", "$a"] {
            check(&[json!({"jsonPath": path, "boolValue": true})], Err(BadPlace));
        }
        check(
            &[
                json!({"jsonPath": "$.a", "boolValue": true}),
                json!({"jsonPath": "$.a.b", "boolValue": true}),
            ],
            Err(BadPlace),
        );
        let deep = format!("${}", ".a".repeat(100));
        check(&[json!({"jsonPath": deep, "boolValue": true})], Err(BadPlace));
    }
}
