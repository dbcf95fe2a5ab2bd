//! From the arguments of a call to a tool's own struct.
//!
//! The schema that the model reads is also what its arguments are checked against, so the two
//! cannot drift. All problems are told at once, by field, with the shape that was expected: a model
//! that gets "invalid type" without a name guesses, and a guess is another step.
//!
//! Knows the part of JSON schema that our own schemas use and nothing else.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::refusal::Refusal;

/// Arguments of a call: always a JSON object. What is not one never reaches a tool.
pub type Arguments = Map<String, Value>;

/// Reads `arguments` as `T` if they fit `schema`, the JSON schema of a tool. The refusal is written for
/// the model: it names every field that does not fit and what was expected.
pub fn parse_arguments<T: DeserializeOwned>(
    schema: &str,
    arguments: &Arguments,
) -> Result<T, Refusal> {
    let schema: Value = serde_json::from_str(schema)
        .map_err(|error| Refusal(format!("the tool's own schema is broken: {error}")))?;
    let problems = problems(&schema, arguments);
    if !problems.is_empty() {
        return Err(refusal(&schema, &problems));
    }
    T::deserialize(arguments).map_err(|error| refusal(&schema, &[error.to_string()]))
}

/// Refuses arguments that do not fit a schema that somebody else wrote, as far as it is understood.
pub fn refuse_unfit(schema: &str, arguments: &Arguments) -> Result<(), Refusal> {
    let schema: Value = serde_json::from_str(schema)
        .map_err(|error| Refusal(format!("the tool's own schema is broken: {error}")))?;
    let strict = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let known = schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &String| strict || known.is_some_and(|known| known.contains_key(name));
    let looked_at = arguments.iter().filter(|(name, _)| is_known(name));
    let looked_at = looked_at.map(|(name, value)| (name.clone(), value.clone())).collect();
    let problems = problems(&schema, &looked_at);
    if problems.is_empty() { Ok(()) } else { Err(refusal(&schema, &problems)) }
}

fn refusal(schema: &Value, problems: &[String]) -> Refusal {
    Refusal(format!(
        "these arguments do not fit: {}. Nothing was done. Expected: {}",
        problems.join("; "),
        shape(schema)
    ))
}

fn problems(schema: &Value, arguments: &Arguments) -> Vec<String> {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let missing = required(schema).filter(|name| !arguments.contains_key(*name)).map(|name| {
        let kind = properties.get(name).map_or("value", kind_of);
        format!("`{name}` is missing, expected type {kind}")
    });
    let unfit = arguments.iter().filter_map(|(name, value)| match properties.get(name) {
        None => Some(format!("`{name}` is not a field of this tool")),
        // An optional field that is null is a field that was not given.
        Some(_) if value.is_null() && required(schema).all(|other| other != name) => None,
        Some(property) => misfit(property, value).map(|why| format!("`{name}` {why}")),
    });
    missing.chain(unfit).collect()
}

/// Why `value` is not what `property` describes.
fn misfit(property: &Value, value: &Value) -> Option<String> {
    let kind = kind_of(property);
    let fits = match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => true,
    };
    if !fits {
        return Some(format!("must be of type {kind}, not {}", name_of(value)));
    }
    if let (Value::Object(fields), Some(Value::Object(known))) = (value, property.get("properties"))
    {
        let strict = property.get("additionalProperties") == Some(&Value::Bool(false));
        let problems = fields.iter().filter_map(|(name, value)| match known.get(name) {
            None => strict.then(|| format!("has no field `{name}`")),
            Some(property) => misfit(property, value).map(|why| format!("in `{name}` {why}")),
        });
        return problems.reduce(|all, problem| format!("{all}, {problem}"));
    }
    if let Some(choices) = property.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        return Some(format!("must be one of {}, not {value}", choices.join(", ")));
    }
    let bound = |name| property.get(name).and_then(Value::as_i64);
    // A number beyond i64 is above every bound that a schema of ours can name.
    let number = || value.as_i64().unwrap_or(i64::MAX);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), _) if number() < least => Some(format!("must be at least {least}")),
        (_, Some(most)) if most < number() => Some(format!("must be at most {most}")),
        _ => None,
    }
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn kind_of(property: &Value) -> &str {
    property.get("type").and_then(Value::as_str).unwrap_or("value")
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The expected fields on one line: `{"path": string, "limit"?: integer}`.
fn shape(schema: &Value) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields: Vec<String> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let mark = if required(schema).any(|other| other == name) { "" } else { "?" };
            format!("\"{name}\"{mark}: {}", kind_of(property))
        })
        .collect();
    format!("{{{}}}", fields.join(", "))
}

