//! Standing rules of the settings file.
//!
//! They are kept in the user's own file, also those for one workspace: a repository must not grant
//! itself rights.

mod fields;
pub mod file;
pub(crate) mod standing;
pub mod strangers;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use piton_core::event::{Grants, PermissionRule, RuleEffect, RuleScope};
use piton_core::permit::{Preset, fault};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::words;

/// A rule as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "Fields")]
#[schemars(with = "Fields")]
pub(crate) struct WrittenRule {
    rule: PermissionRule,
    /// Where it counts; everywhere if absent.
    workspace: Option<PathBuf>,
}

/// Its fields. Each is judged where it stands, so that a fault is shown with its line.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// The tool that it is about; `*` is every tool.
    #[serde(deserialize_with = "fields::tool")]
    tool: String,
    /// What becomes of the call.
    #[schemars(schema_with = "words::effects")]
    effect: RuleEffect,
    /// Commands that it is about; a `*` at the end is any rest.
    #[serde(default, deserialize_with = "fields::command")]
    command: Option<String>,
    /// Files that it is about: a glob, relative to the workspace.
    #[serde(default, deserialize_with = "fields::path")]
    path: Option<String>,
    /// Patterns (regular expressions) by the names of arguments; all must match.
    #[serde(default, deserialize_with = "fields::arguments")]
    arguments: BTreeMap<String, String>,
    /// `false`: commands that it allows run outside the sandbox, whatever follows their first words.
    #[serde(default)]
    confined: Option<bool>,
    /// Hosts that its commands reach, with their ports: `crates.io:443`, `*.crates.io:443`. `*` is all of them.
    #[serde(default, deserialize_with = "fields::network")]
    network: Vec<String>,
    /// Sockets of this machine that its commands use, by their paths, or `$NAME` for the one that a variable names.
    #[serde(default, deserialize_with = "fields::sockets")]
    sockets: Vec<String>,
    /// Places that its commands write to. They begin with / or ~/; a directory with a / at its end is made.
    #[serde(default, deserialize_with = "fields::write")]
    write: Vec<String>,
    /// Closed places that its commands read. They begin with / or ~/.
    #[serde(default, deserialize_with = "fields::read")]
    read: Vec<String>,
    /// Withheld variables that its commands see.
    #[serde(default, deserialize_with = "fields::env")]
    env: Vec<String>,
    /// Devices that its commands use, by their paths.
    #[serde(default, deserialize_with = "fields::devices")]
    devices: Vec<String>,
    /// Openings for a program, beside those that are listed.
    #[serde(default)]
    preset: Option<Preset>,
    /// The directory in which it counts; everywhere if absent.
    #[serde(default, deserialize_with = "fields::workspace")]
    workspace: Option<PathBuf>,
}

impl TryFrom<Fields> for WrittenRule {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Self, String> {
        let Fields { tool, effect, command, path, arguments, confined, workspace, .. } = fields;
        let Fields { network, sockets, write, read, env, devices, preset, .. } = fields;
        let mut grants = Grants { network, sockets, write, read, env, devices };
        if let Some(preset) = preset {
            grants.add(&preset.grants());
        }
        let scope = if workspace.is_some() { RuleScope::Project } else { RuleScope::User };
        let rule =
            PermissionRule { tool, effect, command, path, arguments, confined, grants, scope };
        match fault::of_grants(&rule) {
            Some(fault) => Err(fault),
            None => Ok(Self { rule, workspace }),
        }
    }
}

impl WrittenRule {
    /// Whether it says this in this workspace.
    fn says(&self, rule: &PermissionRule, workspace: &Path) -> bool {
        self.rule == *rule && self.counts_in(workspace)
    }

    fn counts_in(&self, workspace: &Path) -> bool {
        self.workspace.as_ref().is_none_or(|written| {
            fs::canonicalize(written).unwrap_or_else(|_| written.clone()) == workspace
        })
    }
}

/// The rules that count in a workspace.
pub(crate) fn counting_in(written: &[WrittenRule], workspace: &Path) -> Vec<PermissionRule> {
    let counting = written.iter().filter(|rule| rule.counts_in(workspace));
    counting.map(|rule| rule.rule.clone()).collect()
}

/// What a conversation is run with: its own rules, and those of the settings as they are now.
pub(crate) fn in_force(
    own: &[PermissionRule],
    written: &[WrittenRule],
    workspace: &Path,
) -> Vec<PermissionRule> {
    let own = own.iter().filter(|rule| rule.scope == RuleScope::Conversation).cloned();
    own.chain(counting_in(written, workspace)).collect()
}

#[cfg(test)]
mod tests;
