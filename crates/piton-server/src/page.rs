//! The page: documents for browsers, the stream that moves them, and forms that are plain POSTs.
//!
//! What is shown is made by `piton-page`; what is pressed becomes a command. With the module of the page a
//! form is answered with 204, and the stream brings what came of it; without it, with 303.

mod answer;
mod attended;
mod documents;
mod drafts;
mod files;
mod form;
mod forms;
mod queue;
mod undo;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use piton::ConversationId;

use crate::access::Who;
use crate::cursor::Cursor;
use crate::events::{Reader, Wish};
use crate::fault::Fault;
use crate::shared::Shared;

/// Every route of the page.
pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/", get(documents::home))
        .route("/new", get(documents::new).post(forms::begin))
        .route("/search", get(documents::search))
        .route("/c/{id}", get(documents::conversation))
        .route("/c/{id}/main", get(documents::main))
        .route("/c/{id}/earlier", get(documents::earlier))
        .route("/c/{id}/call/{call}", get(documents::call))
        .route("/c/{id}/question/{question}", get(documents::question))
        .route("/c/{id}/source/{turn}/{step}", get(documents::source))
        .route("/c/{id}/draft", get(drafts::read).put(drafts::keep))
        .route("/page/files", get(files::offer))
        .route("/c/{id}/undo/{call}", get(undo::preview).post(undo::undo))
        .route("/c/{id}/back/{turn}", get(undo::back_preview).post(undo::back))
        .route("/page/stream", get(stream))
        .route("/assets/{*name}", get(asset))
        .route("/c/{id}/say", post(forms::say))
        .route("/c/{id}/continue", post(forms::go_on))
        .route("/c/{id}/stop", post(forms::stop))
        .route("/c/{id}/discard", post(forms::discard))
        .route("/c/{id}/retry", post(forms::retry))
        .route("/c/{id}/answer/{question}", post(forms::answer))
        .route("/c/{id}/queue", post(queue::change))
        .route("/c/{id}/model", post(forms::configure))
        .route("/c/{id}/fork", post(forms::fork))
        .route("/c/{id}/rename", post(forms::rename))
        .route("/c/{id}/archive", post(forms::archive))
        .layer(axum::extract::DefaultBodyLimit::disable())
}

/// One stream a tab: the list, and the conversation that it shows.
async fn stream(
    State(shared): State<Shared>,
    Query(pairs): Query<Vec<(String, String)>>,
    headers: HeaderMap,
    who: Who,
) -> Result<Response, Fault> {
    let value = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, it)| it);
    let conversation: Option<ConversationId> = match value("c") {
        Some(typed) => Some(shared.known(typed).await?),
        None => None,
    };
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let after = last.or(value("after").map(String::as_str)).unwrap_or_default();
    let cursor = Cursor::read_page(after, conversation.as_ref());
    let wish = Wish { conversations: conversation.into_iter().collect(), list: true, cursor };
    Ok(Reader::new(&shared, &shared.hub.page, who, wish).await?.answer())
}

/// Style, modules and icon. Their names have digests in them, so they never change.
async fn asset(Path(name): Path<String>) -> Result<Response, Fault> {
    let found = piton_page::assets::all().iter().find(|asset| asset.name == name);
    let found = found.ok_or_else(|| Fault::not_found("there is no such file of the page"))?;
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(found.media_type)),
        (header::CACHE_CONTROL, kept),
    ];
    Ok((headers, found.bytes).into_response())
}
