//! Which MCP servers there are for a workspace, and which of them may be started.

mod file;
mod words;

use std::path::Path;

use piton_mcp::{
    Expand, Launch, Origin, PROJECT_FILE, Place, Project, ProjectFault, ServerSettings,
};
use piton_tools::sandbox::{Confinement, Rules};

pub use self::file::{add_server, remove_server};
pub use self::words::CodeInWords;
use self::words::{as_written, code_in};
use crate::agent::Agent;
use crate::overrides::Overrides;
use crate::providers;
use crate::trust::{Exact, Reading, ServersRun, Trust, TrustFault};

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
    /// Nobody has approved the project's file, or what its servers are made of, as it is now.
    Untrusted {
        /// The servers that it names.
        servers: Vec<String>,
    },
    /// What is trusted cannot be read.
    Trust(TrustFault),
}

impl Agent {
    /// Looks for servers in the settings and in the workspace. Starts nothing.
    pub fn servers(&self, workspace: &Path, overrides: &Overrides) -> FoundServers {
        let allowed = self.own_servers(overrides);
        let mut found = FoundServers { allowed, ..FoundServers::default() };
        let project = match Project::read(workspace) {
            Ok(Some(project)) if !project.is_empty() => project,
            Ok(_) => return found,
            Err(fault) => {
                found.notices.push(ServerNotice::Project(fault));
                return found;
            }
        };
        let trust = self.settings.trust_in(workspace);
        let mut servers = self.project_servers(&project);
        let is_free = trust.as_ref().is_ok_and(|trust| trust.servers == ServersRun::Unconfined);
        let with_code = self.code_in_words(&project);
        for server in &mut servers {
            // Nobody can tell which files code in a word runs, whatever was approved earlier.
            if !is_free || with_code.iter().any(|code| code.server == server.name) {
                // What commands see of the environment is more than a server gets.
                let rules = self.sandbox_rules(overrides);
                server.rules = Some(Rules { env: Vec::new(), ..rules });
            }
        }
        // The user's own word counts.
        servers.retain(|server| !found.allowed.iter().any(|own| own.name == server.name));
        match trust {
            Ok(trust) if self.is_approved(workspace, &project, &trust) => {
                found.allowed.extend(servers);
            }
            Ok(_) => {
                let names: Vec<_> = servers.iter().map(|server| server.name.clone()).collect();
                if !names.is_empty() {
                    found.notices.push(ServerNotice::Untrusted { servers: names });
                }
                found.held = servers;
            }
            Err(fault) => {
                found.notices.push(ServerNotice::Trust(fault));
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

    /// The servers of a project whose words do not tell which files they run. None of them runs outside the sandbox.
    pub fn code_in_words(&self, project: &Project) -> Vec<CodeInWords> {
        let look = |name: &str| self.settings.environment.text(name);
        let servers = as_written(project, &look).into_iter();
        // The user's own word counts.
        let servers = servers.filter(|server| !self.mcp.contains_key(&server.name));
        servers.filter_map(|server| code_in(&server)).collect()
    }

    /// Where servers of a workspace work. What is known of their tools decides who is asked before a
    /// call, so it is kept where no tool can write.
    pub fn server_place(&self, workspace: &Path) -> Place {
        let lists = self.settings.home.join("mcp-tools");
        Place { workspace: workspace.to_owned(), lists, calls: self.settings.calls(), http }
    }

    fn own_servers(&self, overrides: &Overrides) -> Vec<ServerSettings> {
        let look = |name: &str| self.settings.environment.text(name);
        let expand = Expand::new(&look, &[]);
        let settled = self.mcp.iter().map(|(name, written)| {
            let mut server = written.settle(name, Origin::Settings, &expand);
            match self.rules_of(&written.sandbox, overrides) {
                Ok(rules) => {
                    let env = match &written.sandbox {
                        Confinement::With(more) => more.env.clone(),
                        Confinement::No | Confinement::Yes => Vec::new(),
                    };
                    server.rules = rules.map(|rules| Rules { env, ..rules });
                }
                Err(fault) => server.launch = Err(format!("sandbox: {fault}")),
            }
            server
        });
        settled.collect()
    }

    /// The files whose bytes are approved before servers of a project start: the one that names them, then those
    /// of the workspace that each of them is started from.
    pub(crate) fn exact_of_servers(
        &self,
        workspace: &Path,
        project: &Project,
        reading: &mut Reading,
    ) -> Vec<Exact> {
        let mut exact = vec![of_project(project)];
        let servers = self.project_servers(project);
        for made in servers.iter().flat_map(|server| made_of(server, workspace, reading)) {
            if !exact.contains(&made) {
                exact.push(made);
            }
        }
        exact
    }

    fn is_approved(&self, workspace: &Path, project: &Project, trust: &Trust) -> bool {
        // Nothing else is read for a file that nobody has approved.
        trust.holds(&of_project(project))
            && self
                .exact_of_servers(workspace, project, &mut Reading::new())
                .iter()
                .all(|exact| trust.holds(exact))
    }
}

fn of_project(project: &Project) -> Exact {
    Exact { path: PROJECT_FILE.to_owned(), digest: Some(project.digest.clone()) }
}

/// The files of the workspace that a server is started from, as far as its words name them.
fn made_of(server: &ServerSettings, workspace: &Path, reading: &mut Reading) -> Vec<Exact> {
    let Ok(Launch::Program { command, args, env, cwd }) = &server.launch else { return Vec::new() };
    if !server.enabled {
        return Vec::new();
    }
    let from = cwd.as_ref().map_or_else(|| workspace.to_owned(), |cwd| workspace.join(cwd));
    // A name without a stroke is looked for where the server's own path says.
    let path = env.get("PATH").filter(|_| !command.contains('/'));
    let places = path.into_iter().flat_map(|path| std::env::split_paths(path));
    let found: Vec<String> =
        places.map(|place| place.join(command).to_string_lossy().into_owned()).collect();
    let values = env.values().flat_map(|value| value.split_whitespace());
    let is_path = command.contains('/').then_some(command);
    let words = is_path.into_iter().chain(args).chain(&found).map(String::as_str).chain(values);
    reading.named(words, &from, workspace)
}

fn http() -> Result<reqwest::Client, String> {
    providers::client().map_err(|fault| fault.to_string())
}
