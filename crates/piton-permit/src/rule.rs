//! Permissions as they are stored: a mode, and rules.

use std::collections::BTreeMap;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::grant::Grants;

/// What may run without asking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenPermissions", into = "WrittenPermissions")]
pub struct Permissions {
    /// What happens when no rule matches.
    pub mode: PermissionMode,
    /// Rules; a deny beats an allow.
    pub rules: Vec<PermissionRule>,
    /// Directories beside the workspace that tools may work in: whole paths, without links when they
    /// were added. A build that does not know them works in the workspace alone.
    pub directories: Vec<String>,
    /// Tools whose calls hooks look at before they run, by name; `*` stands for any letters. A build that
    /// does not know this asks no hook.
    pub hooked: Vec<String>,
    /// What the settings open in the wall around every command, so that no call has to ask for it. Says what is
    /// known of it; the settings themselves open it.
    pub opened: Box<Grants>,
    /// What others obey beside what is known by itself, as the settings name it: names in the workspace and in
    /// added directories, or whole places. A build that does not know them lets such files be changed.
    pub protect: Vec<String>,
}

/// Permissions as they are in a journal. The mode that plans is written as one that only reads, with a
/// mark beside it: a build that does not know the mark still changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct WrittenPermissions {
    mode: PermissionMode,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rules: Vec<PermissionRule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    directories: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hooked: Vec<String>,
    #[serde(default, skip_serializing_if = "opens_nothing")]
    opened: Box<Grants>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    protect: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    plans: bool,
}

#[expect(clippy::borrowed_box, reason = "serde calls it so")]
fn opens_nothing(opened: &Box<Grants>) -> bool {
    opened.is_empty()
}

impl From<WrittenPermissions> for Permissions {
    fn from(written: WrittenPermissions) -> Self {
        let WrittenPermissions { mode, rules, directories, hooked, opened, protect, plans } =
            written;
        let mode = if plans { PermissionMode::Plan } else { mode };
        Self { mode, rules, directories, hooked, opened, protect }
    }
}

impl From<Permissions> for WrittenPermissions {
    fn from(permissions: Permissions) -> Self {
        let Permissions { mode, rules, directories, hooked, opened, protect } = permissions;
        let plans = mode == PermissionMode::Plan;
        Self {
            mode: if plans { PermissionMode::ReadOnly } else { mode },
            rules,
            directories,
            hooked,
            opened,
            protect,
            plans,
        }
    }
}

/// What happens to a call that no rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Calls that only read run; anything else asks a person.
    #[default]
    Ask,
    /// Calls that only read or edit files run; anything else asks a person.
    AcceptEdits,
    /// Everything runs.
    Auto,
    /// Calls that only read run; anything else is denied.
    ReadOnly,
    /// The same, whatever rules allow, until a person has approved a plan. Commands that only look run
    /// behind their wall.
    Plan,
}

/// A text that names no permission mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a permission mode is one of ask, accept-edits, auto, read-only, plan")]
pub struct NotAMode;

impl FromStr for PermissionMode {
    type Err = NotAMode;

    fn from_str(text: &str) -> Result<Self, NotAMode> {
        match text {
            "ask" => Ok(Self::Ask),
            "accept-edits" => Ok(Self::AcceptEdits),
            "auto" => Ok(Self::Auto),
            "read-only" => Ok(Self::ReadOnly),
            "plan" => Ok(Self::Plan),
            _ => Err(NotAMode),
        }
    }
}

/// A standing decision on calls of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionRule {
    /// The tool's name, or `*` for every tool.
    pub tool: String,
    /// What to do with its calls.
    pub effect: RuleEffect,
    /// Only calls that run this command. `cargo test` is exactly that; `cargo test *` has any words
    /// after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Only calls on this path, relative to the workspace. `*` and `?` stay within a name, `**` does
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only calls whose arguments match, each by a regular expression for the whole of it. All of
    /// them have to be there. A command line is matched command by command, never as text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// Whether the commands that it allows run behind the wall. Only `false` takes a command out of it that the
    /// rule does not name word for word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<bool>,
    /// What it opens in the wall for the commands that it allows. They run behind the wall then, also the one
    /// that it names word for word.
    #[serde(default, skip_serializing_if = "Grants::is_empty")]
    pub grants: Grants,
    /// How far it reaches.
    #[serde(default, skip_serializing_if = "RuleScope::is_conversation")]
    pub scope: RuleScope,
}

impl PermissionRule {
    /// A decision on every call of a tool in this conversation.
    pub fn of_tool(tool: impl Into<String>, effect: RuleEffect) -> Self {
        let scope = RuleScope::Conversation;
        let (tool, arguments, grants) = (tool.into(), BTreeMap::new(), Grants::default());
        Self { tool, effect, command: None, path: None, arguments, confined: None, grants, scope }
    }

    /// Whether it lets its commands run outside the wall, whatever they are.
    pub fn is_unconfined(&self) -> bool {
        self.confined == Some(false)
    }

    /// Whether it takes a command out of the wall that it names word for word.
    pub fn frees_what_it_names(&self) -> bool {
        self.command.is_some() && self.confined != Some(true) && self.grants.is_empty()
    }

    /// Whether it names a command word for word, and takes it out of the wall.
    pub fn is_exact(&self) -> bool {
        let names = |command: &String| !command.ends_with('*') && self.frees_what_it_names();
        self.command.as_ref().is_some_and(names)
    }

    /// Whether it says in which place, and not only how files there are called.
    pub fn names_place(&self) -> bool {
        self.path.as_ref().is_some_and(|path| !path.starts_with(['*', '?']))
    }

    /// Whether commands that it allows run outside the wall.
    pub fn frees(&self) -> bool {
        self.effect == RuleEffect::Allow && (self.is_unconfined() || self.is_exact())
    }
}

/// How far a rule reaches. The journal is the home of a conversation's own rules only; the others
/// are noted in it as they were when the turn ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleScope {
    /// This conversation.
    #[default]
    Conversation,
    /// Every conversation in the same workspace.
    Project,
    /// Every conversation.
    User,
}

impl RuleScope {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_conversation(&self) -> bool {
        *self == Self::Conversation
    }
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// Run without asking.
    Allow,
    /// Ask, also where the mode would not.
    Ask,
    /// Never run.
    Deny,
}
