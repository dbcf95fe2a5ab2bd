//! May a call run without asking? Rules first, then the mode; a deny beats an allow.
//!
//! What cannot be understood for certain is never allowed by a rule for commands or paths, and asks
//! as soon as a rule might forbid it.

mod argument;
mod command;
pub mod fault;
mod line;
pub mod path;
mod reach;
mod run_by_others;
mod runners;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::argument::{COMMAND, PATH, matcher, says_commands};
use self::command::{Matcher, Pattern, Sight, allows, finds};
use self::line::Line;
use self::reach::Reach;
use self::runners::may_run;
use crate::event::{
    EffectClass, PermissionMode, PermissionRule, Permissions, RuleEffect, RuleScope, ToolSpec,
};

/// The tool whose `command` is a command line. Others may have an argument of that name too, and
/// nobody here knows what they make of it.
pub const SHELL: &str = "shell";
/// The tool that writes to what a command reads, which may be a shell.
const SHELL_INPUT: &str = "shell_write";

/// What the rules say of a call. The workspace is what names from the root are held against.
pub fn permit(
    permissions: &Permissions,
    workspace: &str,
    tool: &ToolSpec,
    arguments: &str,
) -> RuleEffect {
    let asked = Asked::new(workspace, &tool.name, arguments);
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
    let permitted = match allowed {
        Some(_) => RuleEffect::Allow,
        None => by_mode(permissions.mode, tool.effect, &asked),
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

/// Whether a rule that forbids could be met by a call, so that only a person may allow it. What a
/// rule merely asks about, a policy may answer.
pub fn is_for_a_person(
    permissions: &Permissions,
    workspace: &str,
    tool: &ToolSpec,
    arguments: &str,
) -> bool {
    let rules = permissions.rules.iter().filter(|rule| rule.effect != RuleEffect::Ask);
    let freely = Permissions { mode: PermissionMode::Auto, rules: rules.cloned().collect() };
    permit(&freely, workspace, tool, arguments) != RuleEffect::Allow
}

/// The rule that forbids a call; none if no rule does.
pub fn forbidding<'a>(
    permissions: &'a Permissions,
    workspace: &str,
    tool: &ToolSpec,
    arguments: &str,
) -> Option<&'a PermissionRule> {
    let asked = Asked::new(workspace, &tool.name, arguments);
    permissions.rules.iter().find(|rule| {
        rule.effect == RuleEffect::Deny && asked.concerns(rule) && asked.sight(rule) == Sight::Found
    })
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
    let asked = Asked::new(workspace, &tool.name, arguments);
    let mut rule = PermissionRule { scope, ..PermissionRule::of_tool(&tool.name, effect) };
    // What is allowed in a directory is something else in another one.
    if effect == RuleEffect::Allow {
        rule.path = asked.elsewhere()?;
    }
    let rules = match asked.line.as_ref().filter(|_| asked.is_shell()) {
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
pub fn needs_real_path(permissions: &Permissions, tool: &str) -> bool {
    let placed = |rule: &PermissionRule| {
        let on_path = rule.path.is_some() || rule.arguments.contains_key(PATH);
        on_path || tool == SHELL && says_commands(rule)
    };
    let concerned = |rule: &PermissionRule| is_named(rule, tool) && placed(rule);
    permissions.mode == PermissionMode::AcceptEdits || permissions.rules.iter().any(concerned)
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
pub fn place_argument(tool: &str) -> &'static str {
    if tool == SHELL { "dir" } else { "path" }
}

fn is_named(rule: &PermissionRule, tool: &str) -> bool {
    rule.tool == tool || rule.tool == "*"
}

/// How far rules allow a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowed {
    /// Exactly these commands.
    WordForWord,
    /// Among others.
    Widely,
}

/// A call, as far as rules can look at it.
struct Asked<'a> {
    workspace: &'a str,
    tool: &'a str,
    fields: Map<String, Value>,
    /// A command line in it.
    line: Option<Line>,
    /// The argument `path`, if it is clear where that leads.
    path: Option<String>,
    /// What it can touch.
    reach: Reach,
}

impl<'a> Asked<'a> {
    fn new(workspace: &'a str, tool: &'a str, arguments: &str) -> Self {
        let fields: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let written = if tool == SHELL_INPUT { text("text") } else { text(COMMAND) };
        let line = written.map(|written| {
            let mut line = Line::read(written);
            // It will read more than is seen here, and half a line may become any other one.
            let is_on = |key| fields.get(key).is_some_and(|value| *value != Value::Bool(false));
            let goes_on = is_on("input") || is_on("terminal");
            let half = tool == SHELL_INPUT && !written.ends_with('\n');
            line.certain &= !(half || goes_on && line.commands.iter().any(|it| may_run(it)));
            line
        });
        let reach = match &line {
            Some(line) if [SHELL, SHELL_INPUT].contains(&tool) => {
                Reach::of_line(line, workspace, text("dir").unwrap_or("."))
            }
            Some(_) | None => Reach::of_tool(tool, workspace, &fields),
        };
        let path = text(PATH).and_then(|path| path::within(workspace, path));
        Self { workspace, tool, fields, line, path, reach }
    }

