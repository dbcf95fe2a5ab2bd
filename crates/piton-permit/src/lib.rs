//! May a call run without asking? Rules first, then the mode; a deny beats an allow.
//!
//! Knows how a command line, a path, a patch and an address are read, what rules say of them, and what follows.
//! Knows no journal, no tool by its name and no sandbox.
//!
//! What cannot be understood for certain is never allowed by a rule for commands or paths, and asks
//! as soon as a rule might forbid it.

mod address;
mod argument;
mod asked;
mod command;
pub mod fault;
mod grant;
pub mod grants;
pub mod host;
mod line;
mod looks;
pub mod obeyed;
mod openings;
pub mod patch;
pub mod path;
mod preset;
mod reach;
pub mod review;
mod roles;
mod rule;
mod runners;
mod tool;
mod width;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::asked::{Allowed, Asked, Prints};
use self::command::Sight;
pub use self::grant::Grants;
use self::grants::Standing::Given;
pub use self::line::is_unseen;
pub use self::looks::{SYSTEM_FILES, SYSTEM_PROGRAMS};
pub use self::preset::Preset;
use self::roles::{Kind, Roles, is_named};
pub use self::rule::{
    NotAMode, PermissionMode, PermissionRule, Permissions, RuleEffect, RuleScope,
};
pub use self::tool::{Alike, ArgumentRole, Does, Tool};
pub use self::width::{Part, Width};

/// What the rules say of a call. The workspace is what names from the root are held against.
pub fn permit<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> RuleEffect {
    let tool = tool.into();
    let asked = Asked::new(permissions, workspace, &tool, arguments);
    decided(permissions, &tool, &asked, Looking::Free)
}

/// Whether a command line that only looks asks nobody.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looking {
    Free,
    Asks,
}

fn decided(
    permissions: &Permissions,
    tool: &Tool<'_>,
    asked: &Asked<'_>,
    looking: Looking,
) -> RuleEffect {
    let by_mode = by_mode(permissions, tool.does, asked);
    let may_look = || tool.confines && looking == Looking::Free && asked.only_looks();
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
    // What programs outside the wall obey is opened to tools for files by a rule that names a place.
    let is_obeyed = tool.does == Does::Edit && asked.edits_obeyed_file();
    let counts = |rule: &&PermissionRule| !is_obeyed || rule.names_place();
    let allows = rules.into_iter().filter(|rule| rule.effect == RuleEffect::Allow).filter(counts);
    let allowed = asked.allowed(&allows.collect::<Vec<_>>());
    // Without a wall, only what is approved word for word is known.
    let allowed =
        allowed.filter(|it| tool.confines || !asked.runs_commands() || asked.is_free(*it));
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
    let asks =
        || doubtful || !may_look() && grants::standing(permissions, tool, asked, allowed) != Given;
    if permitted == RuleEffect::Allow && asks() { RuleEffect::Ask } else { permitted }
}

/// Whether a call that nobody was asked about runs only because its command line looks and does nothing
/// else. It has to be run behind the wall for such commands, or not at all. Holds whatever the tool
/// says of itself today: a call that was started before is started again behind the same wall.
pub fn is_look<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> bool {
    let tool = tool.into().confining(true);
    let asked = Asked::new(permissions, workspace, &tool, arguments);
    asked.only_looks() && decided(permissions, &tool, &asked, Looking::Asks) != RuleEffect::Allow
}

/// Whether rules let a call run outside the wall: one of them names its only command word for word, or says
/// so of whatever it allows.
pub fn runs_free<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> bool {
    Asked::new(permissions, workspace, &tool.into(), arguments).runs_free(permissions)
}

/// Whether a rule that forbids could be met by a call, so that only a person may allow it. What a
/// rule merely asks about, a policy may answer.
pub fn is_for_a_person<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> bool {
    let rules = permissions.rules.iter().filter(|rule| rule.effect != RuleEffect::Ask);
    let (mode, rules) = (PermissionMode::Auto, rules.cloned().collect());
    let freely = Permissions { mode, rules, ..permissions.clone() };
    permit(&freely, workspace, tool, arguments) != RuleEffect::Allow
}

