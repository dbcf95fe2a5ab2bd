//! Rules held against each other: which say nothing that another does not say, and which say very much.

use serde::Serialize;

use super::asked::Asked;
use super::{Looking, decided};
use crate::rule::{PermissionMode, PermissionRule, Permissions, RuleEffect, RuleScope};
use crate::tool::{Does, Tool};

/// What is to be known about a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
#[non_exhaustive]
pub enum Remark {
    /// It allows commands that it does not name word for word. They run behind the wall.
    Confined,
    /// It lets commands run outside the wall that it does not name word for word.
    Unconfined,
    /// It allows every call of every tool.
    EveryTool,
    /// It allows every command.
    EveryCommand,
    /// Another rule says the same of all that it is for.
    Repeats {
        /// The place of the other rule, from 0.
        by: usize,
    },
    /// Another rule forbids all that it allows, or asks about it.
    Overruled {
        /// The place of the other rule, from 0.
        by: usize,
    },
    /// It decided on no call lately.
    Unused {
        /// In how many conversations that was looked for.
        conversations: usize,
    },
}

/// What is to be known about each of the rules in force, in their order. `shell` is the tool that runs command
/// lines.
pub fn review(rules: &[PermissionRule], shell: &str) -> Vec<Vec<Remark>> {
    let remarks = |(at, rule): (usize, &PermissionRule)| {
        let mut remarks: Vec<_> = width(rule, shell).into_iter().collect();
        let others = rules.iter().enumerate().filter(|(other, _)| *other != at);
        let covers = others.filter(|(_, other)| is_covered(rule, other));
        let mut by: Option<Remark> = None;
        for (other, covering) in covers {
            if strength(covering) > strength(rule) {
                by = Some(Remark::Overruled { by: other });
                break;
            }
            // Of two that are alike, the second repeats the first.
            let is_second = !is_covered(covering, rule) || other < at;
            if strength(covering) == strength(rule) && is_second {
                by = by.or(Some(Remark::Repeats { by: other }));
            }
        }
        remarks.extend(by);
        remarks
    };
    rules.iter().enumerate().map(remarks).collect()
}

/// Whether a rule alone makes a difference for a call.
pub fn decides<'t>(
    rule: &PermissionRule,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> bool {
    let mode = match rule.effect {
        RuleEffect::Allow => PermissionMode::Ask,
        RuleEffect::Ask | RuleEffect::Deny => PermissionMode::Auto,
    };
    // A tool that reads is allowed by every mode: as one that acts it shows what the rule says of it.
    let tool = Tool { does: Does::Act, confines: true, ..tool.into() };
    let with = |rules| Permissions { mode, rules, ..Permissions::default() };
    let said = |rules| {
        let permissions = with(rules);
        let asked = Asked::new(&permissions, workspace, &tool, arguments);
        decided(&permissions, &tool, &asked, Looking::Asks)
    };
    said(vec![rule.clone()]) != said(Vec::new())
}

fn width(rule: &PermissionRule, shell: &str) -> Option<Remark> {
    let is_bare = rule.command.is_none() && rule.path.is_none() && rule.arguments.is_empty();
    match rule.effect {
        RuleEffect::Allow if rule.tool == "*" && is_bare => Some(Remark::EveryTool),
        RuleEffect::Allow
            if rule.tool == shell && (is_bare || rule.command.as_deref() == Some("*")) =>
        {
            Some(Remark::EveryCommand)
        }
        RuleEffect::Allow if rule.is_unconfined() && !rule.is_exact() => Some(Remark::Unconfined),
        RuleEffect::Allow if rule.tool == shell && !rule.is_exact() => Some(Remark::Confined),
        RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny => None,
    }
}

fn strength(rule: &PermissionRule) -> u8 {
    match rule.effect {
        RuleEffect::Allow => 0,
        RuleEffect::Ask => 1,
        RuleEffect::Deny => 2,
    }
}

/// Whether another rule is for all that a rule is for, wherever that one counts.
fn is_covered(rule: &PermissionRule, other: &PermissionRule) -> bool {
    let reach = |rule: &PermissionRule| match rule.scope {
        RuleScope::Conversation => 0,
        RuleScope::Project => 1,
        RuleScope::User => 2,
    };
    let is_same_tool = rule.tool == other.tool;
    // A rule for every tool with a path, or a command, allows those of our own tools only.
    let is_any_tool = other.tool == "*"
        && (other.effect != RuleEffect::Allow || (other.path.is_none() && other.command.is_none()));
    // What is named word for word runs outside the wall, and what is named by a pattern does not.
    let is_as_free = rule.effect != RuleEffect::Allow
        || other.effect != RuleEffect::Allow
        || other.is_unconfined()
        || (!rule.is_unconfined() && (!rule.is_exact() || other.is_exact()));
    // A rule that allows a command counts in the directory that it names, or else in the workspace itself.
    let is_same_place =
        rule.effect != RuleEffect::Allow || rule.command.is_none() || rule.path == other.path;
    reach(rule) <= reach(other)
        && is_same_place
        && (is_same_tool || is_any_tool)
        && is_as_free
        && opens_as_much(rule, other)
        && has_command(rule.command.as_deref(), other.command.as_deref())
        && other.path.as_ref().is_none_or(|path| rule.path.as_ref() == Some(path))
        && (other.arguments.is_empty() || rule.arguments == other.arguments)
}

