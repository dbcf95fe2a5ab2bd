//! The server over streamable HTTP, on loopback.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::Options;
use super::out::Out;
use super::seat::Seat;

/// Pieces of an answer that wait for the client.
const PIECES_MAX: usize = 16;
/// The one session there is.
const SESSION: &str = "sim-session";

/// Listens at a port, 0 for any; where, and the work, which goes on until it is dropped.
pub async fn serve_http(
    options: Options,
    port: u16,
) -> io::Result<(SocketAddr, impl Future<Output = ()>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    Ok((address, accept(listener, Seat::new(options))))
}

async fn accept(listener: TcpListener, seat: Arc<Seat>) {
    loop {
        // A client that went away while it waited is no reason to end.
        let Ok((socket, _)) = listener.accept().await else { continue };
        let seat = seat.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| serve(seat.clone(), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
            connection.await.unwrap_or_default();
        });
    }
}

async fn serve(
    seat: Arc<Seat>,
    request: Request<Incoming>,
) -> Result<Response<Pieces>, Infallible> {
    if request.method() == Method::DELETE {
        return Ok(empty(StatusCode::OK));
    }
    if request.method() != Method::POST {
        return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
    }
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    let message: Option<Value> = body.ok().and_then(|body| serde_json::from_slice(&body).ok());
    let Some(message) = message else { return Ok(empty(StatusCode::BAD_REQUEST)) };
    let (pieces, received) = mpsc::channel(PIECES_MAX);
    let is_request = message.get("id").is_some() && message.get("method").is_some();
    let work = seat.take(message, Out::Stream(pieces));
    if !is_request {
        work.await;
        return Ok(empty(StatusCode::ACCEPTED));
    }
    tokio::spawn(work);
    let mut response = Response::new(Pieces(Some(received)));
    let headers = response.headers_mut();
    headers.insert("content-type", hyper::header::HeaderValue::from_static("text/event-stream"));
    headers.insert("mcp-session-id", hyper::header::HeaderValue::from_static(SESSION));
    Ok(response)
}

fn empty(status: StatusCode) -> Response<Pieces> {
    let mut response = Response::new(Pieces(None));
    *response.status_mut() = status;
    response
}

/// An answer as it is made.
#[derive(Debug)]
struct Pieces(Option<mpsc::Receiver<Bytes>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Some(pieces) => pieces.poll_recv(context).map(|it| it.map(|it| Ok(Frame::data(it)))),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }
}
