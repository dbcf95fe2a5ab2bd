//! Rules for tools that there are not. A deny with a slip of the pen protects nothing, in silence.
//!
//! A server of tools need not run for its tools to be known: their names begin with its own.

use std::collections::BTreeSet;
use std::path::Path;

use piton_core::event::{PermissionRule, ToolSpec};
use piton_mcp::is_tool_of;

use crate::agent::Agent;
use crate::near::near;
use crate::overrides::Overrides;

/// Tools that every conversation can have.
const OWN: [&str; 18] = [
    "apply_patch",
    "ask_user",
    "delegate",
    "edit_file",
    "glob",
    "grep",
    "list_dir",
    "read_file",
    "read_output",
    "recall",
    "shell",
    "shell_stop",
    "shell_wait",
    "shell_write",
    "skill",
    "update_plan",
    "web_fetch",
    "write_file",
];

/// A rule for a tool that there is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// The rule.
    pub rule: PermissionRule,
    /// The tool that may be meant.
    pub near: Option<String>,
}

/// What is known of tools in a workspace.
#[derive(Debug)]
pub struct Strangers {
    tools: BTreeSet<String>,
    servers: Vec<String>,
}

impl Strangers {
    /// Looks at the settings and at the workspace. Starts nothing.
    pub fn new(agent: &Agent, workspace: &Path) -> Self {
        let found = agent.servers(workspace, &Overrides::default());
        let servers = found.allowed.into_iter().chain(found.held).map(|server| server.name);
        let own = OWN.iter().map(ToString::to_string);
        let written = agent.tools.iter().map(|(tool, _)| tool.name.clone());
        Self { tools: own.chain(written).collect(), servers: servers.collect() }
    }

    /// A conversation may have more.
    #[must_use]
    pub fn with(mut self, tools: &[ToolSpec]) -> Self {
        self.tools.extend(tools.iter().map(|tool| tool.name.clone()));
        self
    }

    /// The rules that say nothing.
    pub fn among(&self, rules: &[PermissionRule]) -> Vec<Stranger> {
        let strange = rules.iter().filter(|rule| !self.knows(&rule.tool));
        let meant =
            |tool: &str| near(tool, self.tools.iter().map(String::as_str)).into_iter().next();
        let stranger =
            |rule: &PermissionRule| Stranger { rule: rule.clone(), near: meant(&rule.tool) };
        strange.map(stranger).collect()
    }

    fn knows(&self, tool: &str) -> bool {
        let served = || self.servers.iter().any(|server| is_tool_of(server, tool));
        tool == "*" || self.tools.contains(tool) || served()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use piton_core::event::RuleEffect;
    use piton_tools::Toolbox;
    use piton_tools::supervise::Supervisor;

    use super::*;

    fn strangers() -> Strangers {
        let tools = OWN.iter().map(ToString::to_string).chain(["deploy".to_owned()]).collect();
        Strangers { tools, servers: vec!["files".into(), "x.y".into()] }
    }

    fn found(tool: &str) -> Option<Stranger> {
        strangers().among(&[PermissionRule::of_tool(tool, RuleEffect::Deny)]).pop()
    }

    #[test]
    fn a_rule_for_no_tool_is_found_with_what_may_be_meant() {
        for (tool, near) in [
            ("shel", "shell"),
            ("Shell", "shell"),
            ("readfile", "read_file"),
            ("gerp", "grep"),
            ("deployy", "deploy"),
        ] {
            let found = found(tool).unwrap();
            assert_eq!((found.rule.tool.as_str(), found.near.as_deref()), (tool, Some(near)));
        }
        assert_eq!(found("other__read").unwrap().near, None);
        assert!(found("files_read").is_some());
    }

    #[test]
    fn a_tool_that_may_come_is_no_stranger() {
        for tool in ["*", "shell", "deploy", "files__read", "files__anything", "x_y__a_0123"] {
            assert_eq!(found(tool), None, "{tool}");
        }
        assert!(strangers().with(&[]).knows("grep"));
    }

    #[test]
    fn all_tools_of_ours_are_known() {
        let supervisor = Supervisor::new("/no".into(), "/no".into(), Vec::new());
        for spec in Toolbox::supervised(Arc::new(supervisor)).specs() {
            assert!(OWN.contains(&spec.name.as_str()), "{}", spec.name);
        }
    }
}
