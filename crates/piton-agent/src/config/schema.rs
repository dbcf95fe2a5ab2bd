//! The form of the settings file, as JSON Schema.
//!
//! Beside the usual words, a key may have `x-variable` and `x-flag`, which count before the file, and
//! `x-secret` for values that are shown to nobody.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::near::near;
use crate::settings_file::SettingsFile;

/// The form of the settings file.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator();
    let mut schema = generator.root_schema_for::<SettingsFile>().to_value();
    tidy(&mut schema);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("title".into(), "piton.toml".into());
        fields.insert("description".into(), "The settings of piton.".into());
    }
    schema
}

/// TOML has no null, and how many bits a number has is nobody's business.
fn tidy(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    fields.remove("format");
    if fields.get("default").is_some_and(Value::is_null) {
        fields.remove("default");
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [single] = types.as_slice() {
            let single = single.clone();
            fields.insert("type".into(), single);
        }
    }
    if let Some(Value::Array(ways)) = fields.get_mut("anyOf") {
        ways.retain(|way| way.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = ways.as_slice() {
            let only = only.clone();
            fields.remove("anyOf");
            for (name, value) in only {
                fields.entry(name).or_insert(value);
            }
        }
    }
    for (name, below) in fields.iter_mut() {
        match (name.as_str(), below) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(tidy),
            ("additionalProperties" | "items", below) => tidy(below),
            ("oneOf" | "anyOf", Value::Array(ways)) => ways.iter_mut().for_each(tidy),
            _ => {}
        }
    }
}

/// The keys of a table that have names of their own.
pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The form of what has a name that a person chose, if the values are tables: `[providers.NAME]`.
pub(super) fn named_tables(schema: &Value) -> Option<&Value> {
    schema.get("additionalProperties").filter(|below| properties(below).is_some())
}

/// Whether there are keys below.
pub(super) fn is_table(schema: &Value) -> bool {
    properties(schema).is_some() || named_tables(schema).is_some()
}

/// What stands beside a key: a variable, a flag.
pub(super) fn note<'a>(schema: &'a Value, name: &str) -> Option<&'a str> {
    schema.get(name).and_then(Value::as_str)
}

/// The form of a key, or the keys that may be meant.
pub(super) fn find<'a>(root: &'a Value, key: &[String]) -> Result<&'a Value, Vec<String>> {
    let mut at = root;
    for (depth, name) in key.iter().enumerate() {
        let below = properties(at).and_then(|known| known.get(name));
        at = match below.or_else(|| named_tables(at)) {
            Some(below) => below,
            None => return Err(meant(root, at, key.get(..depth).unwrap_or_default(), name)),
        };
    }
    Ok(at)
}

/// Keys that may be meant by a name that a table does not know.
fn meant(root: &Value, table: &Value, before: &[String], name: &str) -> Vec<String> {
    let here = properties(table).into_iter().flatten().map(|(key, _)| key.as_str());
    let path = |key: String| [before, &[key]].concat().join(".");
    let here = near(name, here).into_iter().map(path);
    let elsewhere = if before.is_empty() { leaves(root) } else { Vec::new() };
    let elsewhere = near(name, elsewhere.iter().map(|(key, _)| key.as_str()));
    let mut found: Vec<String> = here.collect();
    found.extend(elsewhere);
    let mut seen = Vec::new();
    found.retain(|key| {
        !seen.contains(key) && {
            seen.push(key.clone());
            true
        }
    });
    found
}

/// Every key that has a fixed name and no keys below, with its form.
pub(super) fn leaves(root: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (key, schema) in properties(root).into_iter().flatten() {
        match properties(schema) {
            Some(below) => {
                found.extend(below.iter().map(|(name, schema)| (format!("{key}.{name}"), schema)));
            }
            None if is_table(schema) => {}
            None => found.push((key.clone(), schema)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn a_key_is_found_or_near_ones_are_named() {
        let root = schema();
        for known in ["model", "sandbox.mode", "providers.mine.dialect", "mcp.files.env", "tools"] {
            assert!(find(&root, &key(known)).is_ok(), "{known}");
        }
        let near = |text: &str| find(&root, &key(text)).unwrap_err();
        assert_eq!(near("modle").first().map(String::as_str), Some("model"));
        assert_eq!(near("sandbox.netwrok"), ["sandbox.network"]);
        assert!(near("network").contains(&"sandbox.network".to_owned()));
        assert_eq!(near("providers.mine.dialct"), ["providers.mine.dialect"]);
        assert_eq!(near("model.x"), Vec::<String>::new());
    }

    // The schema is made from the types. What the frozen file says is in it.
    #[test]
    fn every_key_of_a_real_file_is_in_the_schema_and_has_a_meaning() {
        fn described(schema: &Value, at: &str) {
            for (key, below) in properties(schema).into_iter().flatten() {
                assert!(below["description"].is_string(), "{at}{key}: {below}");
                assert!(!below.to_string().contains("null"), "{at}{key}: {below}");
                described(below, &format!("{at}{key}."));
                described(named_tables(below).unwrap_or(&Value::Null), &format!("{at}{key}.NAME."));
                described(&below["items"], &format!("{at}{key}[]."));
            }
        }
        described(&schema(), "");
    }
}
