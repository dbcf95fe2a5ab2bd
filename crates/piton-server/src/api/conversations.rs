//! Conversations: listed, begun, read, renamed, put away, forked.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use piton::id::{CommandId, MessageId, Seq, TurnId};
use piton::store::{Directory, Filter, ListCursor, TurnIs};
use piton::{Command, ConversationId, ForkAt, Shelf, View, reader};
use piton_core::command::ConfigChange;
use piton_core::tokens::Tokens;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::input::{conversation_name, how_many, overrides};
use super::receipt::{Receipt, envelope, order, post};
use crate::access::Who;
use crate::body::JsonBody;
use crate::fault::{ErrorBody, Fault, Kind};
use crate::hub::{Askers, RowView};
use crate::limits::{LIST_ROWS, LIST_ROWS_MAX};
use crate::query::Parameters;
use crate::shared::Shared;

/// Which conversations are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// How the turn stands: `ended`, `open` or `asking`.
    #[param(inline)]
    state: Option<TurnState>,
    /// In this directory or below it.
    directory: Option<String>,
    /// With this text in the title.
    text: Option<String>,
    /// Those that were put away.
    archived: bool,
    /// Behind this cursor, which an earlier answer gave as `next`.
    #[param(pattern = "^[0-9]{1,18}([.][0-9]{1,18}){2}$")]
    after: Option<String>,
    /// How many at most.
    #[param(minimum = 1, maximum = 500)]
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
    operation_id = "list_conversations",
    tag = "conversations",
    params(ListQuery),
    responses(
        (status = 200, description = "a part of the list", body = ListView),
        ErrorBody,
    )
)]
pub(crate) async fn list(
    State(shared): State<Shared>,
    Parameters(query): Parameters<ListQuery>,
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
    let limit = how_many(query.limit, LIST_ROWS, LIST_ROWS_MAX)?;
    let list = shared.engine().list(filter, after, limit).await?;
    let askers = Askers::now(shared.engine()).await?;
    Ok(Json(ListView {
        conversations: list.rows.iter().map(|row| askers.view(row)).collect(),
        total: list.total,
        next: list.next.as_ref().map(ListCursor::to_string),
        position: list.position.0,
    }))
}

fn read_cursor(text: &str) -> Result<ListCursor, Fault> {
    let not_ours = |_| Fault::bad("the cursor is none of ours; list without after");
    text.parse().map_err(not_ours)
}

/// A conversation to begin.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewConversation {
    /// Its name, chosen by the client: ten small letters and digits. Creating it twice is creating it once.
    #[schema(pattern = "^[0-9a-z]{10}$")]
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
    operation_id = "begin_conversation",
    tag = "conversations",
    request_body = Option<NewConversation>,
    responses(
        (status = 200, description = "it was begun before, by the same request", body = Begun),
        (status = 201, description = "it is begun", body = Begun),
        ErrorBody,
    )
)]
pub(crate) async fn create(
    State(shared): State<Shared>,
    who: Who,
    JsonBody(new): JsonBody<NewConversation>,
) -> Result<Response, Fault> {
    let directory = shared.parts.opened.place(new.directory.as_deref())?;
    let named = new.id.as_deref().map(conversation_name).transpose()?;
    // Of two requests with one name the second finds what the first has begun.
    let _begins = shared.begin_alone(named.as_ref()).await;
    let known = match &named {
        Some(id) => shared.engine().journal().status(id).await?.is_some(),
        None => false,
    };
    let conversation = match named {
        Some(id) if known => {
            let creation = shared.engine().conversation(&id);
            if creation.verdict(&creation_name(&id)).await?.is_none() {
                return Err(exists(&id));
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

fn exists(id: &ConversationId) -> Fault {
    Fault::new(Kind::Exists, format!("there is a conversation {id} already"))
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
    turns: Option<u32>,
}

/// Read a conversation
///
/// Its view, as `docs/view.md` describes it.
#[utoipa::path(
    get,
    path = "/conversations/{id}",
    operation_id = "read_conversation",
    tag = "conversations",
    params(("id" = String, Path, description = "the conversation"), ViewQuery),
    responses(
        (status = 200, description = "the view", body = ref("#/components/schemas/View")),
        ErrorBody,
    )
)]
pub(crate) async fn view(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    Parameters(query): Parameters<ViewQuery>,
) -> Result<Json<View>, Fault> {
    let id = shared.known(&id).await?;
    let mut view = shared.engine().view(&id).await?;
    if let Some(most) = query.turns {
        let gone = view.turns.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
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
    operation_id = "change_conversation",
    tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    request_body = Change,
    responses(Receipt)
)]
pub(crate) async fn change(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    JsonBody(change): JsonBody<Change>,
) -> Result<Receipt, Fault> {
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
    order(&shared, (&id, &who), None, command).await
}

/// A fork to make.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ForkInput {
    /// Its name, chosen by the client: ten small letters and digits. Forking twice under it is forking once.
    #[schema(pattern = "^[0-9a-z]{10}$")]
    id: Option<String>,
    /// Where; behind everything if it is absent.
    at: Option<ForkPlace>,
    /// The title of the fork; else that of its origin.
    title: Option<String>,
}

/// Where to fork.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum ForkPlace {
    /// Behind this turn.
    Turn(u32),
    /// In front of this turn.
    BeforeTurn(u32),
    /// In front of this message.
    Before(String),
    /// Behind this message, in front of its answer.
    Behind(String),
    /// Behind this entry.
    Entry(u64),
}

