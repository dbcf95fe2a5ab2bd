//! Models over HTTP: a dialect, an endpoint, a key, and three clocks.
//!
//! Knows how bytes travel and nothing of what they mean. It sends one request and reports one
//! failure; whether to try again is decided elsewhere. Keys are never logged and never part of a
//! message.

mod endpoint;
mod patience;

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use futures_util::stream;
use piton_core::answer::Delta;
use piton_core::event::FailureClass;
use piton_core::transcript::Transcript;
use piton_wire::cache::Cache;
use piton_wire::{Ask, Decoder, Dialect, Failure};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

pub use self::endpoint::{Auth, Endpoint, KeySource, Secret};
pub use self::patience::Timeouts;
use self::patience::{Expired, Patience};
use crate::model::{AnswerStream, Model, ModelFailure};

/// Largest body of an error answer that is read, in bytes.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;

/// A model behind an HTTP endpoint.
#[derive(Debug)]
pub struct HttpModel {
    client: reqwest::Client,
    dialect: Arc<dyn Dialect>,
    endpoint: Arc<Endpoint>,
    ask: Ask,
    timeouts: Timeouts,
    // One request is encoded at a time; a lock, because a model is asked from any task.
    cache: Mutex<Cache>,
}

impl HttpModel {
    /// A model that is asked through `client`, whose connections are reused.
    pub fn new(
        client: reqwest::Client,
        dialect: Arc<dyn Dialect>,
        endpoint: Endpoint,
        ask: Ask,
    ) -> Self {
        Self {
            client,
            dialect,
            endpoint: Arc::new(endpoint),
            ask,
            timeouts: Timeouts::default(),
            cache: Mutex::default(),
        }
    }

    /// Waits differently.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The body that a transcript would be sent as.
    pub fn body(&self, transcript: &Transcript) -> Vec<u8> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        self.dialect.encode(transcript, &self.ask, &mut cache)
    }
}

impl Model for HttpModel {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let request = Request {
            client: self.client.clone(),
            dialect: self.dialect.clone(),
            endpoint: self.endpoint.clone(),
            ask: self.ask.clone(),
            patience: Patience::new(self.timeouts),
            body: self.body(transcript),
        };
        let decoder = self.dialect.decoder(transcript.tools(), &self.ask);
        let sent = stream::once(async move {
            let patience = request.patience;
            let body = request.send().await?;
            Ok::<_, ModelFailure>(Response { decoder, patience, body })
        });
        Box::pin(sent.flat_map(|sent| match sent {
            Ok(answer) => answer.read(),
            Err(failure) => Box::pin(stream::iter([Err(failure)])) as AnswerStream,
        }))
    }
}

/// One request on its way.
struct Request {
    client: reqwest::Client,
    dialect: Arc<dyn Dialect>,
    endpoint: Arc<Endpoint>,
    ask: Ask,
    patience: Patience,
    body: Vec<u8>,
}

impl Request {
    /// Sends it. A key that is refused is asked for anew, once.
    async fn send(self) -> Result<reqwest::Response, ModelFailure> {
        let mut response = self.try_send(false).await?;
        if response.status() == reqwest::StatusCode::UNAUTHORIZED
            && self.endpoint.auth.can_refresh()
        {
            response = self.try_send(true).await?;
        }
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        Ok(response)
    }

    async fn try_send(&self, refresh: bool) -> Result<reqwest::Response, ModelFailure> {
        let url = format!("{}{}", self.endpoint.base_url, self.dialect.path(&self.ask));
        let request = self.client.post(url).headers(self.headers(refresh).await?);
        let sent = request.body(self.body.clone()).send();
        self.patience.first_byte(sent).await.map_err(expired)?.map_err(network)
    }

