//! Every setting with its value, and where that comes from: the file, the environment or a flag.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Number, Value};
use toml_edit::{Document, Item, Key, TableLike, Value as TomlValue};

use super::change::{ConfigError, path_of, quoted, spelled};
use super::hidden;
use super::schema::{find, is_table, leaves, named_tables, note, properties, schema};
use crate::agent::Agent;
use crate::environment::Environment;
use crate::settings::Settings;
use crate::settings_file::read_text;

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its key, with dots between tables.
    pub key: String,
    /// Its value as it may be shown; none if nothing is set and there is no fixed default.
    pub value: Option<Value>,
    /// Where the value comes from.
    pub origin: Origin,
}

/// Where a value comes from. Later ones count before earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// The settings file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Variable(String),
    /// A flag.
    Flag(String),
}

/// What a flag says.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// The key that it counts for.
    pub key: &'static str,
    /// The flag as it is typed.
    pub flag: &'static str,
    /// What was given.
    pub value: Value,
}

/// Every setting: all that can be set, and what the file says of tables with names.
pub fn all(settings: &Settings, given: &[Given]) -> Result<Vec<Setting>, ConfigError> {
    // What makes no sense is told as every other command would.
    Agent::load(settings.clone())?;
    let root = schema();
    let mut found = BTreeMap::new();
    for (key, schema) in leaves(&root) {
        let value = schema.get("default").cloned();
        found.insert(key.clone(), Setting { key, value, origin: Origin::Default });
    }
    for setting in settings.file.as_deref().map(|file| written(file, &root)).into_iter().flatten() {
        found.insert(setting.key.clone(), setting);
    }
    for (key, schema) in leaves(&root) {
        if let Some(setting) = said(&key, schema, &settings.environment) {
            found.insert(key, setting);
        }
    }
    for Given { key, flag, value } in given {
        let (key, value) = ((*key).to_owned(), Some(value.clone()));
        found.insert(key.clone(), Setting { key, value, origin: Origin::Flag((*flag).into()) });
    }
    Ok(found.into_values().collect())
}

/// The setting of a key, or all of a table.
pub fn one(settings: &Settings, given: &[Given], key: &str) -> Result<Vec<Setting>, ConfigError> {
    let root = schema();
    let path = path_of(key)?;
    find(&root, &path).map_err(|near| ConfigError::Unknown { key: key.into(), near })?;
    let key = spelled(key)?;
    let below = format!("{key}.");
    let mut found = all(settings, given)?;
    found.retain(|setting| setting.key == key || setting.key.starts_with(&below));
    if found.is_empty() {
        found.push(Setting { key, value: None, origin: Origin::Default });
    }
    Ok(found)
}

/// What the environment says of a key.
fn said(key: &str, schema: &Value, environment: &Environment) -> Option<Setting> {
    let variable = note(schema, "x-variable")?;
    let text = environment.text(variable)?;
    let text = text.trim();
    let number = schema.get("type").is_some_and(|name| name == "integer");
    let value = text.parse::<u64>().ok().filter(|_| number);
    let value = value.map_or_else(|| hidden::shown(&text.into(), false), Value::from);
    let origin = Origin::Variable(variable.to_owned());
    Some(Setting { key: key.to_owned(), value: Some(value), origin })
}

/// What the file says, key by key.
fn written(file: &Path, root: &Value) -> Vec<Setting> {
    // It was read a moment ago; one that is gone says nothing.
    let text = read_text(file).ok().flatten().unwrap_or_default();
    let Ok(document) = Document::parse(text.as_str()) else { return Vec::new() };
    let mut walk = Walk { text: &text, file, found: Vec::new() };
    walk.table(document.as_table(), root, "");
    walk.found
}

/// The way through a file.
struct Walk<'a> {
    text: &'a str,
    file: &'a Path,
    found: Vec<Setting>,
}

impl Walk<'_> {
    fn table(&mut self, table: &dyn TableLike, schema: &Value, prefix: &str) {
        for (name, item) in table.iter() {
            let known = properties(schema).and_then(|known| known.get(name));
            let Some(below) = known.or_else(|| named_tables(schema)) else { continue };
            let key = format!("{prefix}{}", quoted(name));
            if let Some(inner) = item.as_table_like().filter(|_| is_table(below)) {
                self.table(inner, below, &format!("{key}."));
                continue;
            }
            let secret = below.get("x-secret").is_some();
            let start = table.key(name).and_then(Key::span).or_else(|| item.span());
            let before = self.text.get(..start.map_or(0, |span| span.start)).unwrap_or_default();
            let line = 1 + before.matches('\n').count();
            let origin = Origin::File { path: self.file.to_owned(), line };
            let value = Some(hidden::shown(&plain(item), secret));
            self.found.push(Setting { key, value, origin });
        }
    }
}

