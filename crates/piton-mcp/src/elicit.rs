//! A question of a server becomes a question to a person, and the answer goes back truthfully.
//!
//! A form is one question with the server's own schema, made flat for the face that shows it. A person
//! who says no declines; where nobody answers, the server is told that the question was cancelled.

use piton_core::event::Shape;
use piton_core::question::Question;
use piton_tools::{Job, Response};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};

use crate::text::head;

/// Most times that a form is shown whose fields do not fit.
const TRIES_MAX: usize = 3;
/// Longest words of a server that are shown, in bytes.
const MESSAGE_BYTES_MAX: usize = 4 * 1024;

/// Puts the question to a person. `name` tells the questions of one call apart. If nobody is there
/// now, it stays open; the error says what is asked.
pub(crate) async fn elicit(
    job: &Job,
    server: &str,
    name: &str,
    asked: ElicitRequestParams,
) -> Result<ElicitResult, String> {
    // The kinds of questions are open: a later one cannot be put to anybody.
    match asked {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
            form(job, &said(server, &message), name, &schema).await
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let text =
                format!("{}\nOpen {url} and answer yes when you are done.", said(server, &message));
            let question = Question::new(name, text.clone());
            let question = question.shaped(Shape::Confirm).human_only();
            Ok(match job.ask(question).await {
                Response::Given(word) if word == "yes" => {
                    ElicitResult::new(ElicitationAction::Accept)
                }
                Response::Given(_) | Response::Secret(_) | Response::Declined => declined(),
                Response::Withdrawn(_) => cancelled(),
                Response::Deferred => return Err(text),
            })
        }
        _ => Ok(declined()),
    }
}

/// What a server says is shown as its words.
fn said(server: &str, message: &str) -> String {
    format!("The MCP server {server} asks: {}", head(message, MESSAGE_BYTES_MAX))
}

async fn form(job: &Job, text: &str, name: &str, schema: &Value) -> Result<ElicitResult, String> {
    let flat = flat(schema);
    let mut text = text.to_owned();
    for attempt in 1..=TRIES_MAX {
        let name = match attempt {
            1 => name.to_owned(),
            _ => format!("{name}-{attempt}"),
        };
        let schema_text = flat.to_string().into();
        let question =
            Question::new(name, text.clone()).shaped(Shape::Form { schema: schema_text });
        let given = match job.ask(question).await {
            Response::Given(given) => given,
            Response::Secret(_) | Response::Declined => return Ok(declined()),
            Response::Withdrawn(_) => return Ok(cancelled()),
            Response::Deferred => return Err(text),
        };
        let fields: Map<String, Value> = serde_json::from_str(&given).unwrap_or_default();
        match filled(schema, fields) {
            Ok(content) => {
                let content = Value::Object(content);
                return Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content));
            }
            Err(fault) => text = format!("{fault}. Please fill it in again."),
        }
    }
    Ok(cancelled())
}

fn declined() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Decline)
}

fn cancelled() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Cancel)
}

