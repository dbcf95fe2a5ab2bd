//! A form that a tool wants to have filled in: its fields, and whether an answer fits them.
//!
//! Reads the part of JSON schema that forms use: a flat object whose fields have a type, choices and a
//! default. Anything else in a schema is ignored.

use serde_json::{Map, Value};

/// A form, read from its JSON schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// Its fields: first those that have to be there, in the order in which the schema names them, then the
    /// others by their names. The order of an object's members is not kept on its way here.
    pub fields: Vec<Field>,
    /// Names of fields that have to be there, in the order of the schema.
    required: Vec<String>,
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    /// What people read; the name if the schema says nothing else.
    pub title: String,
    /// The values that it takes.
    pub kind: FieldKind,
    /// The only values that it takes; empty if the schema lists none.
    pub choices: Vec<Value>,
    /// The value if nothing is typed.
    pub default: Option<Value>,
    /// Whether it has to be there.
    pub required: bool,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A text.
    Text,
    /// Yes or no.
    Boolean,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// A list.
    List,
    /// The schema names no type, or one that forms do not have: every value fits.
    Any,
}

impl Form {
    /// The form of a JSON schema. What is no schema is a form without fields.
    pub fn new(schema: &str) -> Self {
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: Vec<_> = required.filter_map(Value::as_str).map(str::to_owned).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields = properties.into_iter().flatten();
        let fields =
            fields.map(|(name, property)| Field::new(name, property, required.contains(name)));
        let mut fields: Vec<_> = fields.collect();
        let place = |field: &Field| required.iter().position(|name| *name == field.name);
        fields.sort_by_key(|field| place(field).unwrap_or(usize::MAX));
        Self { fields, required }
    }

    /// What a typed answer means, as a JSON object; an error says what does not fit. Fields that the
    /// form does not have are let through.
    pub fn read(&self, typed: &str) -> Result<String, String> {
        let filled: Map<String, Value> = serde_json::from_str(typed)
            .map_err(|error| format!("answer with a JSON object ({error})"))?;
        if let Some(name) = self.required.iter().find(|name| !filled.contains_key(*name)) {
            return Err(format!("the field `{name}` is missing"));
        }
        for field in &self.fields {
            if let Some(value) = filled.get(&field.name) {
                let named = |misfit| format!("the field `{}` {misfit}", field.name);
                field.check(value).map_err(named)?;
            }
        }
        // A map of values cannot fail to serialise.
        Ok(serde_json::to_string(&filled).unwrap_or_default())
    }
}

impl Field {
    fn new(name: &str, property: &Value, required: bool) -> Self {
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        let title = text("description").or_else(|| text("title")).unwrap_or(name);
        let choices = property.get("enum").and_then(Value::as_array);
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            kind: FieldKind::new(text("type").unwrap_or_default()),
            choices: choices.cloned().unwrap_or_default(),
            default: property.get("default").cloned(),
            required,
        }
    }

    /// Holds a value against type and choices; an error goes behind the field's name.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if !self.kind.has(value) {
            return Err(format!("is not of type {}", self.kind.word()));
        }
        if self.choices.is_empty() || self.choices.contains(value) {
            return Ok(());
        }
        let choices: Vec<_> = self.choices.iter().map(ToString::to_string).collect();
        Err(format!("is none of {}", choices.join(", ")))
    }
}

impl FieldKind {
    fn new(word: &str) -> Self {
        let all = [Self::Text, Self::Boolean, Self::Integer, Self::Number, Self::List];
        all.into_iter().find(|kind| kind.word() == word).unwrap_or(Self::Any)
    }

    /// What JSON schema calls it.
    fn word(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::List => "array",
            Self::Any => "any",
        }
    }

    fn has(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::List => value.is_array(),
            Self::Any => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(property: &str, value: &str, expected: Result<(), &str>) {
        let schema = format!(r#"{{"properties":{{"it":{property}}}}}"#);
        let form = Form::new(&schema);
        let [field] = form.fields.as_slice() else { panic!("{schema}") };
        let checked = field.check(&serde_json::from_str(value).unwrap());
        assert_eq!(checked.as_ref().map_err(String::as_str), expected.as_ref().map_err(|it| *it));
    }

    #[test]
    fn a_value_is_held_against_type_and_choices() {
        check(r#"{"type":"string"}"#, "1", Err("is not of type string"));
        check(r#"{"type":"boolean"}"#, "true", Ok(()));
        check(r#"{"type":"integer"}"#, "1.5", Err("is not of type integer"));
        check(r#"{"type":"number"}"#, "1.5", Ok(()));
        check(r#"{"type":"array"}"#, r#""a""#, Err("is not of type array"));
        check(r#"{"type":"integer","enum":[1,2]}"#, "3", Err("is none of 1, 2"));
        check("{}", "[]", Ok(()));
        check(r#"{"type":"any"}"#, "{}", Ok(()));
    }

    #[test]
    fn what_is_no_schema_is_a_form_without_fields() {
        assert_eq!(Form::new("hm").fields, []);
        assert_eq!(Form::new("hm").read(r#"{"a": 1}"#), Ok(r#"{"a":1}"#.into()));
        let unlisted = Form::new(r#"{"required":["a"]}"#);
        assert_eq!(unlisted.read("{}"), Err("the field `a` is missing".into()));
    }
}
