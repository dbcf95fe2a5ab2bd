//! Sends a command to its conversation, and says what became of it.

use std::path::Path;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use piton::chance::{Chance as _, SystemChance};
use piton::id::CommandId;
use piton::{Accepted, Command, Conversation, Envelope, Sender};
use piton_agent::Overrides;
use serde::Serialize;
use utoipa::ToSchema;

use super::input::no_model;
use crate::access::Who;
use crate::fault::{Fault, Kind};
use crate::limits::NAME_LETTERS_MAX;
use crate::shared::Shared;
use crate::titles;

/// What became of a command. It is durable.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Receipt {
    /// The command. Sending it again under this name gives the same receipt.
    pub(crate) command: String,
    /// Whether it was taken, or waits for the process that works on the conversation.
    pub(crate) verdict: Word,
    /// The entry that says so. What the command caused stands behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) entry: Option<u64>,
    /// The letter that waits for another process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) letter: Option<String>,
}

/// What became of a command, in a word. A refused one is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// It is recorded, and what it sets going goes on.
    Taken,
    /// It lies beside the journal; the process that works on the conversation takes it or refuses it.
    Pending,
}

impl Receipt {
    /// The receipt of a command that was accepted.
    pub(crate) fn of(accepted: Accepted) -> Result<Self, Fault> {
        if let Some(refusal) = accepted.refusal() {
            return Err(Fault::refused(refusal));
        }
        let command = accepted.command().to_string();
        Ok(match accepted {
            Accepted::Letter { letter, .. } => {
                Self { command, verdict: Word::Pending, entry: None, letter: Some(letter) }
            }
            Accepted::Entry(receipt) => {
                let entry = Some(receipt.seq.0);
                Self { command, verdict: Word::Taken, entry, letter: None }
            }
            _ => Self { command, verdict: Word::Taken, entry: None, letter: None },
        })
    }
}

impl IntoResponse for Receipt {
    fn into_response(self) -> Response {
        let status = match self.verdict {
            Word::Taken => StatusCode::OK,
            Word::Pending => StatusCode::ACCEPTED,
        };
        (status, Json(self)).into_response()
    }
}

/// How a command may be called, as a pattern.
pub(crate) const COMMAND_NAME: &str = "^[A-Za-z0-9_.:-]{1,120}$";

/// A command of somebody, under the name that a client gave it, or a new one.
pub(crate) fn envelope(who: &Who, name: Option<&str>, command: Command) -> Result<Envelope, Fault> {
    let id = match name {
        None => CommandId::from_chance(SystemChance.next()),
        Some(name) => command_name(name)?,
    };
    let from = Sender { who: Some(who.name.clone()), ..Sender::default() };
    Ok(Envelope { id, from, command })
}

/// The same, with what counts for this command only.
pub(crate) fn with_overrides(mut envelope: Envelope, overrides: &Overrides) -> Envelope {
    if *overrides != Overrides::default() {
        envelope.from.flags = serde_json::to_string(overrides).ok();
    }
    envelope
}

/// A name that a client made up: it is kept in the journal and in letters.
pub(crate) fn command_name(name: &str) -> Result<CommandId, Fault> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if name.is_empty() || NAME_LETTERS_MAX < name.len() || !name.chars().all(is_letter) {
        let message = format!(
            "a command's name has letters, digits and - _ . : only, and at most {NAME_LETTERS_MAX}"
        );
        return Err(Fault::bad(message));
    }
    Ok(CommandId::new(name))
}

/// Sends a command of somebody to a conversation that this server may work on.
pub(crate) async fn order(
    shared: &Shared,
    (id, who): (&str, &Who),
    name: Option<&str>,
    command: Command,
) -> Result<Receipt, Fault> {
    let id = shared.writable(id).await?;
    let envelope = envelope(who, name, command)?;
    post(shared, &shared.engine().conversation(&id), envelope).await
}

/// Sends it. Durable when this returns.
pub(crate) async fn post(
    shared: &Shared,
    conversation: &Conversation,
    envelope: Envelope,
) -> Result<Receipt, Fault> {
    vet(shared, &envelope)?;
    let says = matches!(envelope.command, Command::Say { .. });
    let receipt = Receipt::of(conversation.post(envelope).await?)?;
    shared.counts.commands.fetch_add(1, Ordering::Relaxed);
    if says && receipt.verdict == Word::Taken {
        titles::ask_beside(shared, conversation.id());
    }
    Ok(receipt)
}

/// What can be known before a command is sent: it must not lead this server into a directory that was not
/// opened, and the model that it names can be asked. A command that is refused later may have interrupted
/// the running turn by then.
pub(crate) fn vet(shared: &Shared, envelope: &Envelope) -> Result<(), Fault> {
    let opened = &shared.parts.opened;
    if let Command::Rebind { workspace } = &envelope.command {
        opened.check(Path::new(workspace))?;
    }
    if let Command::Configure { change } = &envelope.command {
        let permissions = change.permissions.iter();
        for directory in permissions.flat_map(|permissions| &permissions.directories) {
            opened.check(Path::new(directory))?;
        }
    }
    let Some(flags) = &envelope.from.flags else { return Ok(()) };
    let overrides: Overrides = serde_json::from_str(flags)
        .map_err(|error| Fault::new(Kind::Refused, format!("the flags are not known: {error}")))?;
    for directory in &overrides.directories {
        opened.check(Path::new(directory))?;
    }
    if let Some(model) = &overrides.model {
        shared.parts.agent.load_model(model).map_err(|error| no_model(&error))?;
    }
    Ok(())
}
