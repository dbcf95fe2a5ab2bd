//! What was said, found.

use axum::Json;
use axum::extract::{Query, State};
use piton::ConversationId;
use piton::search::{Hit, Pattern, Query as Wanted};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::fault::{ErrorBody, Fault};
use crate::limits::HITS_MAX;
use crate::shared::Shared;

/// What is looked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// The text.
    q: String,
    /// Whether it is a regular expression.
    #[serde(default)]
    regex: bool,
    /// Only in this conversation.
    conversation: Option<String>,
    /// How many hits at most.
    limit: Option<usize>,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Found {
    /// The hits: the conversation with the newest one first.
    hits: Vec<HitRow>,
    /// Whether there are more.
    more: bool,
}

/// A line that matches.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HitRow {
    /// The conversation.
    conversation: String,
    /// The turn, from 1; 0 for what belongs to none.
    turn: u32,
    /// The entry.
    entry: u64,
    /// Who said it.
    scope: String,
    /// The line.
    line: String,
}

impl From<Hit> for HitRow {
    fn from(hit: Hit) -> Self {
        Self {
            conversation: hit.conversation.to_string(),
            turn: hit.turn,
            entry: hit.seq.0,
            scope: hit.scope.to_string(),
            line: hit.line,
        }
    }
}

/// Find what was said
#[utoipa::path(
    get,
    path = "/search",
    tag = "search",
    params(SearchQuery),
    responses(
        (status = 200, description = "lines that match", body = Found),
        (status = "4XX", description = "nothing was done", body = ErrorBody),
        (status = "5XX", description = "the store failed", body = ErrorBody),
    )
)]
pub(crate) async fn find(
    State(shared): State<Shared>,
    Query(query): Query<SearchQuery>,
) -> Result<Json<Found>, Fault> {
    let make = if query.regex { Pattern::regex } else { Pattern::exactly };
    let pattern = make(&query.q).map_err(|error| Fault::bad(error.to_string()))?;
    let wanted = Wanted {
        conversation: query.conversation.map(ConversationId::new),
        hits_max: query.limit.unwrap_or(HITS_MAX).min(HITS_MAX),
        ..Wanted::new(pattern)
    };
    let found = shared.search().await?.find(&wanted).await?;
    let hits = found.hits.into_iter().map(HitRow::from).collect();
    Ok(Json(Found { hits, more: found.more }))
}
