//! The tools of a conversation, in one list with a stable order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use piton::profile::Moment;
use piton::{ToolPlace, Toolbox, Tools, ToolsError};
use piton_mcp::{Freshness, Offer, ServerSettings, Servers};
use piton_tools::{AskUser, CommandDefinition, Tool, UpdatePlan};

use crate::agent::Agent;
use crate::commands::Commands;
use crate::mcp::{FoundServers, ServerNotice};
use crate::offers::Brought;
use crate::overrides::Overrides;
use crate::web::WebFetch;

/// The tools of all conversations: our own, those of the settings, and those of the servers of each
/// workspace. The servers of a workspace run until they are closed, or no longer wanted.
#[derive(Debug)]
pub struct AgentTools {
    agent: Arc<Agent>,
    /// What was typed of the sandbox.
    overrides: Overrides,
    local: Vec<Arc<dyn Tool>>,
    // A lock, because tools are looked for from any task. It is never held while a server is asked.
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// What came with models, such as a script.
    brought: Toolbox,
    /// The servers of each workspace, with the settings that they were made of.
    workspaces: BTreeMap<PathBuf, (Vec<ServerSettings>, Arc<Servers>)>,
    /// What was told of each workspace that is not trusted, so that it is told once.
    told: BTreeMap<PathBuf, String>,
    notes: Vec<ToolNote>,
}

/// What a person should hear of tools that are left out. None of it stops a turn.
#[derive(Debug)]
pub enum ToolNote {
    /// Of servers that are not used.
    Server(ServerNotice),
    /// Of servers that were asked.
    Text(String),
    /// Of what a workspace brings and nobody has trusted: in words, kind by kind.
    Untrusted(Vec<String>),
}

impl AgentTools {
    /// The tools of an agent whose commands are run like this.
    pub fn new(agent: Arc<Agent>, commands: &Commands, overrides: &Overrides) -> Self {
        let local = agent.local_tools(commands, overrides);
        Self { agent, overrides: overrides.clone(), local, kept: Mutex::default() }
    }

    /// Adds tools that exist only for a model, such as those of a script.
    pub fn bring(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) {
        self.lock().brought.extend(tools);
    }

    /// What a person should hear, and has not heard yet.
    pub fn take_notes(&self) -> Vec<ToolNote> {
        std::mem::take(&mut self.lock().notes)
    }

