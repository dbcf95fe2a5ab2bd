//! Conversations over HTTP: commands go in, views and events come out.
//!
//! ```text
//! request ─► guard ─► route ─► Conversation::post ─► engine ─► journal
//!                       └────► Engine::view, list ◄──────────────┤
//! stream  ◄─ reader ◄─ feed ◄─ Engine::follow, changes ◄─────────┘
//! ```
//!
//! A server is one engine over the same store as every other process; it knows nothing that the journal
//! does not know, and turns go on when clients leave. It knows HTTP; how a turn works it does not.
//!
//! Modules are listed in reading order.

mod guard;
mod shared;

mod api;
mod cursor;
mod events;
mod health;
mod hub;
mod openapi;
mod page;
mod sign_in;

mod access;
mod opened;

mod body;
mod chance;
mod drafts;
mod fault;
mod forms;
mod limits;
mod models;
mod query;
mod resume;
mod serve;
mod titles;
mod tls;

use std::sync::Arc;

use axum::routing::get;
use axum::{Json, Router};
use tokio::net::TcpListener;
use utoipa_axum::router::OpenApiRouter;

pub use self::access::{Bearer, TokenError, TokenRow, Tokens};
pub use self::chance::NoChance;
pub use self::drafts::Drafts;
pub use self::fault::{Fault, Kind};
pub use self::opened::Opened;
pub use self::shared::Parts;
use self::shared::Shared;
pub use self::tls::{Tls, TlsError};

/// A server: routes over one engine.
#[derive(Clone, Debug)]
pub struct Server {
    shared: Shared,
    connections_max: usize,
}

impl Server {
    /// A server of these parts. Nothing runs yet.
    pub fn new(parts: Parts) -> Self {
        Self { shared: Shared::new(parts), connections_max: serve::connections_max() }
    }

    /// Lets it have at most so many connections at the same time. More are refused.
    #[must_use]
    pub fn with_connections_max(self, connections_max: usize) -> Self {
        Self { connections_max, ..self }
    }

    /// Everything that it answers.
    pub fn router(&self) -> Router {
        let (api, description) = OpenApiRouter::with_openapi(openapi::frame())
            .nest("/api/v1", api::routes())
            .split_for_parts();
        let description = Arc::new(description);
        let describe = move || async move { Json(openapi::whole(&description)) };
        let guard = axum::middleware::from_fn_with_state(self.shared.clone(), guard::guard);
        api.merge(page::routes())
            .route("/api/openapi.json", get(describe))
            .route("/healthz", get(health::healthz))
            .route("/metrics", get(health::metrics))
            .route("/sign-in", get(sign_in::sign_in).post(sign_in::sign_in_by_form))
            .layer(guard)
            .with_state(self.shared.clone())
    }

    /// Goes on with the turns that a server or a terminal left, as far as no person is needed; how many.
    pub async fn resume_turns(&self) -> Result<usize, Fault> {
        resume::turns(&self.shared).await
    }

    /// Answers until [`Server::stop`]. Then streams are ended, and requests that are being answered have a
    /// moment to end.
    pub async fn serve(&self, listener: TcpListener) {
        serve::serve(&self.shared, listener, self.router(), self.connections_max, None).await;
    }

    /// The same over encrypted connections.
    pub async fn serve_encrypted(&self, listener: TcpListener, tls: Tls) {
        serve::serve(&self.shared, listener, self.router(), self.connections_max, Some(tls)).await;
    }

    /// Stops serving. Turns stay as they are: whoever owns the engine shuts it down.
    pub fn stop(&self) {
        self.shared.stop.cancel();
    }
}
