//! Parameters of a query, and what is said of one that is not taken.
//!
//! What a parameter takes is read off its description, so that an error and the description of the
//! interface say the same.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::fault::Fault;

/// The parameters of a query.
#[derive(Debug)]
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned + IntoParams, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        read(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

fn read<T: DeserializeOwned + IntoParams>(query: &str) -> Result<T, Fault> {
    let pairs: Vec<(String, String)> =
        serde_urlencoded::from_str(query).map_err(|error| Fault::bad(error.to_string()))?;
    let known = T::into_params(|| None);
    for (place, (name, value)) in pairs.iter().enumerate() {
        let Some(parameter) = known.iter().find(|parameter| parameter.name == *name) else {
            return Err(Fault::bad(format!("there is no parameter {name:?}; {}", taken(&known))));
        };
        if pairs.iter().take(place).any(|(earlier, _)| earlier == name) {
            return Err(Fault::bad(format!("{name} is there twice; it is taken once")));
        }
        if read_one::<T>(name, value).is_none() {
            let takes = takes(parameter);
            return Err(Fault::bad(format!("{name} is {value:?}; it takes {takes}")));
        }
    }
    serde_urlencoded::from_str(query).map_err(|error| Fault::bad(error.to_string()))
}

/// The parameters if there were this one only.
fn read_one<T: DeserializeOwned>(name: &str, value: &str) -> Option<T> {
    let alone = serde_urlencoded::to_string(&[(name, value)][..]).ok()?;
    serde_urlencoded::from_str(&alone).ok()
}

/// The names that are taken.
fn taken(known: &[Parameter]) -> String {
    let names: Vec<_> = known.iter().map(|parameter| &*parameter.name).collect();
    format!("this takes {}", listed(&names))
}

/// What a parameter takes, by its description.
fn takes(parameter: &Parameter) -> String {
    let schema = meant(json!(parameter.schema));
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return listed(&words.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    }
    let is = |wanted: &str| match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|it| it == wanted),
        Some(only) => only == wanted,
        None => false,
    };
    let bound = |name: &str| Some(schema.get(name)?.to_string().trim_end_matches(".0").to_owned());
    match (is("integer"), bound("minimum"), bound("maximum")) {
        (true, Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
        (true, ..) => "a whole number".into(),
        (false, ..) if is("boolean") => listed(&["true", "false"]),
        (false, ..) => "text".into(),
    }
}

/// What may be left out is described as "this, or null".
fn meant(schema: Value) -> Value {
    let choices = schema.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_null = |choice: &Value| choice.get("type").is_some_and(|it| it == "null");
    choices.into_iter().find(|choice| !is_null(choice)).unwrap_or(schema)
}

/// `one`, `one or two`, `one, two or three`.
fn listed(words: &[&str]) -> String {
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize, IntoParams)]
    #[serde(deny_unknown_fields, default)]
    #[into_params(parameter_in = Query)]
    struct Wanted {
        /// Words.
        text: Option<String>,
        /// Yes or no.
        all: bool,
        /// How many.
        #[param(minimum = 1, maximum = 9)]
        limit: Option<usize>,
    }

    fn check(query: &str, expected: &str) {
        assert_eq!(read::<Wanted>(query).unwrap_err().message, expected, "{query}");
    }

    #[test]
    fn what_is_not_taken_is_named_with_what_is() {
        let read: Wanted = read("text=a%20b&all=true&limit=3").unwrap();
        assert_eq!((read.text.as_deref(), read.all, read.limit), (Some("a b"), true, Some(3)));
        check("limit=x", "limit is \"x\"; it takes a whole number from 1 to 9");
        check("text=a&all=1", "all is \"1\"; it takes true or false");
        check("of=1", "there is no parameter \"of\"; this takes text, all or limit");
        check("all=true&all=true", "all is there twice; it is taken once");
    }
}
