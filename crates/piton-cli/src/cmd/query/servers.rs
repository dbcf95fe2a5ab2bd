//! The tools of MCP servers join a turn.

use std::path::PathBuf;

use piton_agent::WorkspaceTools;
use piton_mcp::Freshness;

use super::open::Opened;
use super::perform::Stage;
use super::{Asked, Errand};
use crate::render::servers;
use crate::report::Fault;

/// Adds the tools of all servers that may be started. What is wrong with them is said, and the turn
/// goes on without.
pub(super) async fn join(
    opened: &mut Opened,
    errand: Errand,
    asked: &Asked<'_>,
    stage: &mut Stage<'_>,
) -> Result<WorkspaceTools, Fault> {
    let state = opened.session.state();
    let workspace = match &state.opened {
        Some(opened) => PathBuf::from(&opened.workspace),
        None => asked.settings.workspace()?.to_owned(),
    };
    let toolbox = asked.agent.workspace_tools(opened.tools.clone(), &workspace);
    for notice in &toolbox.notices {
        stage.output.talk(&servers::notice(notice));
    }
    if !toolbox.has_servers() {
        return Ok(toolbox);
    }
    // Tools of a turn that goes on do not change under it, so what was kept of them will do.
    let freshness = if errand.begins() { Freshness::Now } else { Freshness::Kept };
    let offer = tokio::select! {
        biased;
        _ = stage.signals.next() => return Err(Fault::Interrupted),
        offer = toolbox.tools(freshness) => offer,
    };
    for note in &offer.notes {
        stage.output.talk(note);
    }
    opened.session.work_with(&offer.tools.into_iter().collect());
    Ok(toolbox)
}