    /// Ends all servers.
    pub async fn close(&self) {
        let workspaces = std::mem::take(&mut self.lock().workspaces);
        for (_, servers) in workspaces.into_values() {
            servers.close().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // What is kept is whole between any two statements that change it.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The servers of a workspace as they are wanted now, and those that are wanted no more.
    fn servers(&self, workspace: &Path) -> (Arc<Servers>, Option<Arc<Servers>>) {
        let FoundServers { allowed, notices, .. } = self.agent.servers(workspace, &self.overrides);
        let mut kept = self.lock();
        if let Some((settings, servers)) = kept.workspaces.get(workspace)
            && *settings == allowed
        {
            return (servers.clone(), None);
        }
        // What is not trusted is told together with all else that a workspace brings.
        let notices =
            notices.into_iter().filter(|it| !matches!(it, ServerNotice::Untrusted { .. }));
        kept.notes.extend(notices.map(ToolNote::Server));
        let place = self.agent.server_place(workspace);
        let servers = Arc::new(Servers::new(allowed.clone(), place));
        let replaced = kept.workspaces.insert(workspace.to_owned(), (allowed, servers.clone()));
        (servers, replaced.map(|(_, servers)| servers))
    }
}

impl AgentTools {
    /// Tells of what a workspace brings and does not count, unless a person was told or decided already.
    fn tell_untrusted(&self, workspace: &Path) {
        let brought = self.agent.brings(workspace);
        if brought.is_settled() {
            return;
        }
        let about = brought.about();
        let mut kept = self.lock();
        if kept.told.get(workspace) != Some(&about) {
            kept.notes.push(ToolNote::Untrusted(Brought::in_words(brought.not_counting())));
            kept.told.insert(workspace.to_owned(), about);
        }
    }
}

#[async_trait]
impl Tools for AgentTools {
    async fn find(&self, place: ToolPlace<'_>) -> Result<Arc<Toolbox>, ToolsError> {
        if place.moment == Moment::TurnBegins {
            self.tell_untrusted(place.workspace);
        }
        let (servers, unwanted) = self.servers(place.workspace);
        if let Some(unwanted) = unwanted {
            unwanted.close().await;
        }
        let (freshness, skills) = match place.moment {
            Moment::TurnBegins => (Freshness::Fresh, self.agent.find_skills(place.workspace)),
            Moment::DriverStarts => (Freshness::Kept, self.agent.kept_skills(place.workspace)),
        };
        let skill = skills.tool().map(|tool| -> Arc<dyn Tool> { Arc::new(tool) });
        let Offer { tools, notes } = servers.tools(freshness).await;
        let mut kept = self.lock();
        kept.notes.extend(notes.into_iter().map(ToolNote::Text));
        let brought = kept.brought.iter();
        let all = self.local.iter().chain(&skill).chain(brought).chain(&tools).cloned();
        Ok(Arc::new(all.collect()))
    }
}

impl Agent {
    /// The tools that need no server: our own, then those of the settings by name.
    pub fn local_tools(&self, commands: &Commands, overrides: &Overrides) -> Vec<Arc<dyn Tool>> {
        let written =
            self.tools.iter().filter_map(|(tool, confinement)| -> Option<Arc<dyn Tool>> {
                // What makes no sense was told when the settings were read.
                let rules = self.rules_of(confinement, overrides).ok()?;
                let tool = CommandDefinition { rules, ..tool.clone() };
                match commands {
                    Commands::Supervised(supervisor) => {
                        Some(Arc::new(tool.supervised(supervisor.clone())))
                    }
                    Commands::Plain(hidden, rules) => {
                        Some(Arc::new(tool.plain(hidden.clone(), (**rules).clone())))
                    }
                    Commands::Unused => None,
                }
            });
        let web: Arc<dyn Tool> = Arc::new(WebFetch::new(self.web.clone()));
        own_tools(commands).into_iter().chain([web]).chain(written).collect()
    }
}

/// The tools that piton brings along.
pub(crate) fn own_tools(commands: &Commands) -> Vec<Arc<dyn Tool>> {
    let standard = match commands {
        Commands::Supervised(supervisor) => Toolbox::supervised(supervisor.clone()),
        Commands::Plain(hidden, rules) => Toolbox::plain(hidden.clone(), (**rules).clone()),
        Commands::Unused => Toolbox::standard(),
    };
    let ours: [Arc<dyn Tool>; 2] = [Arc::new(AskUser), Arc::new(UpdatePlan)];
    standard.iter().cloned().chain(ours).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_have_a_stable_order_with_those_of_the_settings_behind_our_own() {
        let tool = |name| format!("[tools.{name}]\ndescription = \"x\"\ncommand = \"x\"\n");
        let agent = Agent::of(&format!("{}{}", tool("b"), tool("a")), &[]);
        let names = || -> Vec<String> {
            let commands = agent.plain_commands(&Overrides::default());
            agent
                .local_tools(&commands, &Overrides::default())
                .iter()
                .map(|tool| tool.spec().name)
                .collect()
        };
        let found = names();
        assert_eq!(found.get(found.len() - 3..).unwrap(), ["web_fetch", "a", "b"]);
        assert_eq!(found, names());
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn conversations_in_one_workspace_share_their_servers_until_others_are_wanted() {
        let text = "[mcp.files]\ncommand = \"no-such-program\"\n";
        let agent = Arc::new(Agent::of(text, &[]));
        let tools = AgentTools::new(agent.clone(), &Commands::Unused, &Overrides::default());
        let (here, there) = (Path::new("/no/here"), Path::new("/no/there"));
        let (first, _) = tools.servers(here);
        let (again, unwanted) = tools.servers(here);
        assert!(Arc::ptr_eq(&first, &again) && unwanted.is_none());
        assert!(!Arc::ptr_eq(&first, &tools.servers(there).0));
        tools.lock().workspaces.entry(here.into()).and_modify(|(settings, _)| settings.clear());
        let (other, unwanted) = tools.servers(here);
        assert!(!Arc::ptr_eq(&first, &other));
        assert!(unwanted.is_some_and(|unwanted| Arc::ptr_eq(&first, &unwanted)));
    }

    #[test]
    fn a_server_that_is_away_is_told_of_once_and_the_other_tools_are_there() {
        let text = "[mcp.files]\ncommand = \"no-such-program\"\n";
        let tools = AgentTools::new(
            Arc::new(Agent::of(text, &[])),
            &Commands::Unused,
            &Overrides::default(),
        );
        let id = piton_core::id::ConversationId::new("c");
        let place = ToolPlace::new(&id, Path::new("/no/workspace"), Moment::TurnBegins);
        let found = runtime().block_on(tools.find(place)).unwrap();
        assert_eq!(found.names().last(), Some("web_fetch"));
        let notes = tools.take_notes();
        assert!(matches!(&*notes, [ToolNote::Text(text)] if text.contains("files")), "{notes:?}");
        assert!(tools.take_notes().is_empty());
        runtime().block_on(tools.close());
        assert!(tools.lock().workspaces.is_empty());
    }

    #[test]
    fn where_nothing_runs_no_tool_of_the_settings_is_there() {
        let text = "[tools.a]\ndescription = \"x\"\ncommand = \"x\"\n";
        let tools = Agent::of(text, &[]).local_tools(&Commands::Unused, &Overrides::default());
        assert!(!tools.iter().any(|tool| tool.spec().name == "a"));
    }
}
