//! `piton stop`: interrupts the turn that another process performs.

use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::{Conversation, Engine, Envelope, Verdict};
use piton_agent::{Settings, engine_to_write};
use piton_core::id::{CommandId, ConversationId};
use piton_store::Holder;
use tokio::time::Instant;

use crate::flags::Stop;
use crate::output::Output;
use crate::report::{Fault, LetterFault, Report};
use crate::target;

/// How often to look whether the turn has stopped, or the process gone.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How it stands with the turn.
enum Standing {
    /// The process has not looked.
    NotTaken,
    /// The process stops its turn.
    Stopping,
    /// The turn has stopped.
    Stopped,
    /// No turn was running.
    NoTurn,
    /// The process has left.
    Left,
}

/// Stops it.
pub(crate) async fn run(
    stop: &Stop,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let typed = stop.id.as_deref().or(stop.id_flag.as_deref());
    let (journal, id) = target::find(typed, settings, output).await?;
    let engine = engine_to_write(journal, settings)?;
    let Some(holder) = holder(&engine, &id).await? else {
        return Ok(Report::nothing(&format!(
            "No process works on conversation {id}: there is nothing to stop."
        )));
    };
    let name = CommandId::from_chance(SystemChance.next());
    let conversation = engine.conversation(&id);
    let interrupt = Envelope::new(name.clone(), piton::Command::Interrupt);
    let letter = conversation.leave(&interrupt).await.map_err(LetterFault::from)?;
    // Longer than anybody waits; a clock has an end.
    let deadline = Instant::now() + Duration::from_secs(stop.wait.min(u32::MAX.into()));
    let pid = holder.pid;
    loop {
        match standing(&engine, &conversation, &name).await? {
            Standing::Stopped => {
                output.talk(&format!("Process {pid} has stopped the turn of conversation {id}."));
                output.talk(&format!("hint: to go on: piton query --continue --id {id}"));
                return Ok(Report::ok("done"));
            }
            Standing::NoTurn => {
                return Ok(Report::nothing(&format!(
                    "Process {pid} holds conversation {id}, but no turn is running."
                )));
            }
            Standing::Left => {
                // It must not stop a later turn.
                conversation.withdraw(&letter).await.map_err(LetterFault::from)?;
                return Ok(Report::nothing(&format!(
                    "Process {pid} has left conversation {id} by itself."
                )));
            }
            Standing::NotTaken if deadline <= Instant::now() => {
                conversation.withdraw(&letter).await.map_err(LetterFault::from)?;
                // It may have been taken while it was withdrawn.
                if let Standing::NotTaken = standing(&engine, &conversation, &name).await? {
                    return Err(LetterFault::NotStopped { holder: Some(holder) }.into());
                }
            }
            Standing::Stopping if deadline <= Instant::now() => {
                output.talk(&format!("Process {pid} has been told, and is still stopping."));
                return Ok(Report::ok("done"));
            }
            Standing::NotTaken | Standing::Stopping => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

async fn standing(
    engine: &Engine,
    conversation: &Conversation,
    name: &CommandId,
) -> Result<Standing, Fault> {
    // First this: a process that has left has recorded before.
    let held = holder(engine, conversation.id()).await?.is_some();
    let verdict = conversation.verdict(name).await.map_err(LetterFault::from)?;
    Ok(match verdict {
        Some(Verdict::Refused(_)) => Standing::NoTurn,
        None if held => Standing::NotTaken,
        None => Standing::Left,
        Some(Verdict::Taken) => {
            let view = engine.view(conversation.id()).await.map_err(LetterFault::from)?;
            let last = view.turns.last();
            let rests = last.is_none_or(|turn| turn.head.halt.is_some() || turn.head.end.is_some());
            if rests || !held { Standing::Stopped } else { Standing::Stopping }
        }
    })
}

/// The process that works on a conversation.
async fn holder(engine: &Engine, id: &ConversationId) -> Result<Option<Holder>, Fault> {
    Ok(engine.journal().status(id).await?.and_then(|listed| listed.holder))
}
