//! Conversations: listed, begun, read, renamed, put away, forked.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use piton::id::{CommandId, MessageId, Seq, TurnId};
use piton::store::{Directory, Filter, ListCursor, TurnIs};
use piton::{Command, ConversationId, ForkAt, Shelf, View, reader};
use piton_core::command::ConfigChange;
use piton_core::tokens::Tokens;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::input::{conversation_name, overrides};
use super::receipt::{Receipt, envelope, post};
use crate::access::Who;
use crate::body::JsonBody;
use crate::fault::{ErrorBody, Fault, Kind};
use crate::hub::{Askers, RowView};
use crate::limits::{LIST_ROWS, LIST_ROWS_MAX};
use crate::shared::Shared;

/// Which conversations are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// How the turn stands: `ended`, `open` or `asking`.
    state: Option<TurnState>,
    /// In this directory or below it.
    directory: Option<String>,
    /// With this text in the title.
    text: Option<String>,
    /// Those that were put away.
    archived: bool,
    /// Behind this cursor, which an earlier answer gave as `next`.
    after: Option<String>,
    /// How many at most.
    limit: Option<usize>,
}

/// How a turn stands.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnState {
    /// No turn is open.
    Ended,
    /// A turn is open, also one that asks.
    Open,
    /// A turn is open and asks a person.
    Asking,
}

/// A part of the list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListView {
    /// The rows, the most recently touched first.
    conversations: Vec<RowView>,
    /// How many conversations there are in all, wanted or not.
    total: usize,
    /// Where to go on; absent if this was the last part.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// The moment of the list, for `after=list:…` of the events.
    position: u64,
}

/// List conversations
#[utoipa::path(
    get,
    path = "/conversations",
    tag = "conversations",
    params(ListQuery),
    responses(
        (status = 200, description = "a part of the list", body = ListView),
        (status = "4XX", description = "nothing was done", body = ErrorBody),
        (status = "5XX", description = "the store failed", body = ErrorBody),
    )
)]
pub(crate) async fn list(
    State(shared): State<Shared>,
    Query(query): Query<ListQuery>,
) -> Result<Json<ListView>, Fault> {
    let turn = query.state.map(|state| match state {
        TurnState::Ended => TurnIs::Ended,
        TurnState::Open => TurnIs::Open,
        TurnState::Asking => TurnIs::Asking,
    });
    let shelf = Some(if query.archived { Shelf::Archived } else { Shelf::Listed });
    let directory = query.directory.map(Directory::Within);
    let (text, worker) = (query.text, Some(false));
    let filter = Filter { directory, turn, text, worker, since: None, shelf };
    let after = query.after.as_deref().map(read_cursor).transpose()?;
    let limit = query.limit.unwrap_or(LIST_ROWS).min(LIST_ROWS_MAX);
    let list = shared.engine().list(filter, after, limit).await?;
    let askers = Askers::now(shared.engine()).await?;
    Ok(Json(ListView {
        conversations: list.rows.iter().map(|row| askers.view(row)).collect(),
        total: list.total,
        next: list.next.as_ref().map(write_cursor),
        position: list.position.0,
    }))
}

fn write_cursor(cursor: &ListCursor) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_string(cursor).unwrap_or_default())
}

fn read_cursor(text: &str) -> Result<ListCursor, Fault> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let cursor = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    cursor.ok_or_else(|| Fault::bad("the cursor is none of ours; list without after"))
}

/// A conversation to begin.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewConversation {
    /// Its name, chosen by the client: ten small letters and digits. Creating it twice is creating it once.
    id: Option<String>,
    /// The directory it works in, which has to be open to this server.
    directory: Option<String>,
    /// Its title.
    title: Option<String>,
}

/// A conversation that was begun.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Begun {
    /// Its name.
    pub(crate) conversation: String,
}

/// Begin a conversation
#[utoipa::path(
    post,
    path = "/conversations",
    tag = "conversations",
    request_body = NewConversation,
    responses(
        (status = 200, description = "it was begun before, by the same request", body = Begun),
        (status = 201, description = "it is begun", body = Begun),
        (status = "4XX", description = "nothing was done", body = ErrorBody),
        (status = "5XX", description = "the store failed", body = ErrorBody),
    )
)]
pub(crate) async fn create(
    State(shared): State<Shared>,
    who: Who,
    JsonBody(new): JsonBody<NewConversation>,
) -> Result<Response, Fault> {
    let directory = shared.parts.opened.place(new.directory.as_deref())?;
    let named = new.id.as_deref().map(conversation_name).transpose()?;
    let known = match &named {
        Some(id) => shared.engine().journal().status(id).await?.is_some(),
        None => false,
    };
    let conversation = match named {
        Some(id) if known => {
            let creation = shared.engine().conversation(&id);
            if creation.verdict(&creation_name(&id)).await?.is_none() {
                let message = format!("there is a conversation {id} already");
                return Err(Fault::new(Kind::Exists, message));
            }
            creation
        }
        Some(id) => shared.engine().begin_as(id, &directory)?,
        None => shared.engine().begin(&directory)?,
    };
    let id = conversation.id().clone();
    if !known {
        let command = match new.title {
            Some(title) => Command::Rename { title },
            // A first command that changes nothing makes it begin.
            None => Command::Shelve { shelf: Shelf::Listed },
        };
        let envelope = envelope(&who, Some(creation_name(&id).as_str()), command)?;
        post(&shared, &conversation, envelope).await?;
    }
    let status = if known { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(Begun { conversation: id.to_string() })).into_response())
}

/// The name of the command that begins a conversation.
fn creation_name(id: &ConversationId) -> CommandId {
    CommandId::new(format!("begin-{id}"))
}