impl From<ForkPlace> for ForkAt {
    fn from(place: ForkPlace) -> Self {
        match place {
            ForkPlace::Turn(turn) => Self::Turn(TurnId(turn)),
            ForkPlace::BeforeTurn(turn) => Self::BeforeTurn(TurnId(turn)),
            ForkPlace::Before(message) => Self::Before(MessageId::new(message)),
            ForkPlace::Behind(message) => Self::Behind(MessageId::new(message)),
            ForkPlace::Entry(entry) => Self::Entry(Seq(entry)),
        }
    }
}

/// Fork a conversation
///
/// The fork goes on from a place of it; nothing is copied, and nothing runs in it.
#[utoipa::path(
    post,
    path = "/conversations/{id}/fork",
    operation_id = "fork_conversation",
    tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    request_body = Option<ForkInput>,
    responses(
        (status = 200, description = "it was made before, by the same request", body = Begun),
        (status = 201, description = "the fork", body = Begun),
        ErrorBody,
    )
)]
pub(crate) async fn fork(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    JsonBody(input): JsonBody<ForkInput>,
) -> Result<Response, Fault> {
    let id = shared.writable(&id).await?;
    let at = input.at.map_or(ForkAt::End, ForkAt::from);
    let named = input.id.as_deref().map(conversation_name).transpose()?;
    // Of two requests with one name the second finds the fork of the first.
    let _begins = shared.begin_alone(named.as_ref()).await;
    if let Some(named) = &named
        && shared.engine().journal().status(named).await?.is_some()
    {
        if !is_fork_of(&shared, named, &id).await? {
            return Err(exists(named));
        }
        return Ok(Json(Begun { conversation: named.to_string() }).into_response());
    }
    let fork = match named {
        Some(named) => shared.engine().fork_as(named, &id, &at, input.title).await?,
        None => shared.engine().fork(&id, &at, input.title).await?,
    };
    let begun = Begun { conversation: fork.id().to_string() };
    Ok((StatusCode::CREATED, Json(begun)).into_response())
}

/// Whether a conversation was cut from another one: in its own part, or in the part that it shares.
async fn is_fork_of(
    shared: &Shared,
    fork: &ConversationId,
    of: &ConversationId,
) -> Result<bool, Fault> {
    let journal = &**shared.engine().journal();
    let Some(origin) = reader::origin_of(journal, fork).await? else { return Ok(false) };
    let lineage = reader::lineage(journal, of).await?;
    Ok(lineage.stretches.iter().any(|part| part.conversation == origin.conversation))
}

/// How large the next request is
#[utoipa::path(
    get,
    path = "/conversations/{id}/tokens",
    operation_id = "count_tokens",
    tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    responses(
        (status = 200, description = "sizes in tokens, estimated", body = ref("#/components/schemas/Tokens")),
        ErrorBody,
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
