//! `piton send`: writes to the input of a command, from anywhere.

use std::io::{self, Read as _};

use piton::commands::Commands;
use piton_agent::Settings;
use piton_tools::supervise::{Delivery, DeliveryState, INPUT_BYTES_MAX, InputText};

use crate::flags::Send;
use crate::output::Output;
use crate::report::{CommandFault, Fault, InputFault, Report};

/// Writes.
pub(crate) async fn run(
    send: &Send,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let commands = Commands::new(settings.calls());
    let kept = commands.find(&send.command).map_err(CommandFault::from)?;
    let name = Commands::name(&kept);
    let input = InputText::of_person(text(send)?, send.eof).map_err(Fault::Runtime)?;
    let length = input.text.len();
    let delivery = commands.write_input(&kept, input).await;
    let delivery =
        delivery.map_err(|source| CommandFault::NotGiven { name: name.clone(), source })?;
    let Delivery { state, taken, .. } = delivery;
    match state {
        DeliveryState::Taken if send.eof => {
            output.talk(&format!("{name} has {length} bytes, and the end of its input."));
        }
        DeliveryState::Taken => output.talk(&format!("{name} has {length} bytes.")),
        DeliveryState::Waiting => output.talk(&format!(
            "{name} does not read: it has {taken} of {length} bytes, and gets the rest when it does."
        )),
        DeliveryState::Closed | DeliveryState::InDoubt => {
            let in_doubt = state == DeliveryState::InDoubt;
            return Err(CommandFault::CutOff { name, taken, length, in_doubt }.into());
        }
    }
    Ok(Report::ok("done"))
}

fn text(send: &Send) -> Result<String, Fault> {
    let Some(text) = &send.text else { return Ok(String::new()) };
    if text != "-" {
        let end = if send.bare { "" } else { "\n" };
        return Ok(format!("{text}{end}"));
    }
    let mut text = String::new();
    // One more than allowed, so that too much is told from just enough.
    io::stdin().take(INPUT_BYTES_MAX + 1).read_to_string(&mut text).map_err(InputFault::Stdin)?;
    Ok(text)
}
