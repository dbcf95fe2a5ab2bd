//! Rules for tools that there are not. A deny with a slip of the pen protects nothing, in silence.
//!
//! A server of tools need not run for its tools to be known: their names begin with its own.

use std::collections::BTreeSet;
use std::path::Path;

use piton_core::event::{PermissionRule, ToolSpec};
use piton_mcp::is_tool_of;

use crate::mcp;
use crate::models::Shelf;
use crate::rules::told;
use crate::settings::Settings;

/// Tools that every conversation can have.
const OWN: [&str; 12] = [
    "ask_user",
    "delegate",
    "edit_file",
    "glob",
    "grep",
    "list_dir",
    "read_file",
    "shell",
    "shell_stop",
    "shell_wait",
    "shell_write",
    "write_file",
];

/// What is known of tools in a workspace.
#[derive(Debug)]
pub(crate) struct Strangers {
    tools: BTreeSet<String>,
    servers: Vec<String>,
}

impl Strangers {
    /// Looks at the settings and at the workspace. Starts nothing.
    pub(crate) fn new(shelf: &Shelf, settings: &Settings, workspace: &Path) -> Self {
        let found = mcp::find(shelf, settings, workspace);
        let servers = found.allowed.into_iter().chain(found.held).map(|server| server.name);
        let own = OWN.iter().map(ToString::to_string);
        let written = shelf.tools.iter().map(|tool| tool.name.clone());
        Self { tools: own.chain(written).collect(), servers: servers.collect() }
    }

    /// A conversation may have more.
    pub(crate) fn with(mut self, tools: &[ToolSpec]) -> Self {
        self.tools.extend(tools.iter().map(|tool| tool.name.clone()));
        self
    }

    /// What a person should hear of rules that say nothing, a line each.
    pub(crate) fn among(&self, rules: &[PermissionRule]) -> Vec<String> {
        let strange = rules.iter().filter(|rule| !self.knows(&rule.tool));
        strange
            .map(|rule| {
                let near = self.near(&rule.tool).map(|near| format!(", did you mean {near}?"));
                let near = near.unwrap_or_default();
                let (tool, rule) = (&rule.tool, told(rule));
                format!("the rule `{rule}` says nothing: there is no tool {tool}{near}")
            })
            .collect()
    }

    fn knows(&self, tool: &str) -> bool {
        let served = || self.servers.iter().any(|server| is_tool_of(server, tool));
        tool == "*" || self.tools.contains(tool) || served()
    }

    /// A name with one letter more, less or other, or written in another way.
    fn near(&self, tool: &str) -> Option<&String> {
        let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
        let wanted = plain(tool);
        self.tools.iter().find(|known| is_near(&plain(known), &wanted))
    }
}

fn is_near(one: &str, other: &str) -> bool {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let (one, other): (Vec<char>, Vec<char>) =
        (one.chars().skip(same).collect(), other.chars().skip(same).collect());
    let behind = |letters: &[char], from: usize| letters.get(from..).unwrap_or_default().to_vec();
    let swapped = one.len() == other.len()
        && one.first() == other.get(1)
        && one.get(1) == other.first()
        && behind(&one, 2) == behind(&other, 2);
    swapped
        || behind(&one, 1) == behind(&other, 1)
        || behind(&one, 1) == other
        || one == behind(&other, 1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use piton_core::event::RuleEffect;
    use piton_tools::Registry;
    use piton_tools::supervise::Supervisor;

    use super::*;

    fn strangers() -> Strangers {
        let tools = OWN.iter().map(ToString::to_string).chain(["deploy".to_owned()]).collect();
        Strangers { tools, servers: vec!["files".into(), "x.y".into()] }
    }

    fn told_of(tool: &str) -> Option<String> {
        strangers().among(&[PermissionRule::of_tool(tool, RuleEffect::Deny)]).pop()
    }

    #[test]
    fn a_rule_for_no_tool_is_told_with_what_may_be_meant() {
        for (tool, near) in [
            ("shel", "shell"),
            ("Shell", "shell"),
            ("readfile", "read_file"),
            ("gerp", "grep"),
            ("deployy", "deploy"),
        ] {
            let told = told_of(tool).unwrap();
            assert!(told.contains(&format!("`deny {tool}` says nothing")), "{told}");
            assert!(
                told.ends_with(&format!("there is no tool {tool}, did you mean {near}?")),
                "{told}"
            );
        }
        assert!(told_of("other__read").unwrap().ends_with("there is no tool other__read"));
        assert!(told_of("files_read").is_some());
    }

    #[test]
    fn a_tool_that_may_come_is_no_stranger() {
        for tool in ["*", "shell", "deploy", "files__read", "files__anything", "x_y__a_0123"] {
            assert_eq!(told_of(tool), None, "{tool}");
        }
        assert!(strangers().with(&[]).knows("grep"));
    }

    #[test]
    fn all_tools_of_ours_are_known() {
        let supervisor = Supervisor::new("/no".into(), "/no".into(), Vec::new());
        for spec in Registry::supervised(Arc::new(supervisor)).specs() {
            assert!(OWN.contains(&spec.name.as_str()), "{}", spec.name);
        }
    }
}
