//! Titles of conversations that are begun over HTTP. As in a terminal, the model is asked once, behind the first
//! turn, and nobody waits for it. A server that is killed meanwhile leaves the first words as the title.

use piton::id::CommandId;
use piton::view::Status;
use piton::{Command, ConversationId, Envelope, Sender};
use piton_agent::Reader;

use crate::fault::{Fault, with_causes};
use crate::shared::Shared;

/// In whose name titles are suggested.
const SERVER: &str = "serve.titles";

/// Has a title found behind the first turn of a conversation, if it has no other turn and that is wanted.
pub(crate) fn ask_beside(shared: &Shared, id: &ConversationId) {
    let (shared, id) = (shared.clone(), id.clone());
    tokio::spawn(async move {
        let stop = shared.stop.clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            found = find(&shared, &id) => if let Err(fault) = found {
                tracing::warn!(conversation = id.as_str(), %fault, "no title was found");
            }
        }
    });
}

async fn find(shared: &Shared, id: &ConversationId) -> Result<(), Fault> {
    let (engine, agent) = (shared.engine(), &shared.parts.agent);
    let view = engine.view(id).await?;
    let model = view.head.model.as_ref();
    let can_ask = model.is_some_and(|model| agent.asks_for_title(model, Reader::Person));
    if !can_ask || 1 < view.turns.len() || !is_over(shared, id).await? {
        return Ok(());
    }
    let view = engine.view(id).await?;
    // A program that nobody watches pays for nothing that it did not ask for.
    let is_watched = shared.hub.page.is_read(id) || shared.hub.api.is_read(id);
    let reader = if is_watched { Reader::Person } else { Reader::Nobody };
    if !agent.wants_title(&view, reader) {
        return Ok(());
    }
    let asked = agent.suggested_title(&view).await;
    let Some(title) = asked.map_err(|error| Fault::bad(with_causes(&error)))? else {
        return Ok(());
    };
    let from = Sender { who: Some(SERVER.into()), ..Sender::default() };
    let name = CommandId::new(format!("title-{id}"));
    let envelope = Envelope { id: name, from, command: Command::SuggestTitle { title } };
    engine.conversation(id).post(envelope).await?;
    Ok(())
}

/// Waits until the first turn is over; whether it is still the only one then.
async fn is_over(shared: &Shared, id: &ConversationId) -> Result<bool, Fault> {
    loop {
        let Some(row) = shared.engine().row(id).await? else { return Ok(false) };
        if 1 < row.turns {
            return Ok(false);
        }
        if row.status == Status::Idle {
            return Ok(row.turns == 1);
        }
        shared.engine().journal().wait_past(id, row.end).await?;
    }
}
