//! Reads the fields of a rule, and refuses those that would never say what they are written for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use piton_core::event::Grants;
use piton_core::permit::{fault, grants};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The name of a tool.
pub(super) fn tool<'de, D: Deserializer<'de>>(field: D) -> Result<String, D::Error> {
    sound(field, fault::of_tool)
}

/// A command.
pub(super) fn command<'de, D: Deserializer<'de>>(field: D) -> Result<Option<String>, D::Error> {
    sound(field, fault::of_command).map(Some)
}

/// A path in the workspace.
pub(super) fn path<'de, D: Deserializer<'de>>(field: D) -> Result<Option<String>, D::Error> {
    sound(field, fault::of_path).map(Some)
}

/// Patterns by the names of arguments.
pub(super) fn arguments<'de, D: Deserializer<'de>>(
    field: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let patterns = BTreeMap::<String, Pattern>::deserialize(field)?;
    if patterns.is_empty() {
        // It narrows nothing, and its author meant to narrow something.
        let why = "arguments names none, so the rule would be for every call of the tool: name one, \
                   or leave arguments out";
        return Err(D::Error::custom(why));
    }
    Ok(patterns.into_iter().map(|(name, Pattern(pattern))| (name, pattern)).collect())
}

/// The workspace that it counts in.
pub(super) fn workspace<'de, D: Deserializer<'de>>(field: D) -> Result<Option<PathBuf>, D::Error> {
    let workspace = PathBuf::deserialize(field)?;
    if !workspace.is_absolute() {
        return Err(D::Error::custom("the workspace of a rule is a path that begins with /"));
    }
    Ok(Some(workspace))
}

/// Hosts.
pub(super) fn network<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<String>, D::Error> {
    opening(field, |network| Grants { network, ..Grants::default() })
}

/// Sockets.
pub(super) fn sockets<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<String>, D::Error> {
    opening(field, |sockets| Grants { sockets, ..Grants::default() })
}

/// Places to write to.
pub(super) fn write<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<String>, D::Error> {
    opening(field, |write| Grants { write, ..Grants::default() })
}

/// Places to read.
pub(super) fn read<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<String>, D::Error> {
    opening(field, |read| Grants { read, ..Grants::default() })
}

/// Variables.
pub(super) fn env<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<String>, D::Error> {
    opening(field, |env| Grants { env, ..Grants::default() })
}

/// Devices.
pub(super) fn devices<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<String>, D::Error> {
    opening(field, |devices| Grants { devices, ..Grants::default() })
}

fn opening<'de, D: Deserializer<'de>>(
    field: D,
    of: impl Fn(Vec<String>) -> Grants,
) -> Result<Vec<String>, D::Error> {
    let entries = Vec::<String>::deserialize(field)?;
    match grants::fault(&of(entries.clone())) {
        Some(fault) => Err(D::Error::custom(fault)),
        None => Ok(entries),
    }
}

/// The pattern for an argument.
struct Pattern(String);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        sound(field, fault::of_pattern).map(Self)
    }
}

fn sound<'de, D: Deserializer<'de>>(
    field: D,
    fault: impl Fn(&str) -> Option<String>,
) -> Result<String, D::Error> {
    let text = String::deserialize(field)?;
    match fault(&text) {
        Some(fault) => Err(D::Error::custom(fault)),
        None => Ok(text),
    }
}