/// A value without its layout.
fn plain(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => plain_value(value),
        Item::Table(table) => plain_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| plain_table(table)).collect(),
    }
}

fn plain_value(value: &TomlValue) -> Value {
    match value {
        TomlValue::String(text) => Value::from(text.value().as_str()),
        TomlValue::Integer(number) => Value::from(*number.value()),
        TomlValue::Float(number) => {
            Number::from_f64(*number.value()).map_or(Value::Null, Value::Number)
        }
        TomlValue::Boolean(flag) => Value::from(*flag.value()),
        TomlValue::Datetime(date) => Value::from(date.value().to_string()),
        TomlValue::Array(values) => values.iter().map(plain_value).collect(),
        TomlValue::InlineTable(table) => plain_table(table),
    }
}

fn plain_table(table: &dyn TableLike) -> Value {
    let fields = table.iter().map(|(name, item)| (name.to_owned(), plain(item)));
    Value::Object(fields.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::LoadError;

    /// The settings of a file with this text, in an environment with these variables.
    fn settings(text: &str, variables: &[(&str, &str)]) -> (tempfile::TempDir, Settings) {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("piton.toml"), text).unwrap();
        let own = [("PITON_HOME".into(), home.path().into())];
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let environment = Environment::new("/".into(), variables.chain(own));
        let settings = Settings::resolve(environment).unwrap();
        (home, settings)
    }

    #[test]
    fn the_file_counts_before_defaults_the_environment_before_the_file_and_flags_before_all() {
        let text = "# mine\nmodel = \"demo\"\neffort = \"low\"\nmax_tokens = 7\n\n[sandbox]\nnetwork = false\n";
        let variables = [("PITON_MODEL", "gemini/pro"), ("PITON_MAX_TOKENS", "9")];
        let (_home, settings) = settings(text, &variables);
        let given = [Given { key: "max_tokens", flag: "--max-tokens", value: 11.into() }];
        let found = all(&settings, &given).unwrap();
        let told = |key: &str| {
            let found = found.iter().find(|setting| setting.key == key).unwrap();
            let origin = match &found.origin {
                Origin::Default => "default".to_owned(),
                Origin::File { line, .. } => format!("line {line}"),
                Origin::Variable(name) | Origin::Flag(name) => name.clone(),
            };
            (found.value.clone().unwrap_or_default(), origin)
        };
        assert_eq!(told("effort"), (json!("low"), "line 3".into()));
        assert_eq!(told("model"), (json!("gemini/pro"), "PITON_MODEL".into()));
        assert_eq!(told("max_tokens"), (json!(11), "--max-tokens".into()));
        assert_eq!(told("sandbox.network"), (json!(false), "line 7".into()));
        assert_eq!(told("idle_seconds"), (json!(60), "default".into()));
        assert_eq!(told("outage_seconds"), (json!(120), "default".into()));
        assert_eq!(told("unattended.questions"), (json!("defer"), "default".into()));
        assert_eq!(told("sandbox.mode"), (json!("auto"), "default".into()));
    }

    #[test]
    fn tables_with_names_are_shown_and_their_secrets_are_not() {
        let text = "[providers.openai]\nbase_url = \"https://me:not-shown@h/v1\"\nheaders = { x-team = \"climbers\" }\n\
                    [mcp.files]\ncommand = \"run\"\nenv = { LEVEL = \"s3cret\" }\n";
        let (_home, settings) = settings(text, &[]);
        let shown = format!("{:?}", all(&settings, &[]).unwrap());
        assert!(shown.contains("https://h/v1") && shown.contains("x-team"), "{shown}");
        for secret in ["not-shown", "climbers", "s3cret"] {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
        let found = one(&settings, &[], "mcp.files").unwrap();
        let keys: Vec<_> = found.iter().map(|setting| setting.key.as_str()).collect();
        assert_eq!(keys, ["mcp.files.command", "mcp.files.env"]);
    }

    // What the schema says of variables is what the agent reads.
    #[test]
    fn every_variable_of_the_schema_is_read() {
        let root = schema();
        let named = leaves(&root)
            .into_iter()
            .filter_map(|(key, schema)| Some((key, note(schema, "x-variable")?.to_owned())));
        let mut count = 0;
        for (key, variable) in named {
            let (_home, settings) = settings("", &[(&variable, "no such value")]);
            count += 1;
            match Agent::load(settings) {
                Ok(agent) => assert_eq!(agent.default_model.as_deref(), Some("no such value")),
                Err(LoadError::Variable { name, .. }) => assert_eq!(name, variable, "{key}"),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(6 <= count, "{count}");
    }
}
