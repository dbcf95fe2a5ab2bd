//! A tool as rules see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tool, as far as rules look at it.
#[derive(Clone, Debug)]
pub struct Tool<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does, as far as modes tell that apart.
    pub does: Does,
    /// What its arguments mean, by their names, in the order of the names. A tool that declares one role
    /// declares all: an argument without one is a plain value. If there are none, any text may be a path
    /// or a command line.
    pub roles: Vec<(&'a str, ArgumentRole)>,
    /// Whether it has walls. Where there are none, rules with a wildcard ask.
    pub confines: bool,
    /// Whether its walls let a command reach single hosts. Where they cannot, a call that is granted hosts asks.
    pub holds_hosts: bool,
    /// Tools whose rules hold for this one too.
    pub alike: Alike<'a>,
}

/// What a tool does, as far as modes tell that apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Changes nothing.
    Read,
    /// Changes files that it names.
    Edit,
    /// Hands work over to somebody with the same permissions.
    HandOver,
    /// Anything else.
    Act,
}

/// Tools whose rules that forbid or ask hold for every tool that does the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alike<'a> {
    /// Runs command lines: what is not to be run there is not to be run, nor typed, elsewhere.
    pub shell: &'a str,
    /// Change one file each: what they may not change may not be patched.
    pub edits: &'a [&'a str],
}

/// What an argument of a tool means to permission rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ArgumentRole {
    /// A command line that the tool runs: rules look at each of its commands, and rules for `shell`
    /// that forbid or ask hold for it too.
    CommandLine,
    /// A text that is typed into a running command.
    CommandInput,
    /// The directory in which the command line runs; the workspace if it is absent.
    Directory,
    /// A path that the tool reads or changes, wherever it leads. Outside the workspace the tool asks,
    /// even if it only reads.
    Path,
    /// A path that the tool itself refuses if it leads out of the workspace.
    WorkspacePath,
    /// A [patch](crate::patch) of files. The tool refuses paths in it that lead out of the workspace or
    /// through a link. Rules for `edit_file` and `write_file` that forbid or ask hold for it too.
    Patch,
    /// A web address, a host or the like. The tool asks, even if it only reads, unless a rule allows it.
    Address,
    /// Openings in the wall that the call asks for, as an object of lists. What neither rules nor settings open
    /// asks a person.
    Needs,
    /// A plain value: neither a path nor a command line.
    Value,
    /// A role of a newer version. The tool is treated as if it declared nothing.
    #[serde(other)]
    Unknown,
}

impl<'a> Tool<'a> {
    /// A tool that declares nothing and has no walls.
    pub fn new(name: &'a str, does: Does) -> Self {
        let (roles, alike) = (Vec::new(), Alike::default());
        Self { name, does, roles, confines: false, holds_hosts: false, alike }
    }

    /// The same, for a tool that has walls, or not.
    #[must_use]
    pub fn confining(mut self, confines: bool) -> Self {
        self.confines = confines;
        self
    }

    /// The same, for a tool whose walls let a command reach single hosts, or not.
    #[must_use]
    pub fn holding_hosts(mut self, holds_hosts: bool) -> Self {
        self.holds_hosts = holds_hosts;
        self
    }

    /// The same, with what its arguments mean to rules.
    #[must_use]
    pub fn with_roles(mut self, roles: impl IntoIterator<Item = (&'a str, ArgumentRole)>) -> Self {
        self.roles.extend(roles);
        self.roles.sort_by_key(|(name, _)| *name);
        self
    }

    /// The same, with tools whose rules hold for it too.
    #[must_use]
    pub fn like(mut self, alike: Alike<'a>) -> Self {
        self.alike = alike;
        self
    }
}

impl From<&Self> for Tool<'_> {
    fn from(tool: &Self) -> Self {
        tool.clone()
    }
}
