//! Sends a command to a conversation, also to one that another process works on.

use std::sync::Arc;
use std::time::Duration;

use piton::{Accepted, Command};
use piton_agent::{Settings, engine_to_write};
use piton_core::id::ConversationId;
use piton_store::Journal;

use crate::report::{Fault, LetterFault};

/// Sends it; it is durable when this returns.
pub(super) async fn send(
    journal: Arc<dyn Journal>,
    id: &ConversationId,
    command: Command,
    settings: &Settings,
) -> Result<Accepted, Fault> {
    let engine = engine_to_write(journal, settings)?;
    let sent = engine.conversation(id).send(command).await;
    engine.shutdown(Duration::ZERO).await;
    Ok(sent.map_err(LetterFault::from)?)
}
