//! Models over HTTP: a dialect, an endpoint, a key, and three clocks.
//!
//! Knows how bytes travel and nothing of what they mean. It sends one request and reports one
//! failure; whether to try again is decided elsewhere. Keys are never logged and never part of a
//! message.

mod endpoint;
mod key_ends;
mod keys;
mod network;
mod page;
mod patience;
mod redirect;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use piton_core::answer::Delta;
use piton_core::event::FailureClass;
use piton_core::transcript::Transcript;
use piton_wire::cache::Cache;
use piton_wire::{Ask, Decoder, Dialect, Effort, Failure};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio_util::bytes::Bytes;

pub use self::endpoint::{Auth, Endpoint, KeySource, Secret};
use self::keys::{Keys, is_telling};
use self::page::Sender;
use self::patience::Patience;
use crate::model::{AnswerStream, Model, ModelFailure};
use crate::timeouts::Silence;
pub use crate::timeouts::Timeouts;

/// Largest body of an error answer that is read, in bytes.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;
/// Largest body of an answer that is read, in bytes: far more than an answer may have, because
/// every piece of it comes in an envelope.
const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Longest wait for the end of a body behind its end mark; a new connection costs more.
const DRAIN_WAIT: Duration = Duration::from_millis(20);

/// A model behind an HTTP endpoint.
#[derive(Debug)]
pub struct HttpModel {
    client: reqwest::Client,
    dialect: Arc<dyn Dialect>,
    endpoint: Arc<Endpoint>,
    ask: Ask,
    timeouts: Option<Timeouts>,
    body_bytes_max: usize,
    // One request is encoded at a time; a lock, because a model is asked from any task.
    cache: Mutex<Cache>,
}

impl HttpModel {
    /// A model that is asked through `client`, whose connections are reused. It should follow no
    /// redirects (`reqwest::redirect::Policy::none()`): those take keys in headers to other hosts.
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
            timeouts: None,
            body_bytes_max: BODY_BYTES_MAX,
            cache: Mutex::default(),
        }
    }

    /// Waits differently.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }

    /// Reads more or less of an answer before giving up.
    #[must_use]
    pub fn body_bytes_max(mut self, bytes: usize) -> Self {
        self.body_bytes_max = bytes;
        self
    }

    /// The body that a transcript would be sent as.
    pub fn body(&self, transcript: &Transcript) -> Vec<u8> {
        self.encode(transcript, &self.ask_for(transcript))
    }

    fn encode(&self, transcript: &Transcript, ask: &Ask) -> Vec<u8> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        self.dialect.encode(transcript, ask, &mut cache)
    }

    /// What the conversation says goes before what this model was made with.
    fn ask_for(&self, transcript: &Transcript) -> Ask {
        let mut ask = self.ask.clone();
        ask.effort = Effort::of(transcript.effort()).or(ask.effort);
        let set = Some(transcript.answer_tokens_max()).filter(|most| *most != 0);
        let left = transcript.answer_tokens_left().unwrap_or(u32::MAX);
        ask.max_tokens = set.or(ask.max_tokens).map(|most| most.min(left));
        if let Some(conversation) = transcript.conversation() {
            ask.cache_key = conversation.to_string();
        }
        ask
    }
}

impl Model for HttpModel {
    fn refusal(&self, media_type: &str, bytes: u64) -> Option<String> {
        self.dialect.takes(&self.ask).refusal(media_type, bytes)
    }

    fn patience(&self) -> Option<Timeouts> {
        self.timeouts
    }

    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let ask = self.ask_for(transcript);
        let request = Request {
            client: self.client.clone(),
            dialect: self.dialect.clone(),
            endpoint: self.endpoint.clone(),
            patience: Patience::new(self.timeouts.unwrap_or_default()),
            body: self.encode(transcript, &ask),
            keys: Keys::of(&self.endpoint.headers),
            bytes_max: self.body_bytes_max,
            decoder: self.dialect.decoder(transcript.tools(), &ask),
            ask,
        };
        let sent = stream::once(request.send());
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
    bytes_max: usize,
    keys: Keys,
    decoder: Box<dyn Decoder>,
}

impl Request {
    /// Sends it. A key that is refused is asked for anew, once.
    async fn send(mut self) -> Result<Response, ModelFailure> {
        let mut response = self.try_send(false).await?;
        if response.status() == reqwest::StatusCode::UNAUTHORIZED
            && self.endpoint.auth.can_refresh()
        {
            response = self.try_send(true).await?;
        }
        if response.status().is_redirection() {
            return Err(self.keys.cover(redirect::redirected(&response)));
        }
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let sender = Sender::of(&response);
        if let Some(failure) = sender.nothing(response.status()) {
            return Err(failure);
        }
        Ok(Response {
            unjudged: Some(sender),
            decoder: self.decoder,
            patience: self.patience,
            body: response,
            bytes_left: self.bytes_max,
            has_begun: false,
            keys: self.keys,
        })
    }

    async fn try_send(&mut self, refresh: bool) -> Result<reqwest::Response, ModelFailure> {
        let url = format!("{}{}", self.endpoint.base_url, self.dialect.path(&self.ask));
        let headers = self.headers(refresh).await?;
        let request = self.client.post(url).headers(headers);
        let sent = request.body(self.body.clone()).send();
        self.patience
            .first_byte(sent)
            .await
            .map_err(ModelFailure::stalled)?
            .map_err(|error| network::failed(error, self.patience.outage()))
    }