/// Checks that a schema and the struct behind it say the same.
#[cfg(test)]
pub(crate) fn assert_agree<T: DeserializeOwned>(schema: &str) {
    let parsed: Value = serde_json::from_str(schema).expect("a schema is JSON");
    assert_eq!(parsed["type"], "object");
    assert_eq!(parsed["additionalProperties"], false);
    let properties = parsed["properties"].as_object().expect("properties");
    for (name, property) in properties {
        assert!(property["description"].is_string(), "`{name}` has no description");
    }
    let sample = |property: &Value| match (property.get("enum"), kind_of(property)) {
        (Some(choices), _) => choices[0].clone(),
        (None, "string") => "x".into(),
        (None, "integer") => 1.into(),
        (None, "boolean") => true.into(),
        (None, "array") => Value::Array(Vec::new()),
        (None, "object") => Value::Object(Map::new()),
        (None, other) => panic!("unknown type {other}"),
    };
    let all: Arguments =
        properties.iter().map(|(name, property)| (name.clone(), sample(property))).collect();
    assert!(T::deserialize(&all).is_ok(), "all fields");
    for name in properties.keys() {
        let mut rest = all.clone();
        rest.remove(name);
        let needed = required(&parsed).any(|other| other == name);
        assert_eq!(T::deserialize(&rest).is_err(), needed, "without `{name}`");
    }
    let mut more = all;
    more.insert("surprise".into(), Value::Null);
    assert!(T::deserialize(&more).is_err(), "an unknown field is refused");
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    const SCHEMA: &str = r#"{
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Which."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many."},
            "case": {"type": "string", "enum": ["a", "b"], "description": "How."}
        },
        "required": ["path"],
        "additionalProperties": false
    }"#;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        path: String,
        limit: Option<u64>,
        case: Option<String>,
    }

    fn check(arguments: Value, expected: Expect) {
        let arguments = arguments.as_object().expect("an object");
        let told = match parse_arguments::<Sample>(SCHEMA, arguments) {
            Ok(Sample { path, limit, case }) => format!("{path} {limit:?} {case:?}"),
            Err(Refusal(text)) => text,
        };
        expected.assert_eq(&told);
    }

    #[test]
    fn schema_and_struct_agree() {
        assert_agree::<Sample>(SCHEMA);
    }

    #[test]
    fn what_fits_is_read() {
        check(json!({"path": "a", "limit": 3}), expect!["a Some(3) None"]);
        check(json!({"path": "a", "limit": null, "case": "b"}), expect![[r#"a None Some("b")"#]]);
    }

    // K51, O30: nothing runs with arguments that were not given.
    #[test]
    fn an_empty_object_is_refused() {
        check(
            json!({}),
            expect![[
                r#"these arguments do not fit: `path` is missing, expected type string. Nothing was done. Expected: {"case"?: string, "limit"?: integer, "path": string}"#
            ]],
        );
    }

    #[test]
    fn every_problem_is_told_by_name() {
        check(
            json!({"path": 5, "limit": "3", "pathh": "a"}),
            expect![[
                r#"these arguments do not fit: `limit` must be of type integer, not a string; `path` must be of type string, not a number; `pathh` is not a field of this tool. Nothing was done. Expected: {"case"?: string, "limit"?: integer, "path": string}"#
            ]],
        );
    }

    #[test]
    fn bounds_and_choices_are_told() {
        let refused = |arguments: Value| {
            let arguments = arguments.as_object().expect("an object").clone();
            parse_arguments::<Sample>(SCHEMA, &arguments).expect_err("refused").0
        };
        assert!(refused(json!({"path": "a", "limit": 0})).contains("`limit` must be at least 1"));
        assert!(refused(json!({"path": "a", "limit": 10})).contains("`limit` must be at most 9"));
        assert!(refused(json!({"path": "a", "limit": -1})).contains("at least 1"));
        assert!(refused(json!({"path": "a", "limit": u64::MAX})).contains("at most 9"));
        assert!(refused(json!({"path": "a", "limit": 1.5})).contains("not a fraction"));
        assert!(refused(json!({"path": "a", "case": "c"})).contains(r#"one of "a", "b""#));
        assert!(refused(json!({"path": null})).contains("not null"));
    }
}