    /// The dialect's headers, overlaid by those of the settings, overlaid by the key.
    async fn headers(&self, refresh: bool) -> Result<HeaderMap, ModelFailure> {
        let mut headers = HeaderMap::new();
        let mut set = |name: &str, value: &str| {
            let header = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
            let (name, value) = header.ok_or_else(|| {
                let message = format!("the header {name} or its value cannot be sent");
                ModelFailure::new(FailureClass::InvalidRequest, message)
            })?;
            headers.insert(name, value);
            Ok::<(), ModelFailure>(())
        };
        set("content-type", "application/json")?;
        set("accept", "text/event-stream")?;
        for (name, value) in self.dialect.headers(&self.ask) {
            set(name, &value)?;
        }
        for (name, value) in &self.endpoint.headers {
            set(name, value)?;
        }
        if let Some((name, value)) = self.endpoint.auth.header(refresh).await? {
            set(name, &value)?;
        }
        Ok(headers)
    }

    async fn refused(&self, mut response: reqwest::Response) -> ModelFailure {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
        let mut body = Vec::new();
        // What can be read of the body tells more than that it could not be read to its end.
        while let Ok(Ok(Some(piece))) = self.patience.idle(response.chunk()).await {
            body.extend_from_slice(&piece);
            if ERROR_BODY_BYTES_MAX < body.len() {
                break;
            }
        }
        self.dialect.failure(status, &header, &body).into()
    }
}

/// An answer on its way.
struct Response {
    decoder: Box<dyn Decoder>,
    patience: Patience,
    body: reqwest::Response,
}

/// What a reader of an answer has left to do.
enum Reading {
    Open(Response),
    Over,
}

impl Response {
    fn read(self) -> AnswerStream {
        let pieces = stream::unfold(Reading::Open(self), |reading| async move {
            let Reading::Open(mut open) = reading else { return None };
            let (deltas, over) = open.next().await;
            let rest = if over { Reading::Over } else { Reading::Open(open) };
            Some((stream::iter(deltas), rest))
        });
        Box::pin(pieces.flatten())
    }

    /// What the next bytes mean, and whether they were the last.
    async fn next(&mut self) -> (Vec<Result<Delta, ModelFailure>>, bool) {
        let piece = match self.patience.idle(self.body.chunk()).await {
            Err(late) => return (vec![Err(expired(late))], true),
            // A connection may be reset behind the end mark: then the answer is whole all the same.
            Ok(Err(error)) => {
                return (self.whole().unwrap_or_else(|| vec![Err(network(error))]), true);
            }
            Ok(Ok(piece)) => piece,
        };
        let mut deltas = Vec::new();
        let (read, over) = match piece {
            Some(bytes) => (self.decoder.push(&bytes, &mut deltas), false),
            None => (self.decoder.end(&mut deltas), true),
        };
        // What follows the end mark is not waited for, whatever it is.
        let ended = has_end(&deltas);
        if deltas.is_empty() && !over {
            // Bytes without meaning are still a sign of life.
            deltas.push(Delta::Alive);
        }
        // What came before the failure was said, and stays (J44, J46).
        let failed = read.is_err();
        let failure = read.err().filter(|_| !ended).map(|failure| Err(failure.into()));
        (deltas.into_iter().map(Ok).chain(failure).collect(), over || ended || failed)
    }

    /// The rest of an answer whose end mark has come.
    fn whole(&mut self) -> Option<Vec<Result<Delta, ModelFailure>>> {
        let mut deltas = Vec::new();
        self.decoder.end(&mut deltas).ok()?;
        has_end(&deltas).then(|| deltas.into_iter().map(Ok).collect())
    }
}

fn has_end(deltas: &[Delta]) -> bool {
    deltas.iter().any(|delta| matches!(delta, Delta::End { .. }))
}

impl From<Failure> for ModelFailure {
    fn from(failure: Failure) -> Self {
        let Failure { class, message, retry_after_ms, rejected } = failure;
        Self { class, message, retry_after_ms, rejected }
    }
}

fn expired(expired: Expired) -> ModelFailure {
    ModelFailure::new(FailureClass::Stalled, expired.to_string())
}

fn network(error: reqwest::Error) -> ModelFailure {
    // The URL may carry a key.
    let error = error.without_url();
    let mut message = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    ModelFailure::new(FailureClass::Network, message)
}
