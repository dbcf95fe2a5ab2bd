//! Connections: so many at the same time, each with a limit on how long its head takes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::fault::{Fault, Kind, tell_refused};
use crate::limits::{
    ACCEPT_PAUSE, CONNECTIONS_MAX, CONNECTIONS_MIN, HEADER_WAIT, REFUSALS_MAX,
    REQUESTS_AT_ONCE_MAX, SILENCE_WAIT,
};
use crate::shared::{Counted, Shared};
use crate::tls::{HTTP_2, Tls};

/// Longest wait for requests that are being answered when the server stops.
const LAST_ANSWERS_WAIT: Duration = Duration::from_secs(2);

/// As many connections as there are descriptors for. A quarter is left to the store, to the locks of turns
/// and to commands: a server without descriptors cannot even read a token.
pub(crate) fn connections_max() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    (limit / 4 * 3).clamp(CONNECTIONS_MIN, CONNECTIONS_MAX)
}

/// With every request: the address that the server listens on, which is a name of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listening(pub(crate) IpAddr);

/// With every request that came over an encrypted connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encrypted;

/// Answers so many connections at once, until the server is told to stop.
pub(crate) async fn serve(
    shared: &Shared,
    listener: TcpListener,
    mut router: Router,
    most: usize,
    tls: Option<Tls>,
) {
    if let Ok(address) = listener.local_addr() {
        router = router.layer(Extension(Listening(address.ip())));
    }
    if tls.is_some() {
        router = router.layer(Extension(Encrypted));
    }
    let places = Arc::new(Semaphore::new(most));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let full = Router::new().fallback(refuse);
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
        let (place, router) = if let Ok(place) = places.clone().try_acquire_owned() {
            (place, router.clone())
        } else {
            let Ok(place) = refusals.clone().try_acquire_owned() else {
                tracing::warn!(most, "connection refused: there are too many");
                continue;
            };
            (place, full.clone())
        };
        let (shared, tls) = (shared.clone(), tls.clone());
        connections.spawn(async move {
            let _counted = Counted::new(&shared, |counts| &counts.connections);
            stream.set_nodelay(true).unwrap_or_default();
            match tls {
                None => answer(&shared, stream, router).await,
                Some(tls) => answer_encrypted(&shared, stream, router, &tls).await,
            }
            drop(place);
        });
    }
    let all = async { while connections.join_next().await.is_some() {} };
    // What is not answered by then is cut off; nothing durable is.
    tokio::time::timeout(LAST_ANSWERS_WAIT, all).await.unwrap_or_default();
}

/// Tells a client that there is no room for it, and ends its connection.
async fn refuse(method: Method, uri: Uri) -> Response {
    let fault = Fault::new(Kind::Busy, "there are too many connections");
    let fault = fault.hint("try again later, or close other pages of this server");
    let mut answer = fault.into_response();
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    tell_refused(&method, uri.path(), &answer);
    answer
}

/// Agrees on a key, then on what is spoken. A client that takes too long for either is cut off.
async fn answer_encrypted(shared: &Shared, stream: TcpStream, router: Router, tls: &Tls) {
    let agreed = tokio::select! {
        () = shared.stop.cancelled() => return,
        agreed = tokio::time::timeout(HEADER_WAIT, tls.acceptor().accept(stream)) => agreed,
    };
    // What is no TLS, or trusts another certificate, is the client's business.
    let Ok(Ok(stream)) = agreed else { return };
    if stream.get_ref().1.alpn_protocol() == Some(HTTP_2) {
        answer_http_2(shared, stream, router).await;
    } else {
        answer(shared, stream, router).await;
    }
}

async fn answer<S>(shared: &Shared, stream: S, router: Router)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
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

/// Many requests on one connection, as many as one browser needs. A client that does not answer a sign of
/// life is cut off.
async fn answer_http_2<S>(shared: &Shared, stream: S, router: Router)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(router);
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(REQUESTS_AT_ONCE_MAX)
        .keep_alive_interval(SILENCE_WAIT)
        .keep_alive_timeout(HEADER_WAIT)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => drop(ended),
        () = shared.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            drop(connection.await);
        }
    }
}