/// The form as it is shown: every field is a text, a number, a yes or no, or one of several texts.
fn flat(schema: &Value) -> Value {
    let properties =
        properties(schema).map(|(name, field)| (name.clone(), flat_field(name, field)));
    let properties: Map<String, Value> = properties.collect();
    let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
    json!({"type": "object", "properties": properties, "required": required})
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn flat_field(name: &str, field: &Value) -> Value {
    let text = |key: &str| field.get(key).and_then(Value::as_str);
    let kind = text("type").unwrap_or("string");
    let mut title = match (text("title"), text("description")) {
        (Some(title), Some(about)) => format!("{title}: {about}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => name.to_owned(),
    };
    if let Some(bounds) = bounds(field) {
        title = format!("{title}, {bounds}");
    }
    let mut flat = Map::new();
    let options = options(field);
    if is_many(field) {
        title = format!("{title}, some of {}, with commas between them", options.join(" | "));
        flat.insert("type".into(), json!("string"));
    } else {
        flat.insert("type".into(), json!(kind));
        if !options.is_empty() {
            flat.insert("enum".into(), json!(options));
        }
    }
    flat.insert("description".into(), json!(title));
    match field.get("default") {
        Some(Value::Array(many)) => {
            let words: Vec<&str> = many.iter().filter_map(Value::as_str).collect();
            flat.insert("default".into(), json!(words.join(", ")));
        }
        Some(default) => {
            flat.insert("default".into(), default.clone());
        }
        None => {}
    }
    Value::Object(flat)
}

fn is_many(field: &Value) -> bool {
    field.get("type").and_then(Value::as_str) == Some("array")
}

/// What can be chosen, in any of the ways in which that is written.
fn options(field: &Value) -> Vec<String> {
    let place = if is_many(field) { field.get("items").unwrap_or(field) } else { field };
    let listed = place.get("enum").and_then(Value::as_array).into_iter().flatten();
    let titled = ["oneOf", "anyOf"].iter().filter_map(|key| place.get(*key)?.as_array()).flatten();
    let titled = titled.filter_map(|option| option.get("const"));
    listed.chain(titled).filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}

/// The bounds of a field, in words.
fn bounds(field: &Value) -> Option<String> {
    let (least, most) = limits(field);
    match (least, most) {
        (Some(least), Some(most)) => Some(format!("from {least} to {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
    }
}

/// Bounds of a number, of the letters of a text, or of the number of choices.
fn limits(field: &Value) -> (Option<f64>, Option<f64>) {
    let number = |keys: [&str; 3]| keys.iter().find_map(|key| field.get(*key)?.as_f64());
    (number(["minimum", "minLength", "minItems"]), number(["maximum", "maxLength", "maxItems"]))
}

/// The fields as the server wants them; an error says what does not fit.
fn filled(schema: &Value, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
    for (name, field) in properties(schema) {
        let Some(value) = fields.get_mut(name) else { continue };
        if is_many(field)
            && let Value::String(words) = value
        {
            let words = words.split(',').map(str::trim).filter(|word| !word.is_empty());
            let words: Vec<String> = words.map(ToOwned::to_owned).collect();
            let options = options(field);
            if let Some(odd) = words.iter().find(|word| !options.contains(word)) {
                return Err(format!("`{odd}` is none of {}", options.join(", ")));
            }
            *value = json!(words);
        }
        let size = match &*value {
            Value::Number(number) => number.as_f64(),
            #[expect(clippy::cast_precision_loss, reason = "no form holds so many letters")]
            Value::String(text) => Some(text.chars().count() as f64),
            #[expect(clippy::cast_precision_loss, reason = "no form holds so many choices")]
            Value::Array(many) => Some(many.len() as f64),
            Value::Null | Value::Bool(_) | Value::Object(_) => None,
        };
        let (least, most) = limits(field);
        let fits = size.is_none_or(|size| {
            least.is_none_or(|least| least <= size) && most.is_none_or(|most| size <= most)
        });
        if !fits {
            let bounds = bounds(field).unwrap_or_default();
            return Err(format!("The field `{name}` does not fit: {bounds}"));
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "title": "Name", "description": "as in your passport"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
            "tone": {"type": "string", "oneOf": [{"const": "h", "title": "High"}, {"const": "l", "title": "Low"}]},
            "tools": {"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["saw", "axe", "nail"]},
                "default": ["saw"]},
        }})
    }

    #[test]
    fn a_form_is_flat_for_every_face() {
        let flat = flat(&schema());
        let field = |name: &str| flat["properties"][name].clone();
        assert_eq!(flat["required"], json!(["name"]));
        assert_eq!(field("name")["description"], "Name: as in your passport");
        assert_eq!(field("count")["description"], "count, from 1 to 9");
        assert_eq!(
            (&field("count")["type"], &field("count")["default"]),
            (&json!("integer"), &json!(3))
        );
        assert_eq!(field("tone")["enum"], json!(["h", "l"]));
        assert_eq!(
            (&field("tools")["type"], &field("tools")["default"]),
            (&json!("string"), &json!("saw"))
        );
        let about = "tools, at most 2, some of saw | axe | nail, with commas between them";
        assert_eq!(field("tools")["description"], about);
    }

    #[test]
    fn what_was_typed_is_given_back_in_the_servers_form() {
        let check = |fields: Value, expected: Result<Value, &str>| {
            let found = filled(&schema(), fields.as_object().cloned().unwrap());
            assert_eq!(found.map(Value::Object), expected.map_err(ToOwned::to_owned));
        };
        check(
            json!({"name": "A", "tools": "axe, saw"}),
            Ok(json!({"name": "A", "tools": ["axe", "saw"]})),
        );
        check(json!({"name": "A", "count": 9}), Ok(json!({"name": "A", "count": 9})));
        check(json!({"count": 10}), Err("The field `count` does not fit: from 1 to 9"));
        check(json!({"tools": "axe, gun"}), Err("`gun` is none of saw, axe, nail"));
        check(json!({"tools": "axe,saw,nail"}), Err("The field `tools` does not fit: at most 2"));
    }
}
