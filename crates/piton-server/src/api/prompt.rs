//! A message whose answer is waited for.

use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::input::MessageInput;
use super::outcome::{CauseView, EndingWord, Outcome, Waiter};
use super::receipt::{Receipt, post, vet};
use super::turns::said;
use crate::access::Who;
use crate::body::JsonBody;
use crate::fault::{ErrorBody, Fault};
use crate::shared::Shared;
use crate::titles;

/// What came of a prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Prompted {
    /// What became of the command.
    #[serde(flatten)]
    receipt: Receipt,
    /// How the turn of this message stands; absent without `wait`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<EndingWord>,
    /// Why the turn is not over, if it is `incomplete` or an `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<CauseView>,
    /// The text of the answer of this turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
}

/// Say something and, with `wait`, have the answer
///
/// Without `wait` it is the same as a message. With `wait` the request is answered when the turn of this
/// message is over, or when the conversation rests before that. The same request sent again has the same
/// answer. A client that leaves while it waits stops nothing.
#[utoipa::path(
    post,
    path = "/conversations/{id}/prompt",
    operation_id = "prompt",
    tag = "turns",
    params(("id" = String, Path, description = "the conversation")),
    request_body = MessageInput,
    responses(
        (status = 200, description = "taken; with wait: what became of the turn", body = Prompted),
        (status = 202, description = "left for the process that works on the conversation", body = Prompted),
        ErrorBody,
    )
)]
pub(crate) async fn prompt(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    JsonBody(input): JsonBody<MessageInput>,
) -> Result<Response, Fault> {
    let (conversation, envelope) = said(&shared, (&id, &who), &input).await?;
    if !input.wait {
        return Ok(post(&shared, &conversation, envelope).await?.into_response());
    }
    vet(&shared, &envelope)?;
    let work = conversation.start(envelope.clone()).await?;
    let receipt = Receipt::of(work.accepted().clone())?;
    shared.counts.commands.fetch_add(1, Ordering::Relaxed);
    titles::ask_beside(&shared, conversation.id());
    let waiter = Waiter::new(&shared, conversation, envelope);
    let Outcome { ending, cause, answer } = waiter.outcome(work).await?;
    Ok(Json(Prompted { receipt, ending: Some(ending), cause, answer }).into_response())
}
