//! The tools of a conversation, in one list with a stable order.

use std::path::Path;
use std::sync::Arc;

use piton_mcp::{Freshness, Offer, Servers};
use piton_tools::{AskUser, Registry, Tool};

use crate::agent::Agent;
use crate::commands::Commands;
use crate::mcp::{FoundServers, ServerNotice};

/// The tools for conversations in one workspace. Servers run until it is closed.
#[derive(Debug)]
pub struct Toolbox {
    local: Vec<Arc<dyn Tool>>,
    servers: Servers,
    /// What a person should hear of the servers that are left out.
    pub notices: Vec<ServerNotice>,
}

impl Agent {
    /// The tools that need no server: our own, then those of the settings by name.
    pub fn local_tools(&self, commands: &Commands) -> Vec<Arc<dyn Tool>> {
        let written = self.tools.iter().filter_map(|tool| -> Option<Arc<dyn Tool>> {
            match commands {
                Commands::Supervised(supervisor) => {
                    Some(Arc::new(tool.supervised(supervisor.clone())))
                }
                Commands::Plain(hidden, rules) => {
                    Some(Arc::new(tool.plain(hidden.clone(), rules.clone())))
                }
                Commands::Unused => None,
            }
        });
        own_tools(commands).into_iter().chain(written).collect()
    }

    /// The tools of a workspace: `local` ones, then those of its servers. Starts nothing.
    pub fn toolbox(&self, local: Vec<Arc<dyn Tool>>, workspace: &Path) -> Toolbox {
        let FoundServers { allowed, notices, .. } = self.servers(workspace);
        Toolbox { local, servers: Servers::new(allowed, self.server_place(workspace)), notices }
    }
}

impl Toolbox {
    /// Whether a server has to be asked for some of the tools.
    pub fn has_servers(&self) -> bool {
        !self.servers.is_empty()
    }

    /// All tools: local ones, then those of servers, by server and in each server's order. A server
    /// that is away is told of in the notes, and its tools are those that were kept.
    pub async fn tools(&self, freshness: Freshness) -> Offer {
        let Offer { tools, notes } = self.servers.tools(freshness).await;
        Offer { tools: self.local.iter().cloned().chain(tools).collect(), notes }
    }

    /// Ends the servers.
    pub async fn close(&self) {
        self.servers.close().await;
    }
}

/// The tools that piton brings along.
pub(crate) fn own_tools(commands: &Commands) -> Vec<Arc<dyn Tool>> {
    let registry = match commands {
        Commands::Supervised(supervisor) => Registry::supervised(supervisor.clone()),
        Commands::Plain(hidden, rules) => Registry::plain(hidden.clone(), rules.clone()),
        Commands::Unused => Registry::standard(),
    };
    let specs = registry.specs().into_iter();
    let standard = specs.filter_map(|spec| registry.get(&spec.name).cloned());
    let ask: Arc<dyn Tool> = Arc::new(AskUser);
    standard.chain([ask]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_have_a_stable_order_with_those_of_the_settings_behind_our_own() {
        let tool = |name| format!("[tools.{name}]\ndescription = \"x\"\ncommand = \"x\"\n");
        let agent = Agent::of(&format!("{}{}", tool("b"), tool("a")), &[]);
        let names = || -> Vec<String> {
            let commands = agent.plain_commands(&crate::Overrides::default());
            agent.local_tools(&commands).iter().map(|tool| tool.spec().name).collect()
        };
        let found = names();
        assert_eq!(found.get(found.len() - 3..).unwrap(), ["ask_user", "a", "b"]);
        assert_eq!(found, names());
    }

    #[test]
    fn where_nothing_runs_no_tool_of_the_settings_is_there() {
        let text = "[tools.a]\ndescription = \"x\"\ncommand = \"x\"\n";
        let tools = Agent::of(text, &[]).local_tools(&Commands::Unused);
        assert!(!tools.iter().any(|tool| tool.spec().name == "a"));
    }
}
