//! A form that a person fills in, field by field: the words around it, and what a typed line means.
//!
//! What a schema says, and which values fit, is known to [`piton_core::question::Form`].

use piton_core::question::{Field, FieldKind, Form};
use serde_json::{Map, Value};

use super::keys::{self, Menu, Pressed};

/// A form and what is filled in.
#[derive(Clone, Debug)]
pub(crate) struct FormPrompt {
    fields: Vec<Field>,
    filled: Map<String, Value>,
    /// The field that is asked; none before the person agreed to fill anything in.
    place: Option<usize>,
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
    /// No further: this is shown.
    Told(String),
    /// Nothing is answered for now.
    Left,
}

/// What a line means for a field.
enum Line {
    Value(Value),
    LeftOut,
    NotUnderstood,
}

impl FormPrompt {
    /// The form of a JSON schema, with nothing filled in.
    pub(crate) fn new(schema: &str) -> Self {
        Self { fields: Form::new(schema).fields, filled: Map::new(), place: None }
    }

    /// What to give in each field, for people who fill it in from a command line.
    pub(crate) fn told(&self) -> Vec<String> {
        self.fields.iter().map(told).collect()
    }

    /// An answer that fits: every field that has to be there, and every field with a default.
    pub(crate) fn example(&self) -> String {
        let given = self.fields.iter().filter(|field| field.required || field.default.is_some());
        let given: Map<_, _> = given.map(|it| (it.name.clone(), example(it))).collect();
        // A map of values cannot fail to serialise.
        serde_json::to_string(&given).unwrap_or_default()
    }

    /// What to show in front of the cursor.
    pub(crate) fn text(&self, question: &str) -> String {
        match self.field() {
            None => format!("{question} {}", menu().line()),
            Some(field) => text(field),
        }
    }

