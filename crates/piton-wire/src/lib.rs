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

mod dialect;
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
use piton_core::event::{FailureClass, Rejected};
use piton_core::id::CallId;

pub use crate::dialect::Dialect;
pub use crate::effort::Effort;
pub use crate::file::Takes;
use crate::sse::EventTooLarge;

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
