//! `/api/v1`: conversations, commands and what goes with them, for programs.

mod answers;
pub(crate) mod blobs;
mod commands;
mod conversations;
mod events;
pub(crate) mod input;
mod models;
mod outcome;
mod prompt;
pub(crate) mod questions;
mod queue;
pub(crate) mod receipt;
mod running;
mod search;
mod turns;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::shared::Shared;

/// Every route, with its description.
pub(crate) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(conversations::list, conversations::create))
        .routes(routes!(conversations::view, conversations::change))
        .routes(routes!(conversations::fork))
        .routes(routes!(conversations::tokens))
        .routes(routes!(commands::send))
        .routes(routes!(turns::messages, turns::say))
        .routes(routes!(prompt::prompt))
        .routes(routes!(turns::act))
        .routes(routes!(turns::retry))
        .routes(routes!(questions::list))
        .routes(routes!(questions::answer))
        .routes(routes!(queue::list))
        .routes(routes!(queue::change, queue::take_back))
        .routes(routes!(models::models))
        .routes(routes!(models::settings))
        .routes(routes!(search::find))
        .routes(routes!(running::list))
        .routes(routes!(running::output))
        .routes(routes!(running::stop))
        .routes(routes!(blobs::keep))
        .routes(routes!(blobs::give))
        .routes(routes!(events::events))
}