    /// Takes in a line.
    pub(crate) fn hear(&mut self, line: &str) -> Filled {
        let Some(field) = self.field() else {
            return match menu().hear(line) {
                Pressed::Key(keys::YES) => self.go_to(0),
                Pressed::Key(keys::QUIT) => Filled::Left,
                Pressed::Key(_) => Filled::Declined,
                Pressed::Told(told) => Filled::Told(told),
            };
        };
        let name = field.name.clone();
        match read(field, line.trim()) {
            Line::Value(value) => {
                self.filled.insert(name, value);
            }
            Line::LeftOut => {}
            Line::NotUnderstood => return Filled::Unclear(takes(field)),
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

/// Whether anything is filled in.
fn menu() -> Menu {
    Menu::of(&[
        (keys::YES, "answer", "field by field"),
        (keys::NO, "no answer", "the tool is told that there is none"),
        (keys::QUIT, "", "leave the question open, and the turn where it is"),
    ])
}

/// What to show in front of the cursor.
fn text(field: &Field) -> String {
    let mut notes = Vec::new();
    match (field.kind, choices(field)) {
        (FieldKind::Boolean, _) => notes.push("yes or no".to_owned()),
        (_, Some(choices)) => notes.push(choices),
        (FieldKind::Integer | FieldKind::Number, None) => notes.push("a number".to_owned()),
        (FieldKind::List, None) => notes.push("a list as JSON".to_owned()),
        (FieldKind::Text | FieldKind::Any, None) => {}
    }
    match &field.default {
        Some(Value::String(default)) => notes.push(format!("empty line: {default}")),
        Some(default) => notes.push(format!("empty line: {default}")),
        None if field.required => {}
        None => notes.push("may be left empty".into()),
    }
    match notes.as_slice() {
        [] => format!("{}: ", field.title),
        notes => format!("{} ({}): ", field.title, notes.join("; ")),
    }
}

/// What would be understood.
fn takes(field: &Field) -> String {
    match (field.kind, choices(field)) {
        (FieldKind::Boolean, _) => "answer yes or no".into(),
        (_, Some(choices)) => format!("answer with one of {choices}"),
        (FieldKind::Integer, None) => "type a whole number".into(),
        (FieldKind::Number, None) => "type a number".into(),
        (FieldKind::List, None) => "type a list as JSON".into(),
        (FieldKind::Text | FieldKind::Any, None) => "this field cannot be left empty".into(),
    }
}

/// What to give from a command line, for people.
fn told(field: &Field) -> String {
    let mut notes = vec![match (field.kind, choices(field)) {
        (FieldKind::Boolean, _) => "true or false".to_owned(),
        (_, Some(choices)) => format!("one of {choices}"),
        (FieldKind::Integer, None) => "a whole number".to_owned(),
        (FieldKind::Number, None) => "a number".to_owned(),
        (FieldKind::List, None) => "a list".to_owned(),
        (FieldKind::Text | FieldKind::Any, None) => "a text".to_owned(),
    }];
    notes.push(if field.required { "required" } else { "may be left out" }.to_owned());
    notes.extend(field.default.as_ref().map(|default| format!("default {default}")));
    let title = if field.title == field.name { "" } else { &field.title };
    let title = if title.is_empty() { String::new() } else { format!(" ({title})") };
    format!("field {}{title}: {}", field.name, notes.join(", "))
}

/// A value that fits.
fn example(field: &Field) -> Value {
    match (field.default.as_ref().or(field.choices.first()), field.kind) {
        (Some(value), _) => value.clone(),
        (None, FieldKind::Boolean) => Value::Bool(true),
        (None, FieldKind::Integer | FieldKind::Number) => Value::from(1),
        (None, FieldKind::List) => Value::Array(Vec::new()),
        (None, FieldKind::Text | FieldKind::Any) => Value::from("TEXT"),
    }
}

/// The only values that a field takes, as they are typed; none if it takes others.
fn choices(field: &Field) -> Option<String> {
    let texts: Vec<_> = field.choices.iter().map(choice_text).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

fn choice_text(choice: &Value) -> String {
    choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)
}

fn read(field: &Field, line: &str) -> Line {
    if line.is_empty() {
        return match &field.default {
            Some(default) => Line::Value(default.clone()),
            None if field.required => Line::NotUnderstood,
            None => Line::LeftOut,
        };
    }
    let chosen = field.choices.iter().find(|choice| choice_text(choice) == line);
    let value = match field.kind {
        _ if chosen.is_some() => chosen.cloned(),
        FieldKind::Boolean => match line.to_lowercase().as_str() {
            "y" | "yes" | "true" => Some(Value::Bool(true)),
            "n" | "no" | "false" => Some(Value::Bool(false)),
            _ => None,
        },
        FieldKind::Integer => line.parse::<i64>().ok().map(Value::from),
        FieldKind::Number | FieldKind::List => serde_json::from_str(line).ok(),
        FieldKind::Text | FieldKind::Any => Some(Value::from(line)),
    };
    let fitting = value.filter(|value| field.check(value).is_ok());
    fitting.map_or(Line::NotUnderstood, Line::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","required":["who"],"properties":{
        "who":{"type":"string","description":"Your name"},
        "age":{"type":"integer","default":7},
        "sure":{"type":"boolean"},
        "tone":{"type":"string","enum":["high","low"]}}}"#;

    /// What has to be there comes first, in the order of the schema.
    #[test]
    fn a_form_is_filled_in_field_by_field() {
        let mut form = FormPrompt::new(SCHEMA);
        assert_eq!(form.text("Hm?"), "Hm? (y) answer, (n) no answer, (?) help: ");
        for (line, unclear, next) in [
            ("y", "", "Your name: "),
            ("", "this field cannot be left empty", "Your name: "),
            ("Ada", "", "age (a number; empty line: 7): "),
            ("old", "type a whole number", "age (a number; empty line: 7): "),
            ("", "", "sure (yes or no; may be left empty): "),
            ("so", "answer yes or no", "sure (yes or no; may be left empty): "),
            ("", "", "tone (high, low; may be left empty): "),
            ("mid", "answer with one of high, low", "tone (high, low; may be left empty): "),
        ] {
            let heard = match unclear {
                "" => Filled::InPart,
                unclear => Filled::Unclear(unclear.into()),
            };
            assert_eq!(form.hear(line), heard, "{line}");
            assert_eq!(form.text("Hm?"), next);
        }
        let whole = r#"{"age":7,"tone":"low","who":"Ada"}"#;
        assert_eq!(form.hear("low"), Filled::Whole(whole.into()));
    }

    #[test]
    fn a_line_that_does_not_fit_its_field_is_not_taken() {
        let schema = r#"{"properties":{
            "level":{"type":"integer","enum":[1,2]}, "names":{"type":"array"}}}"#;
        let mut form = FormPrompt::new(schema);
        assert_eq!(form.hear("y"), Filled::InPart);
        assert_eq!(form.hear("3"), Filled::Unclear("answer with one of 1, 2".into()));
        assert_eq!(form.hear("2"), Filled::InPart);
        assert_eq!(form.hear("Ada"), Filled::Unclear("type a list as JSON".into()));
        let whole = r#"{"level":2,"names":["Ada"]}"#;
        assert_eq!(form.hear(r#"["Ada"]"#), Filled::Whole(whole.into()));
    }

    #[test]
    fn a_form_says_what_to_give_from_a_command_line() {
        let form = FormPrompt::new(SCHEMA);
        assert_eq!(
            form.told(),
            [
                "field who (Your name): a text, required",
                "field age: a whole number, may be left out, default 7",
                "field sure: true or false, may be left out",
                "field tone: one of high, low, may be left out",
            ]
        );
        assert_eq!(form.example(), r#"{"age":7,"who":"TEXT"}"#);
        assert_eq!(FormPrompt::new("{}").example(), "{}");
    }

    #[test]
    fn a_form_is_declined_before_it_is_begun() {
        assert_eq!(FormPrompt::new(SCHEMA).hear("n"), Filled::Declined);
        assert_eq!(FormPrompt::new("{}").hear("y"), Filled::Whole("{}".into()));
    }
}
