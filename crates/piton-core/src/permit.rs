//! May a call run without asking? Rules first, then the mode; a deny beats an allow.
//!
//! What cannot be understood for certain is never allowed by a rule for commands or paths, and asks
//! as soon as a rule might forbid it.

mod command;
mod line;
pub mod path;
mod runners;

use serde_json::{Map, Value};

use self::command::{Pattern, Sight, allows, finds};
use self::line::Line;
use crate::event::{
    EffectClass, PermissionMode, PermissionRule, Permissions, RuleEffect, RuleScope, ToolSpec,
};

/// A directory whose files are run by others. Edits of it are never taken for granted.
const RUN_BY_OTHERS: &str = ".git";

/// What the rules say of a call.
pub fn permit(permissions: &Permissions, tool: &ToolSpec, arguments: &str) -> RuleEffect {
    let asked = Asked::new(&tool.name, arguments);
    let rules: Vec<_> = permissions.rules.iter().filter(|rule| asked.concerns(rule)).collect();
    let mut hidden = false;
    for effect in [RuleEffect::Deny, RuleEffect::Ask] {
        for rule in rules.iter().filter(|rule| rule.effect == effect) {
            match asked.sight(rule) {
                Sight::Found => return effect,
                Sight::Hidden => hidden = true,
                Sight::Absent => {}
            }
        }
    }
    let allows = rules.into_iter().filter(|rule| rule.effect == RuleEffect::Allow);
    let permitted = if asked.is_allowed(&allows.collect::<Vec<_>>()) {
        RuleEffect::Allow
    } else {
        by_mode(permissions.mode, tool.effect, &asked)
    };
    // Something may be in there that a rule forbids.
    if hidden && permitted == RuleEffect::Allow { RuleEffect::Ask } else { permitted }
}

fn by_mode(mode: PermissionMode, effect: EffectClass, asked: &Asked<'_>) -> RuleEffect {
    match (mode, effect) {
        // Whoever a call is handed to has the same permissions, and asks for what it does itself.
        (PermissionMode::Auto, _) | (_, EffectClass::ReadOnly | EffectClass::Child) => {
            RuleEffect::Allow
        }
        (PermissionMode::AcceptEdits, EffectClass::Digested) if asked.edits_plain_file() => {
            RuleEffect::Allow
        }
        (PermissionMode::Ask | PermissionMode::AcceptEdits, _) => RuleEffect::Ask,
        (PermissionMode::ReadOnly, _) => RuleEffect::Deny,
    }
}

/// A decision that stands for later calls too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    tool: &ToolSpec,
    arguments: &str,
    standing: Standing,
) -> Option<Vec<PermissionRule>> {
    let Standing { effect, scope } = standing;
    let asked = Asked::new(&tool.name, arguments);
    let rule = PermissionRule { scope, ..PermissionRule::of_tool(&tool.name, effect) };
    let rules = match &asked.line {
        None => vec![rule],
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
    (permit(&wider, tool, arguments) == effect).then_some(rules)
}

/// The permissions with more rules, each of them once. A decision on a whole tool replaces the
/// conversation's former one, except a deny: only a person who sees that may lift it.
pub fn with(permissions: &Permissions, rules: &[PermissionRule]) -> Permissions {
    let mut permissions = permissions.clone();
    for rule in rules {
        let former = |other: &PermissionRule| {
            let whole = |rule: &PermissionRule| rule.command.is_none() && rule.path.is_none();
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

/// Why a rule can never say anything; `None` if it can.
pub fn fault(rule: &PermissionRule) -> Option<&'static str> {
    if rule.tool.trim().is_empty() {
        return Some("a rule names a tool, or * for all of them");
    }
    if rule.command.as_deref().is_some_and(|command| Pattern::read(command).is_none()) {
        return Some("a command is written in plain words, with * at its end for any further ones");
    }
    let path = rule.path.as_deref()?;
    let unclear = path::normal(path).is_none_or(|normal| normal != path);
    unclear.then_some("a path is relative to the workspace, and has no . or .. in it")
}

/// Whether the answer for a tool hangs on the path that it really works on, behind all links.
pub fn needs_real_path(permissions: &Permissions, tool: &str) -> bool {
    let concerned = |rule: &PermissionRule| is_named(rule, tool) && rule.path.is_some();
    permissions.mode == PermissionMode::AcceptEdits || permissions.rules.iter().any(concerned)
}

fn is_named(rule: &PermissionRule, tool: &str) -> bool {
    rule.tool == tool || rule.tool == "*"
}

/// A call, as far as rules can look at it.
struct Asked<'a> {
    tool: &'a str,
    /// Its command line, for tools that run one.
    line: Option<Line>,
    /// Its path; outside `None` if there is none, inside if it is not clear where it leads.
    #[expect(clippy::option_option, reason = "absent, not clear, clear")]
    path: Option<Option<String>>,
}

impl<'a> Asked<'a> {
    fn new(tool: &'a str, arguments: &str) -> Self {
        let fields: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
        let text = |key| fields.get(key).and_then(Value::as_str);
        let elsewhere = text("dir").is_some_and(|it| path::normal(it).as_deref() != Some("."));
        let line = text("command").map(|command| {
            let mut line = Line::read(command);
            // There a relative name is another program.
            line.certain &= !(elsewhere && line.has_relative_program());
            line
        });
        Self { tool, line, path: text("path").map(path::normal) }
    }

    fn concerns(&self, rule: &PermissionRule) -> bool {
        is_named(rule, self.tool)
    }

    /// Whether a rule that forbids or asks is met.
    fn sight(&self, rule: &PermissionRule) -> Sight {
        let command = match (&rule.command, &self.line) {
            (None, _) => Sight::Found,
            (Some(_), None) => Sight::Absent,
            (Some(command), Some(line)) => match Pattern::read(command) {
                Some(pattern) => finds(&pattern, line),
                // Nobody knows what was meant by it.
                None => Sight::Hidden,
            },
        };
        let path = match (&rule.path, &self.path) {
            (None, _) => Sight::Found,
            (Some(_), None) if self.line.is_some() => Sight::Absent,
            (Some(pattern), None) => found(path::matches(pattern, ".")),
            (Some(pattern), Some(Some(path))) => found(path::matches(pattern, path)),
            (Some(_), Some(None)) => Sight::Hidden,
        };
        match (command, path) {
            (Sight::Absent, _) | (_, Sight::Absent) => Sight::Absent,
            (Sight::Hidden, _) | (_, Sight::Hidden) => Sight::Hidden,
            (Sight::Found, Sight::Found) => Sight::Found,
        }
    }

    /// Whether rules that allow cover the whole call.
    fn is_allowed(&self, rules: &[&PermissionRule]) -> bool {
        let path = self.path.clone().flatten();
        let on_path = |rule: &PermissionRule| {
            let pattern = rule.path.as_deref();
            pattern.is_none_or(|pattern| path.as_ref().is_some_and(|it| path::matches(pattern, it)))
        };
        let mut patterns = Vec::new();
        for rule in rules.iter().filter(|rule| on_path(rule)) {
            match &rule.command {
                None => return true,
                Some(command) => patterns.extend(Pattern::read(command)),
            }
        }
        self.line.as_ref().is_some_and(|line| allows(&patterns, line))
    }

    fn edits_plain_file(&self) -> bool {
        let Some(Some(path)) = &self.path else { return false };
        !path.split('/').any(|name| name.eq_ignore_ascii_case(RUN_BY_OTHERS))
    }
}

fn found(matches: bool) -> Sight {
    if matches { Sight::Found } else { Sight::Absent }
}

#[cfg(test)]
mod tests;
