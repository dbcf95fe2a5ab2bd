//! `!command`: a command that the person runs. Its output goes along with the next message.

use piton_agent::Settings;

use crate::cmd::query::attach::Attached;
use crate::cmd::query::shell::{Ended, Running, Words};
use crate::cmd::query::stage::Stage;
use crate::report::{Fault, InputFault};

/// Runs a command and shows what it prints. Ctrl-C reaches the command too.
pub(super) async fn run(
    command: &str,
    settings: &Settings,
    stage: &mut Stage<'_>,
) -> Result<Attached, Fault> {
    let started = Running::start(command, Words::default(), settings);
    let mut running = started.map_err(InputFault::Command)?;
    loop {
        tokio::select! {
            biased;
            // The command gets it from the terminal as well, and decides what to do.
            _ = stage.signals.next() => {}
            next = running.next() => match next {
                Some(piece) => stage.output.data(&String::from_utf8_lossy(&piece)),
                None => break,
            },
        }
    }
    let Ended { output, how, .. } = running.ended();
    stage.output.end_line();
    stage.output.talk(&format!("[{how}] goes along with your next message"));
    let text = format!("$ {command}\n{output}\n[{how}]\n");
    Ok(Attached::text("a command of the user".into(), text))
}
