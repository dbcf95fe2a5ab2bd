//! Which MCP servers there are for a workspace, and which of them may be started.

mod file;

use std::path::Path;

use piton_mcp::{
    Approvals, Expand, Origin, Place, Project, ProjectFault, ServerSettings, TrustFault,
};

pub use self::file::{add_server, remove_server};
use crate::agent::Agent;
use crate::providers;

/// The servers of a workspace.
#[derive(Debug, Default)]
pub struct FoundServers {
    /// Servers that may be started.
    pub allowed: Vec<ServerSettings>,
    /// Servers of the project that nobody has approved.
    pub held: Vec<ServerSettings>,
    /// What a person should hear. None of it stops a turn.
    pub notices: Vec<ServerNotice>,
}

/// Why servers of a project are not used.
#[derive(Debug)]
pub enum ServerNotice {
    /// The project's file cannot be used.
    Project(ProjectFault),
    /// Nobody has approved the project's file as it is now.
    Untrusted {
        /// The servers that it names.
        servers: Vec<String>,
    },
    /// What was approved cannot be read.
    Approvals(TrustFault),
}

impl Agent {
    /// Looks for servers in the settings and in the workspace. Starts nothing.
    pub fn servers(&self, workspace: &Path) -> FoundServers {
        let mut found = FoundServers { allowed: self.own_servers(), ..FoundServers::default() };
        let project = match Project::read(workspace) {
            Ok(Some(project)) if !project.is_empty() => project,
            Ok(_) => return found,
            Err(fault) => {
                found.notices.push(ServerNotice::Project(fault));
                return found;
            }
        };
        let mut servers = self.project_servers(&project);
        // The user's own word counts.
        servers.retain(|server| !found.allowed.iter().any(|own| own.name == server.name));
        match self.is_approved(workspace, &project) {
            Ok(true) => found.allowed.extend(servers),
            Ok(false) => {
                let names: Vec<_> = servers.iter().map(|server| server.name.clone()).collect();
                if !names.is_empty() {
                    found.notices.push(ServerNotice::Untrusted { servers: names });
                }
                found.held = servers;
            }
            Err(fault) => {
                found.notices.push(ServerNotice::Approvals(fault));
                found.held = servers;
            }
        }
        found
    }

    /// What the servers of a project's file would be. The author of a workspace does not get our keys
    /// by naming their variables.
    pub fn project_servers(&self, project: &Project) -> Vec<ServerSettings> {
        let look = |name: &str| self.settings.environment.text(name);
        project.servers(&Expand::new(&look, &self.key_variables()))
    }

    /// Where servers of a workspace work. What is known of their tools decides who is asked before a
    /// call, so it is kept where no tool can write.
    pub fn server_place(&self, workspace: &Path) -> Place {
        let lists = self.settings.home.join("mcp-tools");
        Place { workspace: workspace.to_owned(), lists, http }
    }

    fn own_servers(&self) -> Vec<ServerSettings> {
        let look = |name: &str| self.settings.environment.text(name);
        let expand = Expand::new(&look, &[]);
        let servers = self.mcp.iter();
        servers.map(|(name, it)| it.settle(name, Origin::Settings, &expand)).collect()
    }

    fn is_approved(&self, workspace: &Path, project: &Project) -> Result<bool, TrustFault> {
        let approvals = self.settings.config().map(Approvals::read).transpose()?;
        Ok(approvals.is_some_and(|approvals| approvals.has(workspace, &project.digest)))
    }
}

fn http() -> Result<reqwest::Client, String> {
    providers::client().map_err(|fault| fault.to_string())
}
