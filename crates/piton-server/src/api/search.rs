//! What was said, found.

use axum::Json;
use axum::extract::State;
use piton::ConversationId;
use piton::search::{Hit, Pattern, Query as Wanted};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::input::how_many;
use crate::fault::{ErrorBody, Fault};
use crate::limits::HITS_MAX;
use crate::query::Parameters;
use crate::shared::Shared;

/// What is looked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// The text, on one line.
    // One that is missing is told as an empty one is.
    #[serde(default)]
    #[param(pattern = "^[^\\r\\n]+$", required = true)]
    q: String,
    /// Whether it is a regular expression.
    #[serde(default)]
    regex: bool,
    /// Only in this conversation.
    conversation: Option<String>,
    /// How many hits at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Hits {
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
    operation_id = "search",
    tag = "search",
    params(SearchQuery),
    responses(
        (status = 200, description = "lines that match", body = Hits),
        ErrorBody,
    )
)]
pub(crate) async fn find(
    State(shared): State<Shared>,
    Parameters(query): Parameters<SearchQuery>,
) -> Result<Json<Hits>, Fault> {
    if query.q.is_empty() || query.q.contains(['\r', '\n']) {
        return Err(Fault::bad("there is nothing to look for; give one line of text as q"));
    }
    let make = if query.regex { Pattern::regex } else { Pattern::exactly };
    let pattern = make(&query.q).map_err(|error| Fault::bad(error.to_string()))?;
    let wanted = Wanted {
        conversation: query.conversation.map(ConversationId::new),
        hits_max: how_many(query.limit, HITS_MAX, HITS_MAX)?,
        ..Wanted::new(pattern)
    };
    let found = shared.search().await?.find(&wanted).await?;
    let hits = found.hits.into_iter().map(HitRow::from).collect();
    Ok(Json(Hits { hits, more: found.more }))
}