/// Whether another rule opens in the wall what a rule opens. A rule that forbids opens nothing.
fn opens_as_much(rule: &PermissionRule, other: &PermissionRule) -> bool {
    let mut both = other.grants.clone();
    both.add(&rule.grants);
    other.effect != RuleEffect::Allow || both == other.grants
}

/// Whether a pattern of commands has all that another one has.
fn has_command(narrow: Option<&str>, wide: Option<&str>) -> bool {
    let Some(wide) = wide else { return true };
    let Some(narrow) = narrow else { return false };
    let begins = |words: &str| {
        narrow == words || narrow.strip_prefix(words).is_some_and(|rest| rest.starts_with(' '))
    };
    narrow == wide || wide.strip_suffix(" *").is_some_and(begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ArgumentRole;

    const SHELL: &str = "shell";

    fn rule(effect: RuleEffect, tool: &str, command: &str) -> PermissionRule {
        let command = (!command.is_empty()).then(|| command.to_owned());
        PermissionRule { command, ..PermissionRule::of_tool(tool, effect) }
    }

    fn allow(command: &str) -> PermissionRule {
        rule(RuleEffect::Allow, SHELL, command)
    }

    #[test]
    fn what_another_rule_says_already_is_noticed() {
        use Remark::{Confined, EveryCommand, EveryTool, Overruled, Repeats, Unconfined};
        let deny = |command| rule(RuleEffect::Deny, SHELL, command);
        let free = |command| PermissionRule { confined: Some(false), ..allow(command) };
        let user = |rule| PermissionRule { scope: RuleScope::User, ..rule };
        let cases: Vec<(Vec<PermissionRule>, Vec<Vec<Remark>>)> = vec![
            (vec![allow("cargo test")], vec![vec![]]),
            (vec![allow("cargo *")], vec![vec![Confined]]),
            (vec![free("cargo *")], vec![vec![Unconfined]]),
            (vec![allow("")], vec![vec![EveryCommand]]),
            (vec![rule(RuleEffect::Allow, "*", "")], vec![vec![EveryTool]]),
            // An exact rule runs outside the wall: the pattern does not say the same.
            (vec![allow("cargo *"), allow("cargo test")], vec![vec![Confined], vec![]]),
            (
                vec![free("cargo *"), allow("cargo test")],
                vec![vec![Unconfined], vec![Repeats { by: 0 }]],
            ),
            (
                vec![allow("cargo test *"), allow("cargo *")],
                vec![vec![Confined, Repeats { by: 1 }], vec![Confined]],
            ),
            (vec![allow("cargo *"), allow("cargotest *")], vec![vec![Confined], vec![Confined]]),
            (vec![allow("ls"), allow("ls")], vec![vec![], vec![Repeats { by: 0 }]]),
            (vec![deny("rm *"), allow("rm x")], vec![vec![], vec![Overruled { by: 0 }]]),
            (vec![deny("rm x"), allow("rm *")], vec![vec![], vec![Confined]]),
            // The other one counts in this conversation only.
            (vec![deny("rm *"), user(allow("rm x"))], vec![vec![], vec![]]),
            (vec![user(deny("rm *")), allow("rm x")], vec![vec![], vec![Overruled { by: 0 }]]),
        ];
        for (rules, expected) in cases {
            assert_eq!(review(&rules, SHELL), expected, "{rules:#?}");
        }
    }

    #[test]
    fn a_rule_decides_on_a_call_that_it_is_for() {
        let shell = Tool::new(SHELL, Does::Act);
        let shell = shell.with_roles([("command", ArgumentRole::CommandLine)]);
        let call = |command: &str| serde_json::json!({ "command": command }).to_string();
        let decides = |rule: &PermissionRule, command| decides(rule, "/w", &shell, &call(command));
        assert!(decides(&allow("cargo test *"), "cargo test --all"));
        assert!(!decides(&allow("cargo test *"), "cargo build"));
        assert!(decides(&rule(RuleEffect::Deny, SHELL, "rm *"), "ls && rm x"));
        assert!(!decides(&rule(RuleEffect::Deny, SHELL, "rm *"), "ls"));
    }
}