/// How much of a conversation is wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ViewQuery {
    /// Only so many of the newest turns.
    turns: Option<usize>,
}

/// Read a conversation
///
/// Its view, as `docs/view.md` describes it.
#[utoipa::path(
    get,
    path = "/conversations/{id}",
    tag = "conversations",
    params(("id" = String, Path, description = "the conversation"), ViewQuery),
    responses(
        (status = 200, description = "the view", body = Object),
        (status = "4XX", description = "nothing was done", body = ErrorBody),
        (status = "5XX", description = "the store failed", body = ErrorBody),
    )
)]
pub(crate) async fn view(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    Query(query): Query<ViewQuery>,
) -> Result<Json<View>, Fault> {
    let id = shared.known(&id).await?;
    let mut view = shared.engine().view(&id).await?;
    if let Some(most) = query.turns {
        let gone = view.turns.len().saturating_sub(most);
        view.turns.drain(..gone);
    }
    Ok(Json(view))
}

/// One change of a conversation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Change {
    /// Another title.
    Title(String),
    /// Kept elsewhere. Nothing of it is lost.
    Shelf(ShelfWord),
    /// Who answers from now on, as in `provider/model`.
    Model(String),
}

/// Where a conversation is kept.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShelfWord {
    /// Among those that are listed.
    Listed,
    /// Among those that are done with.
    Archived,
    /// Among those that somebody removed; it can be brought back.
    Removed,
}

impl From<ShelfWord> for Shelf {
    fn from(word: ShelfWord) -> Self {
        match word {
            ShelfWord::Listed => Self::Listed,
            ShelfWord::Archived => Self::Archived,
            ShelfWord::Removed => Self::Removed,
        }
    }
}

/// Change a conversation
///
/// One change a request: `{"title":…}`, `{"shelf":…}` or `{"model":…}`.
#[utoipa::path(
    patch,
    path = "/conversations/{id}",
    tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    request_body = Change,
    responses(
        (status = 200, description = "taken", body = Receipt),
        (status = 202, description = "left for the process that works on the conversation", body = Receipt),
        (status = "4XX", description = "nothing was done", body = ErrorBody),
        (status = "5XX", description = "the store failed", body = ErrorBody),
    )
)]
pub(crate) async fn change(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    JsonBody(change): JsonBody<Change>,
) -> Result<Receipt, Fault> {
    let id = shared.writable(&id).await?;
    let command = match change {
        Change::Title(title) => Command::Rename { title },
        Change::Shelf(shelf) => Command::Shelve { shelf: shelf.into() },
        Change::Model(typed) => {
            let model = overrides(&shared, Some(&typed))?.model;
            Command::Configure {
                change: Box::new(ConfigChange { model, ..ConfigChange::default() }),
            }
        }
    };
    let envelope = envelope(&who, None, command)?;
    post(&shared, &shared.engine().conversation(&id), envelope).await
}

/// Where to fork.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ForkInput {
    /// Behind this turn; without any place, behind everything.
    turn: Option<u32>,
    /// In front of this turn.
    before_turn: Option<u32>,
    /// In front of this message.
    before: Option<String>,
    /// Behind this message, in front of its answer.
    behind: Option<String>,
    /// Behind this entry.
    entry: Option<u64>,
    /// The title of the fork; else that of its origin.
    title: Option<String>,
}

impl ForkInput {
    fn place(&self) -> Result<ForkAt, Fault> {
        let message = |name: &String| MessageId::new(name.clone());
        let places = [
            self.turn.map(|turn| ForkAt::Turn(TurnId(turn))),
            self.before_turn.map(|turn| ForkAt::BeforeTurn(TurnId(turn))),
            self.before.as_ref().map(|name| ForkAt::Before(message(name))),
            self.behind.as_ref().map(|name| ForkAt::Behind(message(name))),
            self.entry.map(|entry| ForkAt::Entry(Seq(entry))),
        ];
        let mut places = places.into_iter().flatten();
        match (places.next(), places.next()) {
            (None, _) => Ok(ForkAt::End),
            (Some(at), None) => Ok(at),
            (Some(_), Some(_)) => Err(Fault::bad("a fork has one place; name one")),
        }
    }
}

/// Fork a conversation
///
/// The fork goes on from a place of it; nothing is copied, and nothing runs in it.
#[utoipa::path(
    post,
    path = "/conversations/{id}/fork",
    tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    request_body = ForkInput,
    responses(
        (status = 201, description = "the fork", body = Begun),
        (status = "4XX", description = "nothing was done", body = ErrorBody),
        (status = "5XX", description = "the store failed", body = ErrorBody),
    )
)]
pub(crate) async fn fork(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    JsonBody(input): JsonBody<ForkInput>,
) -> Result<Response, Fault> {
    let id = shared.writable(&id).await?;
    let fork = shared.engine().fork(&id, &input.place()?, input.title).await?;
    let begun = Begun { conversation: fork.id().to_string() };
    Ok((StatusCode::CREATED, Json(begun)).into_response())
}

/// How large the next request is
#[utoipa::path(
    get,
    path = "/conversations/{id}/tokens",
    tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    responses(
        (status = 200, description = "sizes in tokens, estimated", body = Object),
        (status = "4XX", description = "nothing was done", body = ErrorBody),
        (status = "5XX", description = "the store failed", body = ErrorBody),
    )
)]
pub(crate) async fn tokens(
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Json<Tokens>, Fault> {
    let id = shared.known(&id).await?;
    let state = reader::state(&**shared.engine().journal(), &id).await?;
    Ok(Json(Tokens::from(&state)))
}
