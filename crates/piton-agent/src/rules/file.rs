//! Writes standing rules and the model of new conversations into the settings file, and takes rules out again.
//!
//! Whole or not at all, one writer at a time, and nothing of what a person wrote is lost: other
//! settings, their order and comments stay. What becomes of a rule in a running turn is not known
//! here.

use std::path::Path;

use piton_core::event::{Grants, PermissionRule, RuleEffect, RuleScope};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, RawString, Table, Value};

use super::WrittenRule;
use crate::settings_edit;
pub use crate::settings_edit::EditError as RuleFileError;
use crate::settings_file::SettingsFile;

/// The table of rules.
const RULES: &str = "permissions";

/// Adds rules that are not there yet, each with where its call works: those for a project name that
/// workspace. All of them or none; durable when this returns.
pub fn add(file: &Path, rules: &[(&PermissionRule, &Path)]) -> Result<(), RuleFileError> {
    edit(file, |document, written| {
        let mut new: Vec<(&PermissionRule, &Path)> = Vec::new();
        for (rule, workspace) in rules {
            let is_written = written.iter().any(|it| it.says(rule, workspace));
            let is_same = |(other, place): &(&PermissionRule, &Path)| {
                other == rule && (rule.scope != RuleScope::Project || place == workspace)
            };
            if !is_written && !new.iter().any(is_same) {
                push(document, rule, workspace)?;
                new.push((rule, workspace));
            }
        }
        Ok(!new.is_empty())
    })
    .map(|_| ())
}

/// Chooses the model of new conversations. Durable when this returns.
pub fn choose_model(file: &Path, model: &str) -> Result<(), RuleFileError> {
    edit(file, |document, _| {
        document.insert("model", toml_edit::value(model));
        Ok(true)
    })
    .map(|_| ())
}

/// Takes a rule out, however often it is there; says whether it was. Durable when this returns.
pub fn remove(file: &Path, rule: &PermissionRule, workspace: &Path) -> Result<bool, RuleFileError> {
    edit(file, |document, written| {
        let places = written.iter().enumerate().filter(|(_, it)| it.says(rule, workspace));
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        // From behind, so that the places of the others stay as they are.
        for place in places.iter().rev() {
            cut(document, *place);
        }
        Ok(!places.is_empty())
    })
}

/// Changes the file, if there is something to change.
pub(crate) fn edit(
    file: &Path,
    change: impl FnOnce(&mut DocumentMut, &[WrittenRule]) -> Result<bool, String>,
) -> Result<bool, RuleFileError> {
    settings_edit::edit(file, |document, text| {
        change(document, &SettingsFile::parse(text)?.permissions)
    })
}

/// Adds a rule behind the others, in the form that they have.
fn push(document: &mut DocumentMut, rule: &PermissionRule, workspace: &Path) -> Result<(), String> {
    let fields = fields(rule, workspace)?;
    let above = if document.is_empty() { "" } else { "\n" };
    let rules = document.entry(RULES).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    match rules {
        Item::ArrayOfTables(tables) => {
            let mut table = Table::new();
            table.decor_mut().set_prefix(above);
            for (key, value) in fields {
                table.insert(key, Item::Value(value));
            }
            tables.push(table);
        }
        Item::Value(Value::Array(array)) => push_inline(array, fields),
        Item::None | Item::Value(_) | Item::Table(_) => return Err("permissions is no list".into()),
    }
    Ok(())
}

