//! `docs/settings.md`, made from the form of the settings.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::schema::{named_tables, note, properties, schema};

/// What stands above the keys.
const HEAD: &str = include_str!("page.md");

/// The page.
pub fn page() -> String {
    let root = schema();
    let mut text = HEAD.to_owned();
    let tables = properties(&root).cloned().unwrap_or_default();
    let single = tables.iter().filter(|(_, schema)| rows(schema).is_none());
    text.push_str("\n## Keys at the top\n\n");
    table(&mut text, single, &Value::Null);
    for (name, schema) in &tables {
        let Some((title, keys, form)) = rows(schema) else { continue };
        let title = title.replace("NAME", &format!("{name}.NAME"));
        let title = if title.is_empty() { format!("[{name}]") } else { title };
        let title = title.replace("LIST", name);
        write(&mut text, format_args!("\n## `{title}`\n\n{}\n\n", meaning(schema)));
        table(&mut text, keys.iter(), form);
    }
    text
}

/// The keys of a table and its form, with that of its title: `NAME` if a person chooses its name.
fn rows(schema: &Value) -> Option<(&'static str, &Map<String, Value>, &Value)> {
    let ways =
        [("", Some(schema)), ("[NAME]", named_tables(schema)), ("[[LIST]]", schema.get("items"))];
    ways.into_iter().find_map(|(title, form)| Some((title, form.and_then(properties)?, form?)))
}

/// The keys as a table, and the words that some of them take. `form` says which are needed.
fn table<'a>(
    text: &mut String,
    keys: impl Iterator<Item = (&'a String, &'a Value)> + Clone,
    form: &Value,
) {
    let needed = form.get("required").and_then(Value::as_array);
    let is_needed = |key: &str| needed.is_some_and(|needed| needed.iter().any(|name| name == key));
    text.push_str("| key | takes | default | also | meaning |\n|---|---|---|---|---|\n");
    for (key, schema) in keys.clone() {
        let default = match schema.get("default") {
            Some(value) => format!("`{value}`"),
            None if is_needed(key) => "needed".into(),
            None => String::new(),
        };
        let also = ["x-variable", "x-flag"].iter().filter_map(|name| note(schema, name));
        let also: Vec<_> = also.map(|name| format!("`{name}`")).collect();
        let (takes, also, meaning) = (takes(schema), also.join(", "), meaning(schema));
        write(text, format_args!("| `{key}` | {takes} | {default} | {also} | {meaning} |\n"));
    }
    for (key, schema) in keys {
        let words: Vec<_> = words(schema).collect();
        if words.is_empty() {
            continue;
        }
        write(text, format_args!("\n`{key}` is one of:\n\n"));
        for (word, meaning) in words {
            write(text, format_args!("- `{word}`: {meaning}\n"));
        }
    }
}

/// The words of which a key takes one, with their meaning.
fn words(schema: &Value) -> impl Iterator<Item = (&str, String)> {
    let words = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    words.filter_map(|word| Some((word.get("const")?.as_str()?, meaning(word))))
}

fn takes(schema: &Value) -> String {
    let of = |name: &str| schema.get(name).map(takes).unwrap_or_default();
    match schema.get("type") {
        Some(Value::String(name)) => match name.as_str() {
            "string" => "text".into(),
            "integer" | "number" => "number".into(),
            "boolean" => "`true` or `false`".into(),
            "array" => format!("list of {}", of("items")),
            "object" if schema.get("additionalProperties").is_some_and(Value::is_object) => {
                format!("table of {}", of("additionalProperties"))
            }
            _ => "table".into(),
        },
        Some(Value::Array(types)) if types.iter().any(|name| name == "boolean") => {
            let other = match schema.get("items") {
                Some(_) => format!("list of {}", of("items")),
                None => "a table".into(),
            };
            format!("`true`, `false`, or {other}")
        }
        Some(Value::Array(_)) => "text, or list of text".into(),
        Some(_) | None => "a word".into(),
    }
}

/// In one line: a row of a table has no more.
fn meaning(schema: &Value) -> String {
    note(schema, "description").unwrap_or_default().replace('\n', " ")
}

fn write(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    text.write_fmt(what).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    // To make it again: UPDATE_EXPECT=1 cargo test -p piton-agent
    #[test]
    fn the_document_is_what_the_types_say() {
        expect_file!["../../../../docs/settings.md"].assert_eq(&page());
    }
}
