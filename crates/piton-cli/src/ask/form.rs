//! A form that a tool wants to have filled in, field by field.
//!
//! Forms are flat: every field is a text, a number, a yes or no, or one of several texts.

use serde_json::{Map, Value};

use super::heard::type_one_of;

/// A form and what is filled in.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    fields: Vec<Field>,
    filled: Map<String, Value>,
    /// The field that is asked; none before the person agreed to fill anything in.
    place: Option<usize>,
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    title: String,
    kind: String,
    options: Vec<String>,
    default: Option<Value>,
    required: bool,
}

/// How far a form is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// All fields, as a JSON object.
    Whole(String),
    /// Not all of them.
    InPart,
    /// No further: the line is not understood, and this would be.
    Unclear(String),
    /// The person does not want to.
    Declined,
}

/// What a line means for a field.
enum Line {
    Value(Value),
    LeftOut,
    NotUnderstood,
}

impl Form {
    /// The form of a JSON schema.
    pub(crate) fn new(schema: &str) -> Self {
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|names| names.iter().any(|other| other.as_str() == Some(name)))
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields = properties.into_iter().flatten();
        let fields = fields.map(|(name, property)| Field::new(name, property, is_required(name)));
        Self { fields: fields.collect(), filled: Map::new(), place: None }
    }

    /// What to give in each field, for people who fill it in from a command line.
    pub(crate) fn told(&self) -> Vec<String> {
        self.fields.iter().map(Field::told).collect()
    }

    /// An answer that fits: every field that has to be there, and every field with a default.
    pub(crate) fn example(&self) -> String {
        let given = self.fields.iter().filter(|field| field.required || field.default.is_some());
        let given: Map<_, _> = given.map(|it| (it.name.clone(), it.example())).collect();
        // A map of values cannot fail to serialise.
        serde_json::to_string(&given).unwrap_or_default()
    }

    /// What to show in front of the cursor.
    pub(crate) fn text(&self, question: &str) -> String {
        match self.field() {
            None => format!("{question} (a) answer, (n) no answer: "),
            Some(field) => field.text(),
        }
    }

    /// Takes in a line.
    pub(crate) fn hear(&mut self, line: &str) -> Filled {
        let Some(field) = self.field() else {
            return match line.trim().to_lowercase().as_str() {
                "a" | "answer" | "y" | "yes" => self.go_to(0),
                "n" | "no" => Filled::Declined,
                _ => Filled::Unclear(type_one_of(&['a', 'n'])),
            };
        };
        let name = field.name.clone();
        match field.read(line.trim()) {
            Line::Value(value) => {
                self.filled.insert(name, value);
            }
            Line::LeftOut => {}
            Line::NotUnderstood => return Filled::Unclear(field.takes()),
        }
        self.go_to(self.place.map_or(0, |place| place + 1))
    }

    fn field(&self) -> Option<&Field> {
        self.fields.get(self.place?)
    }

    fn go_to(&mut self, place: usize) -> Filled {
        self.place = Some(place);
        if self.field().is_some() {
            return Filled::InPart;
        }
        // A map of values cannot fail to serialise.
        Filled::Whole(serde_json::to_string(&self.filled).unwrap_or_default())
    }
}

