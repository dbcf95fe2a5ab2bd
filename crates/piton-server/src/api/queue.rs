//! Messages that wait.

use axum::Json;
use axum::extract::{Path, State};
use piton::id::MessageId;
use piton::view::QueuedView;
use piton::{Command, QueueChange, QueuePlace};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::input::{FileInput, parts};
use super::receipt::{Receipt, envelope, order, post};
use crate::access::Who;
use crate::body::JsonBody;
use crate::fault::{ErrorBody, Fault};
use crate::forms::of_core_list;
use crate::shared::Shared;

/// Messages that wait.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Queue {
    /// In the order in which they will run.
    #[schema(schema_with = of_core_list::<QueuedView>)]
    queue: Vec<QueuedView>,
}

/// Read what waits
#[utoipa::path(
    get,
    path = "/conversations/{id}/queue",
    operation_id = "list_queue",
    tag = "queue",
    params(("id" = String, Path, description = "the conversation")),
    responses(
        (status = 200, description = "waiting messages", body = Queue),
        ErrorBody,
    )
)]
pub(crate) async fn list(
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Json<Queue>, Fault> {
    let id = shared.known(&id).await?;
    Ok(Json(Queue { queue: shared.engine().view(&id).await?.queue }))
}

/// One change of a waiting message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum QueueInput {
    /// It says something else.
    Says(SaysInput),
    /// It waits for something else.
    Place(WaitsFor),
    /// It goes right in front of another one that waits.
    Before(String),
    /// It goes behind all others.
    Last(Nothing),
}

/// What a waiting message says.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SaysInput {
    /// The text.
    text: String,
    /// The files.
    #[serde(default)]
    files: Vec<FileInput>,
}

/// An object without fields.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// What a message waits for.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WaitsFor {
    /// For the open turn to complete: then it begins one of its own.
    Next,
    /// For the next request of the open turn.
    Steer,
}

impl From<WaitsFor> for QueuePlace {
    fn from(word: WaitsFor) -> Self {
        match word {
            WaitsFor::Next => Self::Next,
            WaitsFor::Steer => Self::Steer,
        }
    }
}

/// Change a waiting message
///
/// One change a request: `{"says":{"text":…}}`, `{"place":"steer"}`, `{"before":…}` or `{"last":{}}`.
#[utoipa::path(
    patch,
    path = "/conversations/{id}/queue/{message}",
    operation_id = "change_waiting_message",
    tag = "queue",
    params(
        ("id" = String, Path, description = "the conversation"),
        ("message" = String, Path, description = "the message"),
    ),
    request_body = QueueInput,
    responses(Receipt)
)]
pub(crate) async fn change(
    State(shared): State<Shared>,
    Path((id, message)): Path<(String, String)>,
    who: Who,
    JsonBody(input): JsonBody<QueueInput>,
) -> Result<Receipt, Fault> {
    let id = shared.writable(&id).await?;
    let conversation = shared.engine().conversation(&id);
    let change = match input {
        QueueInput::Says(SaysInput { text, files }) => {
            QueueChange::Parts { parts: parts(&shared, &conversation, &text, &files).await? }
        }
        QueueInput::Place(place) => QueueChange::Place { place: place.into() },
        QueueInput::Before(before) => QueueChange::Before { before: MessageId::new(before) },
        QueueInput::Last(Nothing {}) => QueueChange::Last,
    };
    let command = Command::Requeue { message: MessageId::new(message), change };
    post(&shared, &conversation, envelope(&who, None, command)?).await
}

/// Take a waiting message back
#[utoipa::path(
    delete,
    path = "/conversations/{id}/queue/{message}",
    operation_id = "take_message_back",
    tag = "queue",
    params(
        ("id" = String, Path, description = "the conversation"),
        ("message" = String, Path, description = "the message"),
    ),
    responses(Receipt)
)]
pub(crate) async fn take_back(
    State(shared): State<Shared>,
    Path((id, message)): Path<(String, String)>,
    who: Who,
) -> Result<Receipt, Fault> {
    let command = Command::Unqueue { message: MessageId::new(message) };
    order(&shared, (&id, &who), None, command).await
}
