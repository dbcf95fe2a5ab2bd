//! Connections: so many at the same time, each with a limit on how long its head takes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::limits::{ACCEPT_PAUSE, CONNECTIONS_MAX, HEADER_WAIT};
use crate::shared::{Counted, Shared};

/// Longest wait for requests that are being answered when the server stops.
const LAST_ANSWERS_WAIT: Duration = Duration::from_secs(2);

/// Answers until the server is told to stop.
pub(crate) async fn serve(shared: &Shared, listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = shared.stop.cancelled() => break,
            // Before the next one is accepted: what has ended is let go of.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "no connection accepted");
                // Out of descriptors, most likely: accepting at once would fail again.
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            tracing::warn!(most = CONNECTIONS_MAX, "connection closed: there are too many");
            continue;
        };
        let (shared, router) = (shared.clone(), router.clone());
        connections.spawn(async move {
            let _counted = Counted::new(&shared, |counts| &counts.connections);
            answer(&shared, stream, router).await;
            drop(place);
        });
    }
    let all = async { while connections.join_next().await.is_some() {} };
    // What is not answered by then is cut off; nothing durable is.
    tokio::time::timeout(LAST_ANSWERS_WAIT, all).await.unwrap_or_default();
}

async fn answer(shared: &Shared, stream: TcpStream, router: Router) {
    stream.set_nodelay(true).unwrap_or_default();
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_WAIT)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A client that breaks off is its own business.
        ended = connection.as_mut() => drop(ended),
        () = shared.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            drop(connection.await);
        }
    }
}