impl Field {
    fn new(name: &str, property: &Value, required: bool) -> Self {
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        let title = text("description").or_else(|| text("title")).unwrap_or(name);
        let options = property.get("enum").and_then(Value::as_array).into_iter().flatten();
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            kind: text("type").unwrap_or("string").to_owned(),
            options: options.filter_map(Value::as_str).map(str::to_owned).collect(),
            default: property.get("default").cloned(),
            required,
        }
    }

    fn text(&self) -> String {
        let mut notes = Vec::new();
        match self.kind.as_str() {
            "boolean" => notes.push("yes or no".to_owned()),
            "integer" | "number" => notes.push("a number".to_owned()),
            _ if !self.options.is_empty() => notes.push(self.options.join(", ")),
            _ => {}
        }
        match &self.default {
            Some(Value::String(default)) => notes.push(format!("empty line: {default}")),
            Some(default) => notes.push(format!("empty line: {default}")),
            None if self.required => {}
            None => notes.push("may be left empty".into()),
        }
        match notes.as_slice() {
            [] => format!("{}: ", self.title),
            notes => format!("{} ({}): ", self.title, notes.join("; ")),
        }
    }

    /// What would be understood.
    fn takes(&self) -> String {
        match self.kind.as_str() {
            "boolean" => "answer yes or no".into(),
            "integer" => "type a whole number".into(),
            "number" => "type a number".into(),
            _ if !self.options.is_empty() => {
                format!("answer with one of {}", self.options.join(", "))
            }
            _ => "this field cannot be left empty".into(),
        }
    }

    /// What to give from a command line, for people.
    fn told(&self) -> String {
        let mut notes = vec![match self.kind.as_str() {
            "boolean" => "true or false".to_owned(),
            "integer" => "a whole number".to_owned(),
            "number" => "a number".to_owned(),
            "array" => "a list".to_owned(),
            _ if !self.options.is_empty() => format!("one of {}", self.options.join(", ")),
            _ => "a text".to_owned(),
        }];
        notes.push(if self.required { "required" } else { "may be left out" }.to_owned());
        notes.extend(self.default.as_ref().map(|default| format!("default {default}")));
        let title = if self.title == self.name { "" } else { &self.title };
        let title = if title.is_empty() { String::new() } else { format!(" ({title})") };
        format!("field {}{title}: {}", self.name, notes.join(", "))
    }

    /// A value that fits.
    fn example(&self) -> Value {
        match (&self.default, self.kind.as_str(), self.options.first()) {
            (Some(default), ..) => default.clone(),
            (None, "boolean", _) => Value::Bool(true),
            (None, "integer" | "number", _) => Value::from(1),
            (None, "array", Some(option)) => Value::from(vec![option.as_str()]),
            (None, "array", None) => Value::Array(Vec::new()),
            (None, _, Some(option)) => Value::from(option.as_str()),
            (None, _, None) => Value::from("TEXT"),
        }
    }

    fn read(&self, line: &str) -> Line {
        if line.is_empty() {
            return match &self.default {
                Some(default) => Line::Value(default.clone()),
                None if self.required => Line::NotUnderstood,
                None => Line::LeftOut,
            };
        }
        let value = match self.kind.as_str() {
            "boolean" => match line.to_lowercase().as_str() {
                "y" | "yes" | "true" => Some(Value::Bool(true)),
                "n" | "no" | "false" => Some(Value::Bool(false)),
                _ => None,
            },
            "integer" => line.parse::<i64>().ok().map(Value::from),
            "number" => serde_json::from_str::<Value>(line).ok().filter(Value::is_number),
            _ if self.options.is_empty() => Some(Value::from(line)),
            _ => self.options.iter().any(|option| option == line).then(|| Value::from(line)),
        };
        value.map_or(Line::NotUnderstood, Line::Value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","required":["who"],"properties":{
        "who":{"type":"string","description":"Your name"},
        "age":{"type":"integer","default":7},
        "sure":{"type":"boolean"},
        "tone":{"type":"string","enum":["high","low"]}}}"#;

    /// Fields come in the order of their names.
    #[test]
    fn a_form_is_filled_in_field_by_field() {
        let mut form = Form::new(SCHEMA);
        assert_eq!(form.text("Hm?"), "Hm? (a) answer, (n) no answer: ");
        for (line, unclear, next) in [
            ("perhaps", "type a or n", "Hm? (a) answer, (n) no answer: "),
            ("a", "", "age (a number; empty line: 7): "),
            ("old", "type a whole number", "age (a number; empty line: 7): "),
            ("", "", "sure (yes or no; may be left empty): "),
            ("so", "answer yes or no", "sure (yes or no; may be left empty): "),
            ("", "", "tone (high, low; may be left empty): "),
            ("mid", "answer with one of high, low", "tone (high, low; may be left empty): "),
            ("low", "", "Your name: "),
            ("", "this field cannot be left empty", "Your name: "),
        ] {
            let heard = match unclear {
                "" => Filled::InPart,
                unclear => Filled::Unclear(unclear.into()),
            };
            assert_eq!(form.hear(line), heard, "{line}");
            assert_eq!(form.text("Hm?"), next);
        }
        let whole = r#"{"age":7,"tone":"low","who":"Ada"}"#;
        assert_eq!(form.hear("Ada"), Filled::Whole(whole.into()));
    }

    #[test]
    fn a_form_says_what_to_give_from_a_command_line() {
        let form = Form::new(SCHEMA);
        assert_eq!(
            form.told(),
            [
                "field age: a whole number, may be left out, default 7",
                "field sure: true or false, may be left out",
                "field tone: one of high, low, may be left out",
                "field who (Your name): a text, required",
            ]
        );
        assert_eq!(form.example(), r#"{"age":7,"who":"TEXT"}"#);
        assert_eq!(Form::new("{}").example(), "{}");
    }

    #[test]
    fn a_form_is_declined_before_it_is_begun() {
        assert_eq!(Form::new(SCHEMA).hear("n"), Filled::Declined);
        assert_eq!(Form::new("{}").hear("a"), Filled::Whole("{}".into()));
    }
}
