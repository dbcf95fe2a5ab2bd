//! What would become of a command, and why. Nothing is run.

use std::path::Path;

use piton_core::event::{
    EffectClass, Grants, PermissionMode, PermissionRule, Permissions, RuleEffect, ToolSpec,
};
use piton_core::permit::grants::{granted, told};
use piton_core::permit::{SHELL, forbidding, is_look, permit, runs_free, why_no_rule};
use serde_json::json;

use crate::agent::Agent;
use crate::overrides::Overrides;

/// What would become of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Whether it runs.
    pub effect: RuleEffect,
    /// Behind which wall it would run.
    pub wall: Wall,
    /// What is open in that wall for it, beside what is open for all.
    pub grants: Grants,
    /// Why.
    pub why: Why,
}

/// The wall around a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wall {
    /// None: it is approved word for word, or a rule takes it out.
    Free,
    /// The sandbox.
    Sandbox,
    /// That of commands that only look.
    Looks,
    /// None, because there is none on this machine or by the settings.
    Missing,
}

/// What decides on a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A rule, by its place in the list.
    Rule(usize),
    /// Several rules together.
    Rules,
    /// The mode.
    Mode(PermissionMode),
    /// It only looks.
    OnlyLooks,
    /// No rule allows it.
    NoRule,
    /// What a rule opens for it cannot be held here, in words.
    Openings(String),
    /// No rule can allow it, for this reason.
    NeverByRule(String),
}

impl Agent {
    /// Holds a command line against permissions. `supervisor` is that of [`Agent::supervised_commands`].
    pub fn try_command(
        &self,
        line: &str,
        permissions: &Permissions,
        workspace: &Path,
        supervisor: &Path,
    ) -> Trial {
        let overrides = Overrides::default();
        let commands = self.supervised_commands(supervisor.to_owned(), &overrides);
        let tools = self.local_tools(&commands, &overrides);
        let shell = tools.iter().map(|tool| tool.spec()).find(|spec| spec.name == SHELL);
        let tool = shell.unwrap_or_else(|| ToolSpec::new(SHELL, "", "{}", EffectClass::Once));
        let arguments = json!({ "command": line }).to_string();
        let workspace = workspace.to_string_lossy();
        Command { permissions, workspace: &workspace, tool: &tool, arguments: &arguments }.tried()
    }
}

struct Command<'a> {
    permissions: &'a Permissions,
    workspace: &'a str,
    tool: &'a ToolSpec,
    arguments: &'a str,
}

impl Command<'_> {
    fn tried(&self) -> Trial {
        let effect = permit(self.permissions, self.workspace, self.tool, self.arguments);
        let why = match effect {
            RuleEffect::Deny => self.why_denied(),
            RuleEffect::Ask => self.why_asked(),
            RuleEffect::Allow => self.why_allowed(),
        };
        let wall = self.wall();
        let grants = match wall {
            Wall::Sandbox => granted(self.permissions, self.workspace, self.tool, self.arguments),
            Wall::Free | Wall::Looks | Wall::Missing => Grants::default(),
        };
        Trial { effect, wall, grants, why }
    }

    fn is_look(&self) -> bool {
        is_look(self.permissions, self.workspace, self.tool, self.arguments)
    }

    fn wall(&self) -> Wall {
        if self.is_look() {
            Wall::Looks
        } else if runs_free(self.permissions, self.workspace, self.tool, self.arguments) {
            Wall::Free
        } else if self.tool.confines {
            Wall::Sandbox
        } else {
            Wall::Missing
        }
    }

    fn why_denied(&self) -> Why {
        let rule = forbidding(self.permissions, self.workspace, self.tool, self.arguments);
        rule.map_or(Why::Mode(self.permissions.mode), |rule| self.numbered(rule))
    }

    fn why_asked(&self) -> Why {
        let opens = told(self.permissions, self.workspace, self.tool, self.arguments);
        if let Some(told) = opens.into_iter().next() {
            return Why::Openings(told);
        }
        let why = why_no_rule(self.permissions, self.workspace, self.tool, self.arguments);
        why.map_or(Why::NoRule, Why::NeverByRule)
    }

    fn why_allowed(&self) -> Why {
        let wall = self.wall();
        if wall == Wall::Looks {
            return Why::OnlyLooks;
        }
        let alone = |rule: &&PermissionRule| {
            let (mode, rules) = (PermissionMode::Ask, vec![(*rule).clone()]);
            let only = Permissions { mode, rules, ..self.permissions.clone() };
            let permitted = permit(&only, self.workspace, self.tool, self.arguments);
            // By itself, looking needs no rule; and a rule that is wider does not decide where it runs.
            let same = || Command { permissions: &only, ..*self }.wall() == wall;
            rule.effect == RuleEffect::Allow && permitted == RuleEffect::Allow && same()
        };
        match self.permissions.rules.iter().find(alone) {
            Some(rule) => self.numbered(rule),
            None if self.permissions.mode == PermissionMode::Auto => {
                Why::Mode(self.permissions.mode)
            }
            None => Why::Rules,
        }
    }

    fn numbered(&self, rule: &PermissionRule) -> Why {
        let place = self.permissions.rules.iter().position(|it| it == rule);
        place.map_or(Why::Rules, Why::Rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_tried_against_rules_mode_and_walls() {
        let agent = Agent::of("model = \"demo\"\n", &[]);
        let rule = |command: &str, effect| PermissionRule {
            command: Some(command.into()),
            ..PermissionRule::of_tool("shell", effect)
        };
        let rules = vec![
            rule("cargo test *", RuleEffect::Allow),
            rule("make", RuleEffect::Allow),
            rule("rm *", RuleEffect::Deny),
            PermissionRule {
                confined: Some(false),
                ..rule("cargo test --all *", RuleEffect::Allow)
            },
        ];
        let permissions = Permissions { rules, ..Permissions::default() };
        let tried = |line: &str| {
            agent.try_command(line, &permissions, Path::new("/w"), Path::new("/no/such/program"))
        };
        let denied = tried("rm -rf x");
        assert_eq!((denied.effect, denied.why), (RuleEffect::Deny, Why::Rule(2)));
        let free = tried("make");
        assert_eq!((free.wall, free.why), (Wall::Free, Why::Rule(1)));
        let asks = tried("npm test");
        assert_eq!((asks.effect, asks.why), (RuleEffect::Ask, Why::NoRule));
        assert!(matches!(tried("a $x").why, Why::NeverByRule(_)));
        let wide = tried("cargo test -q");
        match wide.effect {
            RuleEffect::Allow => {
                assert_eq!((wide.wall, wide.why), (Wall::Sandbox, Why::Rule(0)));
                assert_eq!(tried("make && cargo test").why, Why::Rules);
                let out = tried("cargo test --all");
                assert_eq!((out.wall, out.why), (Wall::Free, Why::Rule(3)));
                assert_eq!(tried("git status").why, Why::OnlyLooks);
            }
            // A kernel without walls.
            other @ (RuleEffect::Ask | RuleEffect::Deny) => {
                assert_eq!((other, wide.wall), (RuleEffect::Ask, Wall::Missing));
            }
        }
    }
}
