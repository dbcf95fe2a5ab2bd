//! Sets one key of the settings file, or takes it out.

use std::path::Path;

use serde_json::Value as Json;
use toml_edit::{DocumentMut, Item, Key, RawString, Table, TableLike, Value};

use super::schema::{find, is_table, schema};
use crate::agent::{Agent, LoadError};
use crate::near::suggestion;
use crate::settings::Settings;
use crate::settings_edit::{self, EditError};
use crate::settings_file::{FileError, SettingsFile};

/// Why a setting cannot be shown or changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is no such key.
    #[error("there is no setting {key}{}", suggestion(near))]
    Unknown {
        /// What was typed.
        key: String,
        /// Keys that may be meant.
        near: Vec<String>,
    },
    /// The key cannot be read.
    #[error("{0} is no key; write it as in sandbox.mode or providers.NAME.base_url")]
    Key(String),
    /// Nobody knows where the file would be.
    #[error("there is no place for a settings file")]
    NoFile,
    /// The file cannot be written, or would make no sense.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The settings make no sense as they are.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// The parts of a key.
pub(super) fn path_of(key: &str) -> Result<Vec<String>, ConfigError> {
    let parts = Key::parse(key).map_err(|_| ConfigError::Key(key.to_owned()))?;
    Ok(parts.iter().map(|part| part.get().to_owned()).collect())
}

/// A key as it is shown: a name with a dot in it has quotes.
pub fn spelled(key: &str) -> Result<String, ConfigError> {
    Ok(path_of(key)?.iter().map(|name| quoted(name)).collect::<Vec<_>>().join("."))
}

/// A name as a part of a key.
pub(super) fn quoted(name: &str) -> String {
    Key::new(name).display_repr().into_owned()
}

/// Sets a key of the user's file. Durable when this returns.
pub fn set(settings: &Settings, key: &str, typed: &str) -> Result<(), ConfigError> {
    let (root, path) = (schema(), path_of(key)?);
    let form =
        find(&root, &path).map_err(|near| ConfigError::Unknown { key: key.to_owned(), near })?;
    let value = item_of(value_of(typed, form), form);
    let told = |detail: String| format!("{key} cannot be {typed}: {detail}");
    change(settings, told, |document| {
        take_trailing(document, &path);
        let (last, tables) = path.split_last().ok_or("the key is empty")?;
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for name in tables {
            table = below(table, name)?;
        }
        put(table, last, value);
        Ok(true)
    })
    .map(|_| ())
}

/// Takes a key out of the user's file; says whether it was there. Durable when this returns.
pub fn unset(settings: &Settings, key: &str) -> Result<bool, ConfigError> {
    // A key that this build does not know may be in the file, and can go.
    let path = path_of(key)?;
    if !settings.file.as_deref().is_some_and(Path::exists) {
        return Ok(false);
    }
    change(settings, |detail| detail, |document| Ok(cut(document.as_table_mut(), &path)))
}

/// Changes the file, if it can be used afterwards. `told` is what to say if the change is at fault.
fn change(
    settings: &Settings,
    told: impl FnOnce(String) -> String,
    change: impl FnOnce(&mut DocumentMut) -> Result<bool, String>,
) -> Result<bool, ConfigError> {
    let file = settings.file.as_deref().ok_or(ConfigError::NoFile)?;
    let changed = settings_edit::edit(file, |document, text| {
        let changed = change(document)?;
        match check(settings, &document.to_string()) {
            Ok(()) => Ok(changed),
            // Something else was wrong before; it has a line in the file.
            Err(detail) if check(settings, text).is_err() => Err(detail),
            Err(detail) => Err(told(detail.lines().next_back().unwrap_or_default().to_owned())),
        }
    });
    Ok(changed?)
}

/// Beside what each key says, all of them together must make an agent.
fn check(settings: &Settings, text: &str) -> Result<(), String> {
    let read = SettingsFile::parse(text)?;
    match Agent::new(settings.clone(), read) {
        // The environment is not at fault with the file.
        Ok(_) | Err(LoadError::Variable { .. }) => Ok(()),
        Err(LoadError::File(FileError::Parse { detail, .. })) => Err(detail),
        Err(error @ (LoadError::File(_) | LoadError::Provider(_))) => Err(error.to_string()),
    }
}

/// What was typed, as the key takes it: a text needs no quotes.
fn value_of(typed: &str, form: &Json) -> Value {
    let is_text =
        form.get("type").is_some_and(|name| name == "string") || form.get("oneOf").is_some();
    let parsed: Option<Value> = typed.trim().parse().ok();
    match parsed {
        Some(value) if !is_text || value.is_str() => value,
        Some(_) | None => Value::from(typed),
    }
}

/// A table has lines of its own, where its form allows that.
fn item_of(value: Value, form: &Json) -> Item {
    if let Value::InlineTable(fields) = &value
        && is_table(form)
    {
        let mut table = fields.clone().into_table();
        table.fmt();
        return Item::Table(table);
    }
    Item::Value(value)
}

/// The table of this name, made if it is not there.
fn below<'a>(table: &'a mut dyn TableLike, name: &str) -> Result<&'a mut dyn TableLike, String> {
    let is_new = !table.contains_key(name);
    let item = table.entry(name).or_insert_with(|| Item::Table(Table::new()));
    if is_new && let Item::Table(new) = item {
        // `[providers]` alone says nothing; `[providers.work]` does.
        new.set_implicit(true);
    }
    item.as_table_like_mut().ok_or_else(|| format!("{name} is no table"))
}