fn push_inline(array: &mut Array, fields: Vec<(&'static str, Value)>) {
    array.push(fields.into_iter().collect::<InlineTable>());
}

fn fields(rule: &PermissionRule, workspace: &Path) -> Result<Vec<(&'static str, Value)>, String> {
    let effect = match rule.effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Ask => "ask",
        RuleEffect::Deny => "deny",
    };
    let mut fields = vec![("tool", Value::from(rule.tool.as_str()))];
    fields.extend(rule.command.as_deref().map(|command| ("command", Value::from(command))));
    fields.extend(rule.path.as_deref().map(|path| ("path", Value::from(path))));
    if !rule.arguments.is_empty() {
        let arguments = rule.arguments.iter().map(|(key, pattern)| (key, pattern.as_str()));
        fields.push(("arguments", Value::from(arguments.collect::<InlineTable>())));
    }
    fields.push(("effect", Value::from(effect)));
    fields.extend(rule.confined.map(|confined| ("confined", Value::from(confined))));
    let Grants { network, sockets, write, read, env, devices } = &rule.grants;
    let lists = [
        ("network", network),
        ("sockets", sockets),
        ("write", write),
        ("read", read),
        ("env", env),
        ("devices", devices),
    ];
    let opening = lists.into_iter().filter(|(_, entries)| !entries.is_empty());
    fields.extend(opening.map(|(name, entries)| (name, Value::from(Array::from_iter(entries)))));
    match rule.scope {
        RuleScope::User => {}
        RuleScope::Project => {
            let workspace = workspace.to_str().ok_or("the path of the project is no text")?;
            fields.push(("workspace", Value::from(workspace)));
        }
        RuleScope::Conversation => return Err("a rule of a conversation is in its journal".into()),
    }
    Ok(fields)
}

/// Takes out the rule at a place.
fn cut(document: &mut DocumentMut, place: usize) {
    let gone = match document.get_mut(RULES) {
        Some(Item::Value(Value::Array(array))) => {
            array.remove(place);
            return;
        }
        Some(Item::ArrayOfTables(tables)) => {
            let Some(table) = tables.get(place).cloned() else { return };
            tables.remove(place);
            table
        }
        Some(Item::None | Item::Value(_) | Item::Table(_)) | None => return,
    };
    keep_comments(document, &gone);
}

/// Puts what stood above a table that was taken out in front of the next one. Comments right above it
/// are about it and go along; those with an empty line behind them stay.
pub(crate) fn keep_comments(document: &mut DocumentMut, gone: &Table) {
    let above = gone.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
    // Whatever its lines end with: whoever writes the file sees to that.
    let above = above.replace("\r\n", "\n");
    let kept = above.rfind("\n\n").and_then(|end| above.get(..=end)).unwrap_or_default();
    if kept.trim().is_empty() {
        return;
    }
    let behind = gone.position();
    let next = behind.and_then(|behind| next_position(document.as_table(), behind));
    if let Some(table) = next.and_then(|next| table_at(document.as_table_mut(), next)) {
        let own = table.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
        let prefix = format!("{kept}{own}");
        table.decor_mut().set_prefix(prefix);
    } else {
        let own = document.trailing().as_str().unwrap_or_default();
        let trailing = format!("{kept}{own}");
        document.set_trailing(trailing);
    }
}

/// The place in the file of the first table behind a place.
fn next_position(table: &Table, behind: isize) -> Option<isize> {
    let below = |item: &Item| match item {
        Item::Table(table) => next_position(table, behind),
        Item::ArrayOfTables(tables) => {
            tables.iter().filter_map(|table| next_position(table, behind)).min()
        }
        Item::None | Item::Value(_) => None,
    };
    let own = table.position().filter(|own| behind < *own && !table.is_implicit());
    table.iter().filter_map(|(_, item)| below(item)).chain(own).min()
}

fn table_at(table: &mut Table, position: isize) -> Option<&mut Table> {
    if table.position() == Some(position) && !table.is_implicit() {
        return Some(table);
    }
    table.iter_mut().find_map(|(_, item)| match item {
        Item::Table(table) => table_at(table, position),
        Item::ArrayOfTables(tables) => {
            tables.iter_mut().find_map(|table| table_at(table, position))
        }
        Item::None | Item::Value(_) => None,
    })
}

#[cfg(test)]
mod tests;
