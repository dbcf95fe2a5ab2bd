//! How providers talk: a transcript becomes the body of a request, bytes become pieces of an answer.
//!
//! Pure: no HTTP client, no retries, no journal. A provider is a dialect, an endpoint, a way to
//! authenticate and a framing; only the dialect lives here. What a provider sends is never trusted:
//! unknown events, blocks and fields are skipped, an error event is an error, and only a dialect's
//! end mark makes an end.

pub mod anthropic;
pub mod gemini;
pub mod openai_chat;
pub mod openai_responses;

mod effort;
mod file;
mod fingerprint;
mod lifted;
mod list;
mod loose;
mod names;
mod rejected;
mod said;
mod schema;
mod status;
mod wait;

pub mod cache;
pub mod sse;

use std::fmt;

use piton_core::answer::Delta;
use piton_core::event::{FailureClass, Rejected, ToolSpec};
use piton_core::id::CallId;
use piton_core::transcript::Transcript;

use crate::cache::Cache;
pub use crate::effort::Effort;
pub use crate::file::Takes;
use crate::sse::EventTooLarge;

/// A provider's wire format.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// Where the request goes, below the base URL.
    fn path(&self, ask: &Ask) -> String;

    /// Headers that the format itself asks for; authentication is not its business.
    fn headers(&self, ask: &Ask) -> Vec<(&'static str, String)>;

    /// Makes the body. Cannot fail: a transcript is valid by type, and everything that one provider
    /// rejects and another accepts (ids, order, empty parts) is mended here. The cache keeps what
    /// does not change from request to request, so a step costs what is new.
    fn encode(&self, transcript: &Transcript, ask: &Ask, cache: &mut Cache) -> Vec<u8>;

    /// Which files can be sent. What cannot is told to the model in its place.
    fn takes(&self, ask: &Ask) -> Takes;

    /// Reads one answer to a request that offered `tools`: calls come back with the real names of
    /// the tools, however those had to be spelled on the wire.
    fn decoder(&self, tools: &[ToolSpec], ask: &Ask) -> Box<dyn Decoder>;

    /// Says what an answer with an error status means.
    fn failure(&self, status: u16, header: &dyn Fn(&str) -> Option<String>, body: &[u8])
    -> Failure;
}

/// Reads the body of one answer, in pieces of any size.
///
/// What is read goes into the caller's list, beside the verdict and not instead of it: what came
/// before a failure is valid and stays, also where both came with the same bytes.
pub trait Decoder: fmt::Debug + Send {
    /// Takes in the next bytes. A failure ends the answer; nothing behind it is read.
    fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Failure>;

    /// The body ended. Gives what was held back, such as the end mark of a format whose last event
    /// is optional. An answer without its end mark by then was cut.
    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Failure>;
}

/// What a request is made with, beside the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Who is asked; tags native blocks.
    pub provider: String,
    /// The host that is asked; signatures are bound to it.
    pub host: String,
    /// The model's name on the wire.
    pub model: String,
    /// Most tokens of the answer.
    pub max_tokens: Option<u32>,
    /// How much the model should think.
    pub effort: Option<Effort>,
    /// Names the conversation for prompt caches.
    pub cache_key: String,
}

/// Why a request failed, as far as the wire tells.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind; the retry rule asks only this.
    pub class: FailureClass,
    /// What the provider said, short.
    pub message: String,
    /// How long it asked to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Native blocks of earlier answers that were refused, if that was the reason.
    pub rejected: Option<Rejected>,
}

impl Failure {
    /// A failure of a class, without a wait.
    pub(crate) fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after_ms: None, rejected: None }
    }
}

impl From<EventTooLarge> for Failure {
    fn from(error: EventTooLarge) -> Self {
        Self::new(FailureClass::TooLarge, error.to_string())
    }
}

/// The name of a call on the wire, for every provider that takes letters, digits and underscores.
///
/// Providers' own ids are missing, repeat or do not fit another provider; ours are unique in the
/// conversation and the same after a restart.
pub fn wire_id(call: CallId) -> String {
    format!("call_{}_{}_{}", call.turn.0, call.step, call.index)
}
