//! `piton kill`: stops a command, with everything it started, from anywhere.

use piton_agent::Settings;
use piton_tools::supervise::{KeptState, Shelf, Why};

use super::kept::{find, name};
use crate::flags::Kill;
use crate::output::Output;
use crate::report::{CommandFault, Fault, Report};

/// Stops it.
pub(crate) async fn run(
    kill: &Kill,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let shelf = Shelf::new(settings.calls());
    let kept = find(&shelf, &kill.command)?;
    let name = name(&kept);
    if !kept.state.goes_on() {
        output.talk(&format!("{name} is not running any more."));
        return Ok(Report::ok("nothing"));
    }
    // On a thread: it may take a second for a polite command to clean up.
    let stopping = tokio::task::spawn_blocking(move || shelf.stop(&kept.name, Why::Person));
    let stopped = stopping.await.map_err(|crash| Fault::Runtime(crash.into()))?;
    match stopped.map_err(|source| CommandFault::Closed { name: name.clone(), source })? {
        KeptState::Running | KeptState::LeftRunning(_) => {
            Err(CommandFault::Endless { name }.into())
        }
        KeptState::Ended(_) | KeptState::NeverRan | KeptState::InDoubt => {
            output.talk(&format!("{name} is stopped, with everything it had started."));
            Ok(Report::ok("done"))
        }
    }
}
