//! May a call run without asking? Rules first, then the mode; a deny beats an allow.
//!
//! What cannot be understood for certain is never allowed by a rule for commands or paths, and asks
//! as soon as a rule might forbid it.

mod address;
mod argument;
mod asked;
mod command;
pub mod fault;
mod line;
mod looks;
pub mod path;
mod reach;
mod roles;
mod run_by_others;
mod runners;

use serde::{Deserialize, Serialize};

use self::asked::{Allowed, Asked};
use self::command::{Pattern, Sight};
pub use self::line::is_unseen;
pub use self::looks::{SYSTEM_FILES, SYSTEM_PROGRAMS};
pub use self::roles::SHELL;
use self::roles::{Kind, Roles, is_named};
use crate::event::{
    EffectClass, PermissionMode, PermissionRule, Permissions, RuleEffect, RuleScope, ToolSpec,
};

/// What the rules say of a call. The workspace is what names from the root are held against.
pub fn permit(
    permissions: &Permissions,
    workspace: &str,
    tool: &ToolSpec,
    arguments: &str,
) -> RuleEffect {
    let asked = Asked::new(permissions, workspace, tool, arguments);
    let by_mode = by_mode(permissions.mode, tool.effect, &asked);
    let may_look = || tool.confines_looks && asked.only_looks();
    let is_planning = permissions.mode == PermissionMode::Plan;
    // Rules are for the work, and the work has not begun.
    if is_planning && by_mode == RuleEffect::Deny && !may_look() {
        return RuleEffect::Deny;
    }
    let rules: Vec<_> = permissions.rules.iter().filter(|rule| asked.concerns(rule)).collect();
    let mut worst = Sight::Absent;
    for effect in [RuleEffect::Deny, RuleEffect::Ask] {
        for rule in rules.iter().filter(|rule| rule.effect == effect) {
            match asked.sight(rule) {
                Sight::Found => return effect,
                sight @ (Sight::Hidden | Sight::Reachable | Sight::Absent) => {
                    worst = worst.max(sight);
                }
            }
        }
    }
    let allows = rules.into_iter().filter(|rule| rule.effect == RuleEffect::Allow);
    let allowed = asked.allowed(&allows.collect::<Vec<_>>());
    let permitted = match by_mode {
        _ if allowed.is_some() => RuleEffect::Allow,
        RuleEffect::Ask if may_look() => RuleEffect::Allow,
        // In the mode that plans nothing else comes so far.
        RuleEffect::Deny if is_planning => RuleEffect::Allow,
        decided @ (RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny) => decided,
    };
    // Something may be in there that a rule forbids.
    let doubtful = match worst {
        Sight::Absent => false,
        // Any command could reach it. A person who allowed exactly this one has thought of that.
        Sight::Reachable => allowed != Some(Allowed::WordForWord),
        Sight::Hidden | Sight::Found => true,
    };
    if doubtful && permitted == RuleEffect::Allow { RuleEffect::Ask } else { permitted }
}

/// Whether a call that nobody was asked about runs only because its command line looks and does nothing
/// else. It has to be run behind the wall for such commands, or not at all. Holds whatever the tool
/// says of itself today: a call that was started before is started again behind the same wall.
pub fn is_look(
    permissions: &Permissions,
    workspace: &str,
    tool: &ToolSpec,
    arguments: &str,
) -> bool {
    let without_wall = ToolSpec { confines_looks: false, ..tool.clone() };
    Asked::new(permissions, workspace, tool, arguments).only_looks()
        && permit(permissions, workspace, &without_wall, arguments) != RuleEffect::Allow
}

/// Whether a rule that forbids could be met by a call, so that only a person may allow it. What a
/// rule merely asks about, a policy may answer.
pub fn is_for_a_person(
    permissions: &Permissions,
    workspace: &str,
    tool: &ToolSpec,
    arguments: &str,
) -> bool {
    let rules = permissions.rules.iter().filter(|rule| rule.effect != RuleEffect::Ask);
    let (mode, rules) = (PermissionMode::Auto, rules.cloned().collect());
    let freely = Permissions { mode, rules, directories: permissions.directories.clone() };
    permit(&freely, workspace, tool, arguments) != RuleEffect::Allow
}

/// The rule that forbids a call; none if no rule does.
pub fn forbidding<'a>(
    permissions: &'a Permissions,
    workspace: &str,
    tool: &ToolSpec,
    arguments: &str,
) -> Option<&'a PermissionRule> {
    let asked = Asked::new(permissions, workspace, tool, arguments);
    permissions.rules.iter().find(|rule| {
        rule.effect == RuleEffect::Deny && asked.concerns(rule) && asked.sight(rule) == Sight::Found
    })
}