/// The rule that forbids a call; none if no rule does.
pub fn forbidding<'a, 't>(
    permissions: &'a Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> Option<&'a PermissionRule> {
    let asked = Asked::new(permissions, workspace, &tool.into(), arguments);
    permissions.rules.iter().find(|rule| {
        rule.effect == RuleEffect::Deny && asked.concerns(rule) && asked.sight(rule) == Sight::Found
    })
}

fn by_mode(permissions: &Permissions, does: Does, asked: &Asked<'_>) -> RuleEffect {
    match (permissions.mode, does) {
        // No wall stands around such a call: it would do what a command in the sandbox may not.
        (PermissionMode::Auto, Does::Read | Does::Edit)
            if asked.goes_where_nothing_is_opened(does, &permissions.opened) =>
        {
            RuleEffect::Ask
        }
        // The worker that a call is handed to has the same permissions, and asks for its own calls.
        (PermissionMode::Auto, _) => RuleEffect::Allow,
        // Reading in the workspace needs no permission; reading elsewhere does.
        (_, Does::Read) if asked.leads_out() => RuleEffect::Ask,
        (_, Does::Read | Does::HandOver) => RuleEffect::Allow,
        (PermissionMode::AcceptEdits, Does::Edit) if asked.edits_plain_file() => RuleEffect::Allow,
        (PermissionMode::Ask | PermissionMode::AcceptEdits, _) => RuleEffect::Ask,
        (PermissionMode::ReadOnly | PermissionMode::Plan, _) => RuleEffect::Deny,
    }
}

/// A decision that stands for later calls too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// What becomes of them.
    pub effect: RuleEffect,
    /// Where.
    pub scope: RuleScope,
}

/// A call as it is held against permissions.
#[derive(Clone, Copy)]
struct Held<'a> {
    permissions: &'a Permissions,
    workspace: &'a str,
    tool: &'a Tool<'a>,
    arguments: &'a str,
}

/// The rules that a standing decision on a call would add: for exactly its commands, or for its tool.
/// `None` if they would not decide on the call itself, because it cannot be understood or because a
/// stronger rule stands against them.
pub fn always<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
    standing: Standing,
) -> Option<Vec<PermissionRule>> {
    let tool = &tool.into();
    let held = Held { permissions, workspace, tool, arguments };
    let asked = Asked::new(permissions, workspace, tool, arguments);
    held.deciding(&asked, standing, asked.usual_width())
}

/// All that a standing decision on a call could add, each once. What [`always`] says comes first, and the widest
/// last.
pub fn offers<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
    standing: Standing,
) -> Vec<(Width, Vec<PermissionRule>)> {
    let tool = &tool.into();
    let held = Held { permissions, workspace, tool, arguments };
    let asked = Asked::new(permissions, workspace, tool, arguments);
    let mut offers: Vec<(Width, Vec<PermissionRule>)> = Vec::new();
    let widths = [
        Width::Exactly,
        Width::FirstWords,
        Width::Program,
        Width::Directory,
        Width::Tool,
        Width::Unconfined,
    ];
    for width in widths.into_iter().filter(|it| is_for(*it, standing.effect)) {
        let rules = held.deciding(&asked, standing, width);
        let rules = rules.filter(|rules| !offers.iter().any(|(_, known)| known == rules));
        offers.extend(rules.map(|rules| (width, rules)));
    }
    offers
}

/// Whether rules of a width are made for an effect. What is forbidden is named closely, and runs nowhere.
fn is_for(width: Width, effect: RuleEffect) -> bool {
    effect == RuleEffect::Allow || !matches!(width, Width::Program | Width::Unconfined)
}

/// Why nothing can be kept that allows calls like this one, for people; none if the reason is not known.
pub fn why_no_rule<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> Option<String> {
    let asked = Asked::new(permissions, workspace, &tool.into(), arguments);
    let others = permissions.rules.iter().filter(|rule| rule.effect != RuleEffect::Allow);
    let others: Vec<_> = others.filter(|rule| asked.concerns(rule)).collect();
    asked.why_no_rule(&others)
}

/// Whether rules that a person wrote decide on the call that they were written for: all alike, and
/// none for another tool.
pub fn decides<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
    rules: &[PermissionRule],
) -> bool {
    let tool = &tool.into();
    let held = Held { permissions, workspace, tool, arguments };
    let Some(first) = rules.first() else { return false };
    let is_alike = |rule: &PermissionRule| {
        rule.tool == tool.name
            && (rule.effect, rule.scope) == (first.effect, first.scope)
            && fault::of_rule(rule).is_none()
    };
    rules.iter().all(is_alike) && held.is_decided(rules, first.effect)
}