    fn is_shell(&self) -> bool {
        self.tool == SHELL
    }

    fn concerns(&self, rule: &PermissionRule) -> bool {
        // What may not be run may not be typed either.
        let typed = self.tool == SHELL_INPUT
            && rule.tool == SHELL
            && rule.effect != RuleEffect::Allow
            && (says_commands(rule) || rule.path.is_some());
        is_named(rule, self.tool) || typed
    }

    /// Whether a rule that forbids or asks is met.
    fn sight(&self, rule: &PermissionRule) -> Sight {
        let command = match &self.line {
            _ if !says_commands(rule) => Sight::Found,
            None if rule.command.is_some() => Sight::Absent,
            // It is no command line, so its form is looked at as that of any other argument.
            None => Sight::Found,
            Some(line) => match matcher(rule) {
                Some(matcher) => finds(&matcher, line),
                // Nobody knows what was meant by it.
                None => Sight::Hidden,
            },
        };
        let command = command.max(self.sight_in_texts(rule));
        let path = rule
            .path
            .as_ref()
            .map_or(Sight::Found, |pattern| self.reach.sight(self.workspace, pattern));
        command.min(path).min(self.sight_of_arguments(rule))
    }

    /// Tools of others may call a command line whatever they like.
    fn sight_in_texts(&self, rule: &PermissionRule) -> Sight {
        let matcher = says_commands(rule).then(|| matcher(rule)).flatten();
        let runs = |text: &String| {
            let line = Line::read(text);
            matcher.as_ref().is_some_and(|matcher| finds(matcher, &line) == Sight::Found)
        };
        let strange = self.reach.texts().iter().any(runs);
        if strange { Sight::Hidden } else { Sight::Absent }
    }

    /// Whether rules that allow cover the whole call, and how closely.
    fn allowed(&self, rules: &[&PermissionRule]) -> Option<Allowed> {
        let mut patterns = Vec::new();
        let fits = |rule: &PermissionRule| self.sight_of_arguments(rule) == Sight::Found;
        for rule in rules.iter().filter(|rule| fits(rule)) {
            match says_commands(rule).then(|| matcher(rule)) {
                None if self.is_allowed_here(rule) => return Some(Allowed::Widely),
                Some(Some(pattern)) if self.counts_here(rule, &pattern) => patterns.push(pattern),
                None | Some(_) => {}
            }
        }
        let line = self.line.as_ref().filter(|_| self.is_shell())?;
        let closely: Vec<_> = patterns.iter().filter(|it| it.is_closed()).cloned().collect();
        if allows(&closely, line) {
            Some(Allowed::WordForWord)
        } else {
            allows(&patterns, line).then_some(Allowed::Widely)
        }
    }

    /// Whether a rule without a command is for this call.
    fn is_allowed_here(&self, rule: &PermissionRule) -> bool {
        let Some(pattern) = rule.path.as_deref() else { return true };
        // A path says nothing of what a command does, nor of what strangers make of theirs.
        let known = reach::is_of_files(self.tool) || rule.tool == self.tool && !self.is_shell();
        known && self.path.as_ref().is_some_and(|path| path::matches(pattern, path))
    }

    /// Whether a rule for commands counts where this call runs: without a path in the workspace, with
    /// one in that directory, and then word for word.
    fn counts_here(&self, rule: &PermissionRule, pattern: &Matcher) -> bool {
        let Reach::Commands { directory: Some(directory), .. } = &self.reach else { return false };
        match &rule.path {
            None => directory == ".",
            Some(path) => pattern.is_closed() && path::matches(path, directory),
        }
    }

    /// The directory that a rule for this call has to name, if any; `None` if it cannot.
    #[expect(clippy::option_option, reason = "it has none, it has one, it cannot be named")]
    fn elsewhere(&self) -> Option<Option<String>> {
        match &self.reach {
            Reach::Commands { directory, .. } => {
                let directory = directory.as_ref()?;
                if directory == "." {
                    return Some(None);
                }
                let pattern = path::exactly(directory);
                fault::of_path(&pattern).is_none().then_some(Some(pattern))
            }
            Reach::Path(_) | Reach::Texts(_) => Some(None),
        }
    }

    fn edits_plain_file(&self) -> bool {
        self.path.as_ref().is_some_and(|path| !run_by_others::is_one(path))
    }
}

#[cfg(test)]
mod tests;
