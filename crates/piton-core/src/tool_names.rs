//! Names of our tools that permission rules speak of: tools as journals have them, for [`piton_permit`].
//!
//! Our rules hold for tools of others too. Specs of older versions do not say what their arguments mean: for
//! those the names of the tools of that time decide, so that a stored conversation is decided as it was then.

use piton_permit::{Alike, ArgumentRole, Does, Tool};

use crate::event::{EffectClass, ToolSpec};

/// The tool that runs command lines. Its rules that forbid hold for every tool that declares a command
/// line.
pub const SHELL: &str = "shell";

/// Tools whose rules that forbid hold for tools of others. Those for one file hold for whatever takes a patch.
const ALIKE: Alike<'static> = Alike { shell: SHELL, edits: &["edit_file", "write_file"] };

/// What arguments mean, by their names.
type RolesOfOld = &'static [(&'static str, ArgumentRole)];

/// What the arguments of tools of old mean, by the names of the tools.
const OLDER: &[(&[&str], RolesOfOld)] = &[
    (&[SHELL], &[("command", ArgumentRole::CommandLine), ("dir", ArgumentRole::Directory)]),
    (&["shell_write"], &[("text", ArgumentRole::CommandInput)]),
    (
        &["edit_file", "glob", "grep", "list_dir", "read_file", "write_file"],
        &[("path", ArgumentRole::WorkspacePath)],
    ),
    // Their texts are for people, models or a terminal.
    (&["ask_user", "delegate", "shell_stop", "shell_wait"], &[("text", ArgumentRole::Value)]),
];

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let does = match spec.effect {
            EffectClass::ReadOnly => Does::Read,
            EffectClass::Digested => Does::Edit,
            EffectClass::Child => Does::HandOver,
            EffectClass::Idempotent | EffectClass::Supervised | EffectClass::Once => Does::Act,
        };
        let tool = Self::new(&spec.name, does).confining(spec.confines);
        let tool = tool.holding_hosts(spec.holds_hosts).like(ALIKE);
        if spec.roles.is_empty() {
            let known = OLDER.iter().find(|(names, _)| names.contains(&spec.name.as_str()));
            return tool.with_roles(known.into_iter().flat_map(|(_, roles)| roles.iter().copied()));
        }
        tool.with_roles(spec.roles.iter().map(|(name, role)| (name.as_str(), *role)))
    }
}

/// Rules held against each other.
pub mod review {
    pub use piton_permit::review::{Remark, decides};

    use crate::event::PermissionRule;

    /// What is to be known about each of the rules in force, in their order.
    pub fn review(rules: &[PermissionRule]) -> Vec<Vec<Remark>> {
        piton_permit::review::review(rules, super::SHELL)
    }
}

#[cfg(test)]
mod tests {
    use piton_permit::{PermissionMode, PermissionRule, Permissions, RuleEffect, permit};
    use serde_json::{Value, json};

    use super::*;

    fn decided(tool: &ToolSpec, rule: PermissionRule, arguments: &Value) -> RuleEffect {
        let mode = PermissionMode::Auto;
        let permissions = Permissions { mode, rules: vec![rule], ..Permissions::default() };
        permit(&permissions, "/h/ws", tool, &arguments.to_string())
    }

    fn deny(tool: &str) -> PermissionRule {
        PermissionRule::of_tool(tool, RuleEffect::Deny)
    }

    #[test]
    fn a_tool_of_old_is_known_by_its_name() {
        let bare = |name| ToolSpec::new(name, "", "{}", EffectClass::Supervised);
        let rm = || PermissionRule { command: Some("rm *".into()), ..deny("*") };
        let env = || PermissionRule { path: Some("**/.env".into()), ..deny("*") };
        for (tool, rule, arguments, expected) in [
            (SHELL, rm(), json!({ "command": "ls; rm x" }), RuleEffect::Deny),
            ("shell_write", rm(), json!({ "text": "rm x\n" }), RuleEffect::Deny),
            ("edit_file", env(), json!({ "path": ".env", "new": "rm x" }), RuleEffect::Deny),
            ("edit_file", rm(), json!({ "path": "a", "new": "rm x" }), RuleEffect::Allow),
            ("ask_user", env(), json!({ "question": "read .env?" }), RuleEffect::Allow),
            // Of a tool of others nothing is known: any text may be a path.
            ("x__ask", env(), json!({ "question": "a/.env" }), RuleEffect::Deny),
        ] {
            assert_eq!(decided(&bare(tool), rule, &arguments), expected, "{tool} {arguments}");
        }
    }

    #[test]
    fn rules_for_our_tools_hold_for_those_of_others() {
        let rm = PermissionRule { command: Some("rm *".into()), ..deny(SHELL) };
        let other = ToolSpec::new("bash", "", "{}", EffectClass::Once)
            .with_roles([("cmd", ArgumentRole::CommandLine)]);
        assert_eq!(decided(&other, rm, &json!({ "cmd": "rm x" })), RuleEffect::Deny);
        let patches = ToolSpec::new("apply_patch", "", "{}", EffectClass::Digested)
            .with_roles([("patch", ArgumentRole::Patch)]);
        let patch = json!({ "patch": "*** Begin Patch\n*** Delete File: a\n*** End Patch" });
        for name in ["edit_file", "write_file"] {
            assert_eq!(decided(&patches, deny(name), &patch), RuleEffect::Deny, "{name}");
        }
    }

    #[test]
    fn a_role_of_a_newer_version_is_read_and_declares_nothing() {
        let text = r#"{"name":"t","description":"","parameters":"{}","effect":"once",
            "roles":{"a":"quantum_path","b":"command_line"}}"#;
        let spec: ToolSpec = serde_json::from_str(text).unwrap();
        let env = PermissionRule { path: Some("**/.env".into()), ..deny("*") };
        // Any text may be a path then.
        assert_eq!(decided(&spec, env, &json!({ "a": "x/.env" })), RuleEffect::Deny);
    }

    #[test]
    fn a_spec_without_roles_is_stored_as_it_always_was() {
        let text = serde_json::to_string(&ToolSpec::new("t", "", "{}", EffectClass::Once)).unwrap();
        assert_eq!(text, r#"{"name":"t","description":"","parameters":"{}","effect":"once"}"#);
    }
}