impl<'a> Held<'a> {
    /// Rules for what is not allowed yet, if they are enough; else for all of the call.
    fn deciding(
        self,
        asked: &Asked<'_>,
        standing: Standing,
        width: Width,
    ) -> Option<Vec<PermissionRule>> {
        let Standing { effect, scope } = standing;
        let rule = PermissionRule { scope, ..PermissionRule::of_tool(self.tool.name, effect) };
        let known = if effect == RuleEffect::Allow { self.allowing() } else { Vec::new() };
        let decides = |rules: &Vec<_>| {
            self.is_decided(rules, effect) && (width != Width::Unconfined || self.frees(rules))
        };
        let ways = [Prints::Beside, Prints::Ruled].into_iter();
        let mut ways = ways.flat_map(|prints| [(prints, known.as_slice()), (prints, &[])]);
        ways.find_map(|(prints, known)| asked.rules(&rule, width, known, prints).filter(&decides))
    }

    fn allowing(self) -> Vec<&'a PermissionRule> {
        let rules = self.permissions.rules.iter();
        rules.filter(|rule| rule.effect == RuleEffect::Allow).collect()
    }

    fn frees(self, rules: &[PermissionRule]) -> bool {
        runs_free(&with(self.permissions, rules), self.workspace, self.tool, self.arguments)
    }

    fn is_decided(self, rules: &[PermissionRule], effect: RuleEffect) -> bool {
        let wider = with(self.permissions, rules);
        !rules.is_empty() && permit(&wider, self.workspace, self.tool, self.arguments) == effect
    }
}

/// The commands of a line of several, and which of them rules allow. None if it is not certain what the
/// line runs.
pub fn parts<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> Vec<Part> {
    let tool = &tool.into();
    let held = Held { permissions, workspace, tool, arguments };
    Asked::new(permissions, workspace, tool, arguments).parts(&held.allowing())
}

/// The argument with the command line that a tool runs; none if it runs none.
pub fn command_argument<'t>(tool: impl Into<Tool<'t>>) -> Option<&'t str> {
    let roles = Roles::of(&tool.into());
    (roles.kind == Kind::Commands).then_some(roles.written)
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
pub fn needs_real_path<'t>(permissions: &Permissions, tool: impl Into<Tool<'t>>) -> bool {
    let tool = tool.into();
    let roles = Roles::of(&tool);
    let placed = |rule: &PermissionRule| {
        let on_path = rule.path.is_some() || rule.arguments.keys().any(|key| roles.is_path(key));
        on_path || roles.kind == Kind::Commands && roles.says_commands(rule)
    };
    let concerned = |rule: &PermissionRule| is_named(rule, tool.name) && placed(rule);
    let by_mode = match permissions.mode {
        PermissionMode::AcceptEdits => true,
        PermissionMode::Auto => tool.does == Does::Edit,
        PermissionMode::Ask | PermissionMode::ReadOnly | PermissionMode::Plan => false,
    };
    by_mode || permissions.rules.iter().any(concerned)
}

/// Whether a tool works on paths and on nothing else, so that it is worth a look where they lead.
pub fn works_on_paths<'t>(tool: impl Into<Tool<'t>>) -> bool {
    Roles::of(&tool.into()).kind == Kind::Paths
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

/// Whether hooks look at calls of a tool before they run.
pub fn is_hooked(permissions: &Permissions, tool: &str) -> bool {
    permissions.hooked.iter().any(|pattern| names_tool(pattern, tool))
}

/// Whether a pattern is for a tool: its name, where `*` stands for any letters.
pub fn names_tool(pattern: &str, tool: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == tool };
    let Some(mut left) = tool.strip_prefix(first) else { return false };
    let Some((middle, last)) = rest.rsplit_once('*') else { return left.ends_with(rest) };
    for part in middle.split('*') {
        let Some((_, behind)) = left.split_once(part) else { return false };
        left = behind;
    }
    left.ends_with(last)
}

/// The argument that says where a tool works.
pub fn place_argument<'t>(tool: impl Into<Tool<'t>>) -> &'t str {
    Roles::of(&tool.into()).place()
}

#[cfg(test)]
mod tests;
