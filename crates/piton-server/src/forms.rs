//! The forms of views and commands in the description: made from the types of the core.
//!
//! Their schemas come from `schemars`, which the core derives; those of this crate come from `utoipa`.
//! The description holds both under their names, so either may refer to the other.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use utoipa::openapi::schema::{Array, KnownFormat, Object, SchemaFormat, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Where the description keeps schemas.
const SCHEMAS: &str = "/components/schemas";

/// Refers to the form of a type of the core.
pub(crate) fn of_core<T: JsonSchema>() -> Ref {
    Ref::from_schema_name(T::schema_name())
}

/// Refers to the form of a list of them.
pub(crate) fn of_core_list<T: JsonSchema>() -> Array {
    Array::new(of_core::<T>())
}

/// The bytes of a file.
#[derive(Debug)]
pub(crate) enum FileBytes {}

impl PartialSchema for FileBytes {
    fn schema() -> RefOr<Schema> {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        let bytes = Object::builder().schema_type(Type::String).format(Some(binary));
        bytes.min_length(Some(1)).into()
    }
}

impl ToSchema for FileBytes {}

/// The schemas of types of the core, with everything that they refer to, by their names.
#[derive(Debug)]
pub(crate) struct CoreForms(schemars::SchemaGenerator);

impl CoreForms {
    /// None yet.
    pub(crate) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12();
        Self(settings.with(|it| it.definitions_path = SCHEMAS.into()).into_generator())
    }

    /// With one more type.
    pub(crate) fn with<T: JsonSchema>(mut self) -> Self {
        self.0.subschema_for::<T>();
        self
    }

    /// All of them.
    pub(crate) fn all(mut self) -> Map<String, Value> {
        let mut all = self.0.take_definitions(true);
        all.values_mut().for_each(gather_words);
        all
    }
}

/// Makes one list of words of what is a choice between single words: generators of clients know lists.
/// What a word means goes into the description.
fn gather_words(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(gather_words);
            let choices = fields.get("oneOf").and_then(Value::as_array);
            let words = choices.and_then(|choices| choices.iter().map(words_of).collect());
            let Some(words): Option<Vec<Vec<(String, String)>>> = words else { return };
            let (mut all, mut meaning) = (Vec::new(), Vec::new());
            for (word, means) in words.into_iter().flatten() {
                if !means.is_empty() {
                    meaning.push(format!("- `{word}`: {means}"));
                }
                all.push(Value::from(word));
            }
            let description = fields.get("description").and_then(Value::as_str).unwrap_or_default();
            let description = format!("{description}\n\n{}", meaning.join("\n"));
            fields.remove("oneOf");
            fields.insert("description".into(), description.trim().into());
            fields.insert("type".into(), "string".into());
            fields.insert("enum".into(), all.into());
        }
        Value::Array(items) => items.iter_mut().for_each(gather_words),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The words of a choice with what they mean, if it is one of words.
fn words_of(choice: &Value) -> Option<Vec<(String, String)>> {
    let means = choice.get("description").and_then(Value::as_str).unwrap_or_default();
    let word = |word: &Value| Some((word.as_str()?.to_owned(), means.to_owned()));
    match (choice.get("const"), choice.get("enum").and_then(Value::as_array)) {
        (Some(only), None) => Some(vec![word(only)?]),
        (None, Some(several)) => several.iter().map(word).collect(),
        _ => None,
    }
}

/// Says of a body that may be left out just that. It is described as "this, or null", which clients send
/// as `null`, or refuse to leave out.
pub(crate) fn may_be_left_out(body: &mut Value) {
    let Value::Object(body) = body else { return };
    let content = body.get_mut("content").and_then(Value::as_object_mut);
    let mut is_optional = false;
    for media in content.into_iter().flat_map(Map::values_mut) {
        let Some(schema) = media.get_mut("schema") else { continue };
        let choices = schema.get("oneOf").and_then(Value::as_array).map(Vec::as_slice);
        let Some([one, other]) = choices else { continue };
        let only = match (is_null(one), is_null(other)) {
            (true, false) => other.clone(),
            (false, true) => one.clone(),
            (true, true) | (false, false) => continue,
        };
        *schema = only;
        is_optional = true;
    }
    if is_optional {
        body.insert("required".into(), false.into());
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|it| it == "null")
}

/// Says of every number how large it may be: a type of this program ends somewhere, and a client that
/// reads the description cannot know where.
pub(crate) fn bound_numbers(schema: &mut Value) {
    if let Value::Object(fields) = schema {
        let most = match fields.get("format").and_then(Value::as_str) {
            Some("int32" | "uint32") => Some(u64::from(u32::MAX)),
            Some("int64" | "uint64") => Some(u64::MAX),
            _ => None,
        };
        let is_unsigned = fields.get("minimum").and_then(Value::as_u64).is_some();
        if let Some(most) = most.filter(|_| is_unsigned && !fields.contains_key("maximum")) {
            fields.insert("maximum".into(), most.into());
        }
        fields.values_mut().for_each(bound_numbers);
    } else if let Value::Array(items) = schema {
        items.iter_mut().for_each(bound_numbers);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_choice_between_words_becomes_a_list_of_words() {
        let mut choice = json!({ "description": "How.", "oneOf": [
            { "const": "so", "type": "string", "description": "This way." },
            { "enum": ["or", "else"], "type": "string" },
        ] });
        gather_words(&mut choice);
        let description = "How.\n\n- `so`: This way.";
        let list =
            json!({ "description": description, "type": "string", "enum": ["so", "or", "else"] });
        assert_eq!(choice, list);
        let mut objects = json!({ "oneOf": [{ "const": "so" }, { "type": "object" }] });
        gather_words(&mut objects);
        assert!(objects["oneOf"].is_array(), "{objects}");
    }

    #[test]
    fn a_body_that_may_be_left_out_is_not_described_as_null() {
        let of = |schema: Value| json!({ "content": { "application/json": { "schema": schema } } });
        let (form, nothing) = (json!({ "$ref": "#/x" }), json!({ "type": "null" }));
        for choices in [json!([nothing, form]), json!([form, nothing])] {
            let mut body = of(json!({ "oneOf": choices }));
            may_be_left_out(&mut body);
            assert_eq!(body["content"]["application/json"]["schema"], form);
            assert_eq!(body["required"], false);
        }
        let mut body = of(form.clone());
        may_be_left_out(&mut body);
        assert_eq!(body, of(form));
    }

    #[test]
    fn a_number_without_an_end_gets_one() {
        let mut schema = json!([
            { "type": "integer", "format": "uint32", "minimum": 0 },
            { "type": "integer", "format": "int64", "minimum": 1, "maximum": 5 },
            { "type": "integer", "format": "int32" },
        ]);
        bound_numbers(&mut schema);
        assert_eq!(schema[0]["maximum"], u32::MAX);
        assert_eq!(schema[1]["maximum"], 5);
        assert_eq!(schema[2].get("maximum"), None);
    }
}
