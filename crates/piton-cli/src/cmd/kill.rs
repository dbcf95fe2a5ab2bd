//! `piton kill`: stops a command, with everything it started, from anywhere.

use piton::commands::{Commands, KeptState};
use piton_agent::Settings;

use crate::flags::Kill;
use crate::output::Output;
use crate::report::{CommandFault, Fault, Report};

/// Stops it.
pub(crate) async fn run(
    kill: &Kill,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let commands = Commands::new(settings.calls());
    let kept = commands.find(&kill.command).map_err(CommandFault::from)?;
    let name = Commands::name(&kept);
    if !kept.state.goes_on() {
        output.talk(&format!("{name} is not running any more."));
        return Ok(Report::ok("nothing"));
    }
    match commands
        .stop(&kept)
        .await
        .map_err(|source| CommandFault::Closed { name: name.clone(), source })?
    {
        KeptState::Running | KeptState::LeftRunning(_) => {
            Err(CommandFault::Endless { name }.into())
        }
        KeptState::Ended(_) | KeptState::NeverRan | KeptState::InDoubt => {
            output.talk(&format!("{name} is stopped, with everything it had started."));
            Ok(Report::ok("done"))
        }
    }
}
