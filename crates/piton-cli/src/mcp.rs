//! Which MCP servers there are for a workspace, and which of them may be started.

use std::path::{Path, PathBuf};

use piton_mcp::{
    Approvals, Expand, Origin, PROJECT_FILE, Place, Project, ServerSettings, TrustFault,
};

use crate::models::{Shelf, environment};
use crate::providers;
use crate::settings::Settings;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Servers that may be started.
    pub(crate) allowed: Vec<ServerSettings>,
    /// Servers of the project that nobody has approved.
    pub(crate) held: Vec<ServerSettings>,
    /// What a person should hear, a line each. None of it stops a turn.
    pub(crate) notes: Vec<String>,
}

/// Looks at the settings and at the workspace. Starts nothing.
pub(crate) fn find(shelf: &Shelf, settings: &Settings, workspace: &Path) -> Found {
    let expand = Expand::new(&environment, &[]);
    let own = shelf.mcp.iter().map(|(name, it)| it.settle(name, Origin::Settings, &expand));
    let mut found = Found { allowed: own.collect(), ..Found::default() };
    let project = match Project::read(workspace) {
        Ok(Some(project)) if !project.is_empty() => project,
        Ok(_) => return found,
        Err(fault) => {
            found.notes.push(format!("mcp: {}; going on without it", crate::report::chain(&fault)));
            return found;
        }
    };
    // Whoever wrote the workspace does not get our keys by naming them.
    let hidden = shelf.key_variables();
    let mut servers = project.servers(&Expand::new(&environment, &hidden));
    // The user's own word counts.
    servers.retain(|server| !found.allowed.iter().any(|own| own.name == server.name));
    match is_approved(settings, workspace, &project) {
        Ok(true) => found.allowed.extend(servers),
        Ok(false) => {
            let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
            if !names.is_empty() {
                found.notes.push(format!(
                    "mcp: {PROJECT_FILE} of this workspace is not trusted; going on without {}. \
                     Look at it, then: piton mcp trust",
                    names.join(", ")
                ));
            }
            found.held = servers;
        }
        Err(fault) => {
            let why = crate::report::chain(&fault);
            found.notes.push(format!("mcp: {PROJECT_FILE} is not used: {why}"));
            found.held = servers;
        }
    }
    found
}

fn is_approved(
    settings: &Settings,
    workspace: &Path,
    project: &Project,
) -> Result<bool, TrustFault> {
    let approvals = settings.config().map(Approvals::read).transpose()?;
    Ok(approvals.is_some_and(|approvals| approvals.has(workspace, &project.digest)))
}

/// Where servers of a workspace work.
pub(crate) fn place(settings: &Settings, workspace: &Path) -> Place {
    let cache = settings.cache.as_ref().map(|cache: &PathBuf| cache.join("mcp"));
    Place { workspace: workspace.to_owned(), cache, http }
}

fn http() -> Result<reqwest::Client, String> {
    providers::client().map_err(|fault| fault.to_string())
}
