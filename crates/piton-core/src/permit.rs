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
mod roles;
mod run_by_others;
mod runners;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::command::{Matcher, Pattern, Sight, allows, finds};
use self::line::Line;
pub use self::line::is_unseen;
use self::reach::Reach;
use self::roles::{Kind, Roles};
use self::runners::may_run;
use crate::event::{
    EffectClass, PermissionMode, PermissionRule, Permissions, RuleEffect, RuleScope, ToolSpec,
};

/// The tool that runs command lines. Its rules that forbid hold for every tool that declares a command
/// line.
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
    let asked = Asked::new(workspace, tool, arguments);
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
    let asked = Asked::new(workspace, tool, arguments);
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
    let asked = Asked::new(workspace, tool, arguments);
    let mut rule = PermissionRule { scope, ..PermissionRule::of_tool(&tool.name, effect) };
    // What is allowed in a directory is something else in another one.
    if effect == RuleEffect::Allow {
        rule.path = asked.elsewhere()?;
    }
    let rules = match asked.line.as_ref().filter(|_| asked.runs_commands()) {
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

fn is_named(rule: &PermissionRule, tool: &str) -> bool {
    rule.tool == tool || rule.tool == "*"
}

/// The paths in an argument, each as it is in the workspace; `None` for one that is not clear.
fn places(workspace: &str, value: &Value) -> Vec<Option<String>> {
    match value {
        Value::Null => Vec::new(),
        Value::String(path) => vec![path::within(workspace, path)],
        Value::Array(values) => values.iter().flat_map(|value| places(workspace, value)).collect(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec![None],
    }
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
    roles: Roles<'a>,
    fields: Map<String, Value>,
    /// A command line in it.
    line: Option<Line>,
    /// The paths that it names; `None` for one of which it is not clear where it leads.
    paths: Vec<Option<String>>,
    /// What it can touch.
    reach: Reach,
}

impl<'a> Asked<'a> {
    fn new(workspace: &'a str, tool: &'a ToolSpec, arguments: &str) -> Self {
        let roles = Roles::of(tool);
        let fields: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let line = text(roles.written).map(|written| {
            let mut line = Line::read(written);
            // It will read more than is seen here, and half a line may become any other one.
            let is_on = |key| fields.get(key).is_some_and(|value| *value != Value::Bool(false));
            let goes_on = is_on("input") || is_on("terminal");
            let half = roles.kind == Kind::Typing && !written.ends_with('\n');
            line.certain &= !(half || goes_on && line.commands.iter().any(|it| may_run(it)));
            line
        });
        let named = roles.paths.iter().filter_map(|name| fields.get(*name));
        let named = named.filter(|value| roles.is_declared || value.is_string());
        let paths: Vec<_> = named.flat_map(|value| places(workspace, value)).collect();
        let reach = match (&line, roles.kind) {
            (Some(line), Kind::Commands | Kind::Typing) => {
                let directory = text(roles.directory).unwrap_or(".");
                let beside: &[_] = if roles.is_declared { &paths } else { &[] };
                Reach::of_line(line, workspace, directory, beside)
            }
            // Without a command line nobody knows what such a tool makes of its texts.
            (None, Kind::Commands | Kind::Typing) => {
                Reach::of_tool(Kind::Unknown, &fields, Vec::new())
            }
            (_, kind) => Reach::of_tool(kind, &fields, paths.clone()),
        };
        Self { workspace, roles, fields, line, paths, reach }
    }

    fn runs_commands(&self) -> bool {
        self.roles.kind == Kind::Commands
    }

    /// Whether it declares a path that leaves the workspace, or an address.
    fn leads_out(&self) -> bool {
        self.fields.iter().any(|(name, value)| {
            let outside = !self.roles.is_path(name)
                || places(self.workspace, value).iter().any(Option::is_none);
            outside && !value.is_null() && self.roles.may_lead_out(name)
        })
    }

    fn concerns(&self, rule: &PermissionRule) -> bool {
        // What may not be run in the shell may not be run elsewhere, nor be typed.
        let borrowed = self.roles.borrows(rule)
            && rule.effect != RuleEffect::Allow
            && (self.roles.says_commands(rule) || rule.path.is_some());
        is_named(rule, self.roles.tool) || borrowed
    }

    /// Whether a rule that forbids or asks is met.
    fn sight(&self, rule: &PermissionRule) -> Sight {
        let command = match &self.line {
            _ if !self.roles.says_commands(rule) => Sight::Found,
            None if rule.command.is_some() => Sight::Absent,
            // It is no command line, so its form is looked at as that of any other argument.
            None => Sight::Found,
            Some(line) => match self.roles.matcher(rule) {
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
        let matcher = self.roles.says_commands(rule).then(|| self.roles.matcher(rule)).flatten();
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
            match self.roles.says_commands(rule).then(|| self.roles.matcher(rule)) {
                None if self.is_allowed_here(rule) => return Some(Allowed::Widely),
                Some(Some(pattern)) if self.counts_here(rule, &pattern) => patterns.push(pattern),
                None | Some(_) => {}
            }
        }
        let line = self.line.as_ref().filter(|_| self.runs_commands())?;
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
        let is_own = rule.tool == self.roles.tool && !self.runs_commands();
        let known = self.roles.kind == Kind::Paths || is_own;
        known && self.all_paths(|path| path::matches(pattern, path))
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
            Reach::Paths(_) | Reach::Texts(_) => Some(None),
        }
    }

    fn edits_plain_file(&self) -> bool {
        self.all_paths(|path| !run_by_others::is_one(path))
    }

    /// Whether it names paths, all of them are clear, and all of them are so.
    fn all_paths(&self, is_so: impl Fn(&str) -> bool) -> bool {
        let are_so = self.paths.iter().all(|path| path.as_deref().is_some_and(&is_so));
        !self.paths.is_empty() && are_so
    }
}

#[cfg(test)]
mod tests;
