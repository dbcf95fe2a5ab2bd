//! Openings in the wall: which of them rules and settings give a call, which it asks for, and whether those are
//! given.

use super::asked::{Allowed, Asked};
use super::host::EVERYWHERE;
pub use super::openings::{Needs, fault, words};
use crate::grant::Grants;
use crate::rule::{PermissionRule, Permissions, RuleEffect};
use crate::tool::{Does, Tool};

/// How the openings of a call stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing stands against them.
    Given,
    /// The call asks for more than rules and settings open.
    Wider,
    /// Hosts or sockets are granted singly, and the wall here cannot hold that.
    NotHeld,
}

/// What rules open for a call: all that the rules say which allow it. Nothing, if some command of it is allowed
/// by no rule and does more than look.
pub fn granted<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> Grants {
    by_rules(permissions, &Asked::new(permissions, workspace, &tool.into(), arguments))
}

/// What a call asks to be opened. Nothing, if it does not say that in a form that is understood.
pub fn needs<'t>(tool: impl Into<Tool<'t>>, arguments: &str) -> Grants {
    Asked::new(&Permissions::default(), "/", &tool.into(), arguments).needs
}

/// Whether a call asks for more than rules and settings open, so that a person is asked.
pub fn wants_more<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> bool {
    let tool = tool.into();
    let asked = Asked::new(permissions, workspace, &tool, arguments);
    !asked.needs.is_empty()
        && !asked.runs_free(permissions)
        && standing(permissions, &tool, &asked, None) == Standing::Wider
}

/// What a person is told of the openings that a call is asked about, a line each.
pub fn told<'t>(
    permissions: &Permissions,
    workspace: &str,
    tool: impl Into<Tool<'t>>,
    arguments: &str,
) -> Vec<String> {
    let tool = tool.into();
    let asked = Asked::new(permissions, workspace, &tool, arguments);
    let mut lines: Vec<_> =
        words(&asked.needs).into_iter().map(|opening| format!("it asks to {opening}")).collect();
    if tool.does == Does::Edit && asked.edits_obeyed_file() {
        lines.push(
            "programs run it or obey it later: your shell, git, an editor, the next agent".into(),
        );
    }
    if standing(permissions, &tool, &asked, None) == Standing::NotHeld {
        lines.push(
            "hosts and sockets cannot be opened singly here, because there are no namespaces to be had"
                .into(),
        );
    }
    lines
}

pub(super) fn standing(
    permissions: &Permissions,
    tool: &Tool<'_>,
    asked: &Asked<'_>,
    allowed: Option<Allowed>,
) -> Standing {
    // What runs outside the wall has all of it.
    if !tool.confines
        || !asked.runs_commands()
        || allowed.is_some_and(|allowed| asked.is_free(allowed))
    {
        return Standing::Given;
    }
    let ruled = by_rules(permissions, asked);
    let mut given = ruled.clone();
    given.add(&permissions.opened);
    if !asked.covers(&given) {
        return Standing::Wider;
    }
    let is_single = |given: &[String], ruled: &[String], needed: &[String]| {
        let is_named = !ruled.is_empty() || !needed.is_empty();
        is_named && !given.iter().any(|entry| entry == EVERYWHERE)
    };
    let names_hosts = is_single(&given.network, &ruled.network, &asked.needs.network);
    let names_sockets = is_single(&given.sockets, &ruled.sockets, &asked.needs.sockets);
    if (names_hosts || names_sockets) && !tool.holds_hosts {
        return Standing::NotHeld;
    }
    Standing::Given
}

fn by_rules(permissions: &Permissions, asked: &Asked<'_>) -> Grants {
    let allows = |rule: &&PermissionRule| rule.effect == RuleEffect::Allow && asked.concerns(rule);
    let rules: Vec<_> = permissions.rules.iter().filter(allows).collect();
    let mut grants = Grants::default();
    if rules.iter().any(|rule| !rule.grants.is_empty()) {
        asked.allowing(&rules).into_iter().for_each(|rule| grants.add(&rule.grants));
    }
    grants
}
