//! Asks once whether a workspace is trusted with what it brings, before the first turn of a person in it.

use piton::clock::{Clock as _, SystemClock};
use piton_agent::Agent;

use super::stage::Stage;
use crate::ask::not_understood;
use crate::cmd::trust::{QUESTION, told};
use crate::report::Fault;

/// Asks a person who is there, if there is something that they have not decided on. Where nobody is, nothing
/// is trusted, and the turn says so.
pub(in crate::cmd) async fn ask(agent: &Agent, stage: &mut Stage<'_>) -> Result<(), Fault> {
    if stage.terminal.is_none() {
        return Ok(());
    }
    let settings = agent.settings();
    let workspace = settings.workspace()?;
    let brought = agent.brings(workspace);
    if brought.is_settled() || brought.fault.is_some() {
        return Ok(());
    }
    stage.output.talk(&told(&brought));
    let mut unclear = String::new();
    let trusts = loop {
        let line = stage.ask(&format!("{unclear}{QUESTION}")).await?;
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => break true,
            "" | "n" | "no" => break false,
            _ => unclear = not_understood("y or n"),
        }
    };
    if trusts {
        agent.trust(workspace, &brought, SystemClock.now().0)?;
        stage.output.talk("It is trusted as it is now. To take that back: piton trust revoke");
    } else {
        settings.decline_trust(workspace, &brought.about())?;
        stage
            .output
            .talk("It is not trusted. You are not asked about this again; later: piton trust");
    }
    Ok(())
}
