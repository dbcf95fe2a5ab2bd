//! Any command, as `docs/commands.md` describes it.

use axum::extract::{Path, State};
use piton::{Envelope, Refusal};
use piton_core::command::Opened;

use super::receipt::{Receipt, command_name, post};
use crate::access::Who;
use crate::body::JsonText;
use crate::fault::Fault;
use crate::shared::Shared;

/// Send any command
///
/// The body is an envelope: `{"v":1,"id":"c1","from":{},"command":{"kind":"resume"}}`. A command that is
/// sent twice under one name is one command, and gives the same receipt.
#[utoipa::path(
    post,
    path = "/conversations/{id}/commands",
    operation_id = "send_command",
    tag = "commands",
    params(("id" = String, Path, description = "the conversation")),
    request_body(content = ref("#/components/schemas/Envelope"), description = "an envelope"),
    responses(Receipt)
)]
pub(crate) async fn send(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    JsonText(text): JsonText,
) -> Result<Receipt, Fault> {
    let id = shared.writable(&id).await?;
    let mut envelope = match Envelope::from_text(&text) {
        Ok(Opened::Command(envelope)) => *envelope,
        Ok(Opened::Unknown { kind, .. }) => {
            return Err(Fault::refused(&Refusal::UnknownCommand { kind }));
        }
        Err(error) => {
            let hint = "piton help commands describes them";
            return Err(Fault::bad(error.to_string()).hint(hint));
        }
    };
    command_name(envelope.id.as_str())?;
    envelope.from.who = Some(who.name);
    post(&shared, &shared.engine().conversation(&id), envelope).await
}