    /// The dialect's headers, overlaid by those of the settings, overlaid by the key.
    async fn headers(&mut self, refresh: bool) -> Result<HeaderMap, ModelFailure> {
        let mut headers = HeaderMap::new();
        let mut set = |name: &str, value: &str| {
            let header = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
            let (known, mut value) = header.ok_or_else(|| {
                let message = format!("the header {name} or its value cannot be sent");
                ModelFailure::new(FailureClass::InvalidRequest, message)
            })?;
            // It is shown to nobody on its way, and in no table that HTTP/2 compresses with.
            value.set_sensitive(is_telling(name));
            headers.insert(known, value);
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
            self.keys.add(&value);
        }
        Ok(headers)
    }

    async fn refused(self, mut response: reqwest::Response) -> ModelFailure {
        let status = response.status().as_u16();
        let (sender, headers) = (Sender::of(&response), response.headers().clone());
        let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
        let mut body = Vec::new();
        // What can be read of the body tells more than that it could not be read to its end.
        while let Ok(Ok(Some(piece))) = self.patience.idle(response.chunk()).await {
            body.extend_from_slice(&piece);
            if ERROR_BODY_BYTES_MAX < body.len() {
                break;
            }
        }
        let failure = self.dialect.failure(status, &header, sender.words(&body)).into();
        self.keys.cover(sender.refusal(status, &body, failure))
    }
}

/// An answer on its way.
struct Response {
    decoder: Box<dyn Decoder>,
    patience: Patience,
    body: reqwest::Response,
    bytes_left: usize,
    keys: Keys,
    has_begun: bool,
    /// Who sent it, as long as it may turn out to be a web page.
    unjudged: Option<Sender>,
}

/// What a reader of an answer has left to do.
enum Reading {
    Open(Box<Response>),
    Over,
}

impl Response {
    fn read(self) -> AnswerStream {
        let pieces = stream::unfold(Reading::Open(Box::new(self)), |reading| async move {
            let Reading::Open(mut open) = reading else { return None };
            let (deltas, over) = open.next().await;
            let rest = if over { Reading::Over } else { Reading::Open(open) };
            Some((stream::iter(deltas), rest))
        });
        Box::pin(pieces.flatten())
    }

    /// The next bytes. A server may send the head of an answer long before its first byte.
    async fn piece(&mut self) -> Result<reqwest::Result<Option<Bytes>>, Silence> {
        let piece = if self.has_begun {
            self.patience.idle(self.body.chunk()).await
        } else {
            self.patience.first_byte(self.body.chunk()).await
        };
        self.has_begun = true;
        piece
    }

    /// What the next bytes mean, and whether they were the last.
    async fn next(&mut self) -> (Vec<Result<Delta, ModelFailure>>, bool) {
        let piece = match self.piece().await {
            Err(late) => return (vec![Err(ModelFailure::stalled(late))], true),
            // A connection may be reset behind the end mark: then the answer is whole all the same.
            Ok(Err(error)) => {
                let outage = self.patience.outage();
                let broke = || vec![Err(network::failed(error, outage))];
                return (self.whole().unwrap_or_else(broke), true);
            }
            Ok(Ok(piece)) => piece,
        };
        if let Some(sender) = self.unjudged.take()
            && let Some(page) = sender.page(piece.as_deref().unwrap_or_default())
        {
            return (vec![Err(page)], true);
        }
        let bytes = piece.as_ref().map_or(0, Bytes::len);
        let Some(rest) = self.bytes_left.checked_sub(bytes) else {
            let message = "the answer came in more bytes than an answer can have";
            return (vec![Err(ModelFailure::new(FailureClass::TooLarge, message))], true);
        };
        self.bytes_left = rest;
        let mut deltas = Vec::new();
        let (read, over) = match piece {
            Some(bytes) => (self.decoder.push(&bytes, &mut deltas), false),
            None => (self.decoder.end(&mut deltas), true),
        };
        // What follows the end mark is not waited for, whatever it is.
        let ended = has_end(&deltas);
        if ended && !over {
            self.drain().await;
        }
        if deltas.is_empty() && !over {
            // Bytes without meaning are still a sign of life.
            deltas.push(Delta::Alive);
        }
        // What came before the failure was said, and stays (J44, J46).
        let failed = read.is_err();
        let failure =
            read.err().filter(|_| !ended).map(|failure| Err(self.keys.cover(failure.into())));
        (deltas.into_iter().map(Ok).chain(failure).collect(), over || ended || failed)
    }

    /// Takes in what is left behind the end mark, if it is there: only a connection whose answer
    /// was read to its end serves the next step too.
    async fn drain(&mut self) {
        let rest = async { while let Ok(Some(_)) = self.body.chunk().await {} };
        // Late or never is no fault: the answer is whole.
        tokio::time::timeout(DRAIN_WAIT, rest).await.unwrap_or_default();
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
        Self { retry_after_ms, rejected, ..Self::new(class, message) }
    }
}
