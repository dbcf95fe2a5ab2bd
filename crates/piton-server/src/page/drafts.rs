//! What is typed and not sent yet, for the other devices of a person.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;

use crate::body::JsonBody;
use crate::drafts::{DRAFT_BYTES_MAX, Draft};
use crate::fault::{Fault, Kind};
use crate::shared::Shared;

/// What is typed now.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Typed {
    text: String,
}

/// The draft of a conversation; without text if there is none.
pub(super) async fn read(
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Json<Draft>, Fault> {
    let id = shared.known(&id).await?;
    let found = shared.drafts.read(&id).await;
    Ok(Json(found.map_err(unkept)?.unwrap_or_default()))
}

/// Keeps a draft, or removes it by an empty one.
pub(super) async fn keep(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    JsonBody(Typed { text }): JsonBody<Typed>,
) -> Result<Json<Draft>, Fault> {
    let id = shared.writable(&id).await?;
    if DRAFT_BYTES_MAX < text.len() {
        let message = format!("a draft has at most {DRAFT_BYTES_MAX} bytes");
        return Err(Fault::new(Kind::TooLarge, message).hint("it stays in this browser"));
    }
    if text.trim().is_empty() {
        shared.drafts.forget(&id).await.map_err(unkept)?;
        return Ok(Json(Draft::default()));
    }
    let draft = Draft { text, at: shared.parts.clock.now() };
    shared.drafts.keep(&id, &draft).await.map_err(unkept)?;
    Ok(Json(draft))
}

fn unkept(error: std::io::Error) -> Fault {
    Fault::new(Kind::Store, format!("the draft cannot be kept: {error}"))
}