/// Puts a value in the place of another, with the comment behind that one.
fn put(table: &mut dyn TableLike, name: &str, value: Item) {
    match (table.get_mut(name), value) {
        (Some(Item::Value(old)), Item::Value(mut value)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        (
            Some(Item::None | Item::Value(_) | Item::Table(_) | Item::ArrayOfTables(_)) | None,
            value,
        ) => {
            table.insert(name, value);
        }
    }
}

/// In a file of comments alone, they stand before what is set first, not behind it.
fn take_trailing(document: &mut DocumentMut, path: &[String]) {
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    let [name] = path else { return };
    if !document.is_empty() || trailing.trim().is_empty() {
        return;
    }
    document.set_trailing("");
    document.insert(name, toml_edit::value(0));
    if let Some(mut key) = document.key_mut(name) {
        key.leaf_decor_mut().set_prefix(RawString::from(trailing));
    }
}

/// Takes a key out, and the tables that are empty then.
fn cut(table: &mut dyn TableLike, path: &[String]) -> bool {
    match path {
        [] => false,
        [last] => table.remove(last).is_some(),
        [first, rest @ ..] => {
            let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) else {
                return false;
            };
            let was_there = cut(inner, rest);
            if was_there && inner.is_empty() {
                table.remove(first);
            }
            was_there
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::environment::Environment;

    fn settings(text: &str) -> (tempfile::TempDir, Settings) {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("piton.toml"), text).unwrap();
        let own = home.path().as_os_str();
        let variables = ["PITON_HOME", "HOME"].map(|name| (name.into(), own.into()));
        let settings = Settings::resolve(Environment::new("/".into(), variables)).unwrap();
        (home, settings)
    }

    fn after(text: &str, change: impl Fn(&Settings)) -> String {
        let (home, settings) = settings(text);
        change(&settings);
        fs::read_to_string(home.path().join("piton.toml")).unwrap()
    }

    #[test]
    fn a_key_is_set_and_all_else_stays() {
        let text = "# mine\nmodel = \"a\" # for now\n\n[sandbox]\n# strict\nmode = \"on\"\n";
        let set = |key: &'static str, value: &'static str| {
            after(text, move |settings| set(settings, key, value).unwrap())
        };
        assert_eq!(set("model", "demo"), text.replace("\"a\"", "\"demo\""));
        assert_eq!(set("sandbox.mode", "off"), text.replace("\"on\"", "\"off\""));
        assert_eq!(set("sandbox.network", "false"), format!("{text}network = false\n"));
        let tokens = text.replace("now\n", "now\nmax_tokens = 9\n");
        assert_eq!(set("max_tokens", "9"), tokens);
        assert_eq!(
            set("providers.gemini.effort", "low"),
            format!("{text}\n[providers.gemini]\neffort = \"low\"\n")
        );
        assert_eq!(
            set("sandbox.write", "[\"/a\", \"~/b\"]"),
            format!("{text}write = [\"/a\", \"~/b\"]\n")
        );
    }

    #[test]
    fn keys_that_count_together_are_set_together_and_names_may_have_dots() {
        let whole = "{ dialect = \"gemini\", base_url = \"https://h\" }";
        let text = after("", |settings| {
            set(settings, "providers.\"a.b\"", whole).unwrap();
            set(settings, "providers.\"a.b\".key_env", "K").unwrap();
            assert_eq!(
                spelled("providers . \"a.b\".\"key_env\"").unwrap(),
                "providers.\"a.b\".key_env"
            );
        });
        let expected = "[providers.\"a.b\"]\ndialect = \"gemini\"\nbase_url = \"https://h\"\nkey_env = \"K\"\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_first_key_of_a_file_of_comments_comes_behind_them() {
        let set = |settings: &Settings| set(settings, "model", "demo").unwrap();
        assert_eq!(after("# mine\n\n", set), "# mine\n\nmodel = \"demo\"\n");
        assert_eq!(after("", set), "model = \"demo\"\n");
        assert_eq!(after("model = 3\r\n", set), "model = \"demo\"\r\n");
    }

    #[test]
    fn a_key_is_taken_out_with_the_table_that_is_empty_then() {
        let text = "model = \"a\"\n\n[ask]\nbatch = true\n\n[workers]\nsteps = 3\n";
        let cut = after(text, |settings| assert!(unset(settings, "ask.batch").unwrap()));
        assert_eq!(cut, "model = \"a\"\n\n[workers]\nsteps = 3\n");
        let same = after(text, |settings| assert!(!unset(settings, "effort").unwrap()));
        assert_eq!(same, text);
        // A key that nobody knows can go, so that the rest can be used again.
        let first = after("[ask]\nbatch = true\n\n[workers]\nsteps = 3\n", |settings| {
            assert!(unset(settings, "ask").unwrap());
        });
        assert_eq!(first, "[workers]\nsteps = 3\n");
        assert_eq!(after("modle = 1\n", |settings| assert!(unset(settings, "modle").unwrap())), "");
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_changes_nothing() {
        let text = "model = \"a\"\n";
        let (home, settings) = settings(text);
        let fault = |key: &str, value: &str| set(&settings, key, value).unwrap_err().to_string();
        assert_eq!(fault("modle", "x"), "there is no setting modle; did you mean model?");
        assert!(fault("effort", "hihg").contains("did you mean `high`?"));
        assert!(fault("max_tokens", "many").contains("max_tokens"));
        assert!(fault("providers.mine.dialect", "gemini").contains("needs dialect and base_url"));
        assert!(fault("sandbox", "on").contains("sandbox"));
        assert_eq!(fs::read_to_string(home.path().join("piton.toml")).unwrap(), text);
    }
}
