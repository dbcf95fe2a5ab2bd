//! Whether the server is well, for those who watch it: `/healthz` for anybody, `/metrics` with a token.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use piton::Stage;
use piton::store::Page;
use serde_json::json;

use crate::fault::Fault;
use crate::shared::Shared;

/// Says that the server answers and its store can be read.
pub(crate) async fn healthz(State(shared): State<Shared>) -> Result<Response, Fault> {
    shared.engine().journal().list(Page::first(1)).await?;
    Ok(Json(json!({ "status": "ok" })).into_response())
}

/// Figures as Prometheus reads them.
pub(crate) async fn metrics(State(shared): State<Shared>) -> Response {
    let running = shared.engine().running();
    let performing = running.iter().filter(|it| it.stage == Stage::Performing).count();
    let waiting = running.iter().filter(|it| it.stage == Stage::Waiting).count();
    let counts = &shared.counts;
    let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    let figures = [
        ("piton_turns_running", "gauge", "turns that run", performing as u64),
        ("piton_turns_waiting", "gauge", "turns that wait until another one ends", waiting as u64),
        ("piton_streams_open", "gauge", "streams of events", read(&counts.streams)),
        ("piton_connections_open", "gauge", "connections", read(&counts.connections)),
        ("piton_requests_total", "counter", "requests answered", read(&counts.requests)),
        ("piton_refused_total", "counter", "requests refused at the door", read(&counts.refused)),
        ("piton_failed_total", "counter", "answers that were our fault", read(&counts.failed)),
        ("piton_commands_total", "counter", "commands accepted", read(&counts.commands)),
    ];
    let mut text = String::new();
    for (name, kind, help, value) in figures {
        // Writing to a string cannot fail.
        write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n")
            .unwrap_or_default();
    }
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
