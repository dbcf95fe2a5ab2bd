//! Turns: said, gone on with, stopped, tried again.

use axum::Json;
use axum::extract::{Path, State};
use piton::id::MessageId;
use piton::view::{ItemView, MessageView, Next, TurnView};
use piton::{Command, Conversation, Envelope, View};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::input::{MessageInput, overrides};
use super::receipt::{Receipt, envelope, order, post, with_overrides};
use crate::access::Who;
use crate::body::JsonBody;
use crate::fault::{ErrorBody, Fault, Kind};
use crate::forms::of_core;
use crate::shared::Shared;

/// The messages of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Messages {
    /// What was said, in order.
    messages: Vec<MessageRow>,
}

/// A message, and the turn that it belongs to.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageRow {
    /// The turn.
    turn: u32,
    /// The message, as in a view.
    #[schema(schema_with = of_core::<MessageView>)]
    message: MessageView,
    /// The text of the newest answer in its turn, if it is the last message of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
}

/// Read what was said
#[utoipa::path(
    get,
    path = "/conversations/{id}/messages",
    operation_id = "list_messages",
    tag = "turns",
    params(("id" = String, Path, description = "the conversation")),
    responses(
        (status = 200, description = "all messages that count, in order", body = Messages),
        ErrorBody,
    )
)]
pub(crate) async fn messages(
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Json<Messages>, Fault> {
    let id = shared.known(&id).await?;
    let view = shared.engine().view(&id).await?;
    Ok(Json(Messages { messages: view.shown().flat_map(rows).collect() }))
}

fn rows(turn: &TurnView) -> Vec<MessageRow> {
    let said = turn.items.iter().filter_map(|item| match item {
        ItemView::Message(message) => Some(message.clone()),
        ItemView::Step(_) | _ => None,
    });
    let row = |message| MessageRow { turn: turn.head.id.0, message, answer: None };
    let mut rows: Vec<_> = said.map(row).collect();
    if let Some(last) = rows.last_mut() {
        last.answer = turn.answer();
    }
    rows
}

/// Say something
///
/// Answered when the message is durable; the turn goes on by itself. With `place` it waits for the open
/// turn, or joins it.
#[utoipa::path(
    post,
    path = "/conversations/{id}/messages",
    operation_id = "send_message",
    tag = "turns",
    params(("id" = String, Path, description = "the conversation")),
    request_body = MessageInput,
    responses(Receipt)
)]
pub(crate) async fn say(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    JsonBody(input): JsonBody<MessageInput>,
) -> Result<Receipt, Fault> {
    let (conversation, envelope) = said(&shared, (&id, &who), &input).await?;
    post(&shared, &conversation, envelope).await
}

/// The conversation that is spoken to, and what is said to it.
pub(super) async fn said(
    shared: &Shared,
    (id, who): (&str, &Who),
    input: &MessageInput,
) -> Result<(Conversation, Envelope), Fault> {
    let id = shared.writable(id).await?;
    let conversation = shared.engine().conversation(&id);
    let command = input.command(shared, &conversation).await?;
    let envelope = envelope(who, input.id.as_deref(), command)?;
    let overrides = overrides(shared, input.model.as_deref())?;
    Ok((conversation, with_overrides(envelope, &overrides)))
}

/// What can be done with the open turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verb {
    /// It goes on. Without an open turn, waiting messages begin.
    Continue,
    /// It is broken off, and can be continued.
    Interrupt,
    /// It is closed, and what is there is kept.
    Stop,
    /// It is closed, and hidden.
    Discard,
}

impl From<Verb> for Command {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Continue => Self::Resume,
            Verb::Interrupt => Self::Interrupt,
            Verb::Stop => Self::Stop,
            Verb::Discard => Self::Discard,
        }
    }
}

/// A command without anything beside its name.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Plain {
    /// The name of the command, chosen by the client: sending it twice is sending it once.
    #[schema(pattern = "^[A-Za-z0-9_.:-]{1,120}$")]
    id: Option<String>,
}

/// Continue, interrupt, stop or discard the open turn
#[utoipa::path(
    post,
    path = "/conversations/{id}/{verb}",
    operation_id = "act_on_turn",
    tag = "turns",
    params(
        ("id" = String, Path, description = "the conversation"),
        ("verb" = inline(Verb), Path, description = "what becomes of the turn"),
    ),
    request_body = Option<Plain>,
    responses(Receipt)
)]
pub(crate) async fn act(
    State(shared): State<Shared>,
    Path((id, verb)): Path<(String, String)>,
    who: Who,
    JsonBody(input): JsonBody<Plain>,
) -> Result<Receipt, Fault> {
    let verb: Verb = serde_json::from_value(verb.into())
        .map_err(|_| Fault::new(Kind::UnknownPath, "there is nothing under this path"))?;
    order(&shared, (&id, &who), input.id.as_deref(), verb.into()).await
}

/// What is tried again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetryInput {
    /// The name of the command, chosen by the client: sending it twice is sending it once.
    #[schema(pattern = "^[A-Za-z0-9_.:-]{1,120}$")]
    id: Option<String>,
    /// The message; else the newest one.
    message: Option<String>,
    /// Who answers from now on, as in `provider/model`.
    model: Option<String>,
}

/// Try a message again, with another model if one is named
///
/// One operation: the other model counts with the new try, or neither does. The old attempt is kept.
#[utoipa::path(
    post,
    path = "/conversations/{id}/retry",
    operation_id = "retry_message",
    tag = "turns",
    params(("id" = String, Path, description = "the conversation")),
    request_body = Option<RetryInput>,
    responses(Receipt)
)]
pub(crate) async fn retry(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    JsonBody(input): JsonBody<RetryInput>,
) -> Result<Receipt, Fault> {
    let id = shared.writable(&id).await?;
    let conversation = shared.engine().conversation(&id);
    let message = match &input.message {
        Some(message) => MessageId::new(message.clone()),
        None => newest(&shared, &conversation).await?,
    };
    let command = Command::Retry { message };
    let envelope = envelope(&who, input.id.as_deref(), command)?;
    let overrides = overrides(&shared, input.model.as_deref())?;
    post(&shared, &conversation, with_overrides(envelope, &overrides)).await
}

/// The message that can be tried again.
async fn newest(shared: &Shared, conversation: &Conversation) -> Result<MessageId, Fault> {
    let view: View = shared.engine().view(conversation.id()).await?;
    for next in view.head.next {
        if let Next::Retry { message } = next {
            return Ok(message);
        }
    }
    Err(Fault::new(Kind::Refused, "no message can be tried again"))
}