fn by_mode(mode: PermissionMode, effect: EffectClass, asked: &Asked<'_>) -> RuleEffect {
    match (mode, effect) {
        // The worker that a call is handed to has the same permissions, and asks for its own calls.
        (PermissionMode::Auto, _) => RuleEffect::Allow,
        // Reading in the workspace needs no permission; reading elsewhere does.
        (_, EffectClass::ReadOnly) if asked.leads_out() => RuleEffect::Ask,
        (_, EffectClass::ReadOnly | EffectClass::Child) => RuleEffect::Allow,
        (PermissionMode::AcceptEdits, EffectClass::Digested) if asked.edits_plain_file() => {
            RuleEffect::Allow
        }
        (PermissionMode::Ask | PermissionMode::AcceptEdits, _) => RuleEffect::Ask,
        (PermissionMode::ReadOnly | PermissionMode::Plan, _) => RuleEffect::Deny,
    }
}

/// A decision that stands for later calls too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// What becomes of them.
    pub effect: RuleEffect,
    /// Where.
    pub scope: RuleScope,
}

/// The rules that a standing decision on a call would add. `None` if they would not decide on the
/// call itself, because it cannot be understood or because a stronger rule stands against them.
pub fn always(
    permissions: &Permissions,
    workspace: &str,
    tool: &ToolSpec,
    arguments: &str,
    standing: Standing,
) -> Option<Vec<PermissionRule>> {
    let Standing { effect, scope } = standing;
    let asked = Asked::new(permissions, workspace, tool, arguments);
    let mut rule = PermissionRule { scope, ..PermissionRule::of_tool(&tool.name, effect) };
    // What is allowed in a directory is something else in another one.
    if effect == RuleEffect::Allow {
        rule.path = asked.elsewhere()?;
    }
    let rules = match asked.line.as_ref().filter(|_| asked.runs_commands()) {
        None => {
            rule.arguments = asked.hosts()?;
            vec![rule]
        }
        // Which of several commands is meant is not known, and the others are not to be forbidden.
        Some(line)
            if effect != RuleEffect::Allow && !(line.certain && line.commands.len() == 1) =>
        {
            return None;
        }
        Some(line) => {
            let mut rules = Vec::new();
            for words in &line.commands {
                let command = Some(Pattern::exactly(words)?);
                let rule = PermissionRule { command, ..rule.clone() };
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
            rules
        }
    };
    let wider = with(permissions, &rules);
    (permit(&wider, workspace, tool, arguments) == effect).then_some(rules)
}

/// The permissions with more rules, each of them once. A decision on a whole tool replaces the
/// conversation's former one, except a deny: only a person who sees that may lift it.
pub fn with(permissions: &Permissions, rules: &[PermissionRule]) -> Permissions {
    let mut permissions = permissions.clone();
    for rule in rules {
        let former = |other: &PermissionRule| {
            let whole = |rule: &PermissionRule| {
                rule.command.is_none() && rule.path.is_none() && rule.arguments.is_empty()
            };
            whole(rule)
                && whole(other)
                && other.tool == rule.tool
                && other.scope == RuleScope::Conversation
                && other.effect != RuleEffect::Deny
        };
        permissions.rules.retain(|other| !former(other) && other != rule);
        permissions.rules.push(rule.clone());
    }
    permissions
}

/// Whether the answer for a tool hangs on the path that it really works on, behind all links.
pub fn needs_real_path(permissions: &Permissions, tool: &ToolSpec) -> bool {
    let roles = Roles::of(tool);
    let placed = |rule: &PermissionRule| {
        let on_path = rule.path.is_some() || rule.arguments.keys().any(|key| roles.is_path(key));
        on_path || roles.kind == Kind::Commands && roles.says_commands(rule)
    };
    let concerned = |rule: &PermissionRule| is_named(rule, &tool.name) && placed(rule);
    permissions.mode == PermissionMode::AcceptEdits || permissions.rules.iter().any(concerned)
}

/// Whether a tool works on paths and on nothing else, so that it is worth a look where they lead.
pub fn works_on_paths(tool: &ToolSpec) -> bool {
    Roles::of(tool).kind == Kind::Paths
}

/// Paths that a tool which looks around leaves out: rules forbid it to go there, or ask first.
pub fn left_out<'a>(permissions: &'a Permissions, tool: &str) -> Vec<&'a str> {
    let rules = permissions.rules.iter();
    let rules = rules.filter(|rule| is_named(rule, tool) && rule.effect != RuleEffect::Allow);
    rules.filter(|rule| rule.command.is_none()).filter_map(|rule| rule.path.as_deref()).collect()
}

/// Whether rules keep a path from some tool, or ask first: it is not named to one that looks for
/// another path.
pub fn is_kept_back(permissions: &Permissions, path: &str) -> bool {
    let rules = permissions.rules.iter();
    let mut rules = rules.filter(|it| it.effect != RuleEffect::Allow && it.command.is_none());
    rules.any(|rule| rule.path.as_deref().is_some_and(|pattern| path::matches(pattern, path)))
}

/// The argument that says where a tool works.
pub fn place_argument(tool: &ToolSpec) -> &str {
    Roles::of(tool).place()
}

#[cfg(test)]
mod tests;
