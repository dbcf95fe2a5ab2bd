//! The stream of events for programs.

use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;

use crate::access::Who;
use crate::cursor::Cursor;
use crate::events::{Reader, Wish};
use crate::fault::{ErrorBody, Fault};
use crate::limits::STREAM_CONVERSATIONS_MAX;
use crate::shared::Shared;

/// Follow the list and conversations
///
/// Server-sent events: `hello`, then `snapshot` (`{conversation, view}`) or what follows on the cursor,
/// then `change` (`{conversation, change}`), `live` (`{conversation, live}`, without an id, may be
/// missed), `list` (`{rows}`), `beat` every ten seconds, `reset` in front of a snapshot that replaces what
/// the client has, `bye` at the end. The id of an event is the cursor of the whole stream;
/// `Last-Event-ID` goes on behind it without a gap.
#[utoipa::path(
    get,
    path = "/events",
    operation_id = "follow_events",
    tag = "events",
    params(
        ("c" = Option<Vec<String>>, Query, description = "a conversation; may come several times"),
        ("list" = Option<u8>, Query, description = "1 for the list"),
        ("after" = Option<String>, Query, description = "a cursor; the header Last-Event-ID counts before it"),
    ),
    responses(
        (status = 200, description = "events", content_type = "text/event-stream", body = String),
        ErrorBody,
    )
)]
pub(crate) async fn events(
    State(shared): State<Shared>,
    Query(pairs): Query<Vec<(String, String)>>,
    headers: HeaderMap,
    who: Who,
) -> Result<Response, Fault> {
    let (mut conversations, mut list, mut after) = (Vec::new(), false, None);
    for (name, value) in pairs {
        match name.as_str() {
            "c" => {
                let id = shared.known(&value).await?;
                if !conversations.contains(&id) {
                    conversations.push(id);
                }
            }
            "list" => list = matches!(value.as_str(), "1" | "true"),
            "after" => after = Some(value),
            _ => return Err(Fault::bad(format!("events take no {name:?}"))),
        }
    }
    if STREAM_CONVERSATIONS_MAX < conversations.len() {
        let most = STREAM_CONVERSATIONS_MAX;
        return Err(Fault::bad(format!("one stream carries at most {most} conversations")));
    }
    if conversations.is_empty() && !list {
        return Err(Fault::bad("nothing to follow; name a conversation by c, or list=1"));
    }
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let cursor = last.or(after.as_deref()).map(Cursor::read).unwrap_or_default();
    let wish = Wish { conversations, list, cursor };
    let reader = Reader::new(&shared, &shared.hub.api, who, wish).await?;
    Ok(reader.answer())
}
