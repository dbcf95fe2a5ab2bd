//! `piton archive`: puts conversations away, or brings them back. Nothing of them is lost.

use std::time::Duration;

use piton::{Accepted, Shelf};
use piton_agent::{Settings, engine_to_write};
use piton_core::id::ConversationId;

use crate::flags::Archive;
use crate::output::Output;
use crate::render::lines::Line;
use crate::report::{Fault, LetterFault, Report};
use crate::{store, target};

/// Puts them away, or brings them back.
pub(crate) async fn run(
    archive: &Archive,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let journal = store::open(settings, output)?;
    let mut found = Vec::new();
    for typed in &archive.ids {
        found.push(target::to_change(&*journal, typed, settings).await?);
    }
    drop(journal);
    let shelf = if archive.back { Shelf::Listed } else { Shelf::Archived };
    shelve(&found, shelf, (archive.json, settings), output).await
}

/// Keeps conversations elsewhere, and says so.
pub(super) async fn shelve(
    found: &[ConversationId],
    shelf: Shelf,
    (json, settings): (bool, &Settings),
    output: &mut Output,
) -> Result<Report, Fault> {
    let engine = engine_to_write(store::open(settings, output)?, settings)?;
    let mut done = Ok(());
    for id in found {
        let told = match shelf {
            Shelf::Listed => "listed again".to_owned(),
            Shelf::Archived => "archived; to see it: piton ls --archived".to_owned(),
            Shelf::Removed => format!("removed; to bring it back: piton archive --back {id}"),
        };
        match engine.conversation(id).send(piton::Command::Shelve { shelf }).await {
            Ok(Accepted::Entry(_)) => output.talk(&format!("Conversation {id} is {told}")),
            Ok(Accepted::Letter { .. } | _) => output.talk(&format!(
                "The process that works on conversation {id} was told; then it is {told}"
            )),
            Err(error) => {
                done = Err(LetterFault::from(error).into());
                break;
            }
        }
        if json {
            output.json(&Line::Shelved { conversation: id.as_str(), shelf });
        }
    }
    engine.shutdown(Duration::ZERO).await;
    done.map(|()| Report::ok("done"))
}
