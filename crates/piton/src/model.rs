//! The seam to models: a transcript goes in, pieces of an answer come out.
//!
//! A dialect over HTTP, the scripted model and the demo model all implement [`Model`]. None of them
//! retries, waits or writes: that is decided elsewhere, from the failure they report.

mod ready;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

pub use futures_util::Stream;
pub use piton_core::answer::Delta;
pub use piton_core::event::{
    AnswerPart, FailureClass, FinishReason, ModelRef, Native, Rejected, Usage, UserPart,
};
pub use piton_core::transcript::{Assistant, CallResult, Files, Message, Transcript};

pub use self::ready::{ModelFn, answer, answer_later, call, last_results, last_typed, say};
use crate::timeouts::Silence;
pub use crate::timeouts::Timeouts;

/// The answer of a model as it arrives. It ends behind `Delta::End`, or with an error, or, when the
/// stream was cut, without either. Dropping it stops the request.
pub type AnswerStream = Pin<Box<dyn Stream<Item = Result<Delta, ModelFailure>> + Send>>;

/// A model that can be asked.
pub trait Model: fmt::Debug + Send + Sync {
    /// Sends the transcript.
    fn ask(&self, transcript: &Transcript) -> AnswerStream;

    /// How long its answers are waited for, if it knows that better than the limits of a conversation.
    fn patience(&self) -> Option<Timeouts> {
        None
    }

    /// Why a file cannot be sent, if it cannot; goes behind the model's name.
    fn refusal(&self, _media_type: &str, _bytes: u64) -> Option<String> {
        None
    }
}

/// Finds models by name.
pub trait Models: fmt::Debug + Send + Sync {
    /// The model of this name, or why it cannot be asked.
    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Model>, ModelFailure>;
}

/// Why a model request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelFailure {
    /// What kind; the retry rule asks only this.
    pub class: FailureClass,
    /// What was said, short, without secrets.
    pub message: String,
    /// How long the provider asked to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Native blocks of earlier answers that were refused, if that was the reason.
    pub rejected: Option<Rejected>,
    /// How long to wait for the end of an outage, in milliseconds, if nobody could be reached.
    pub outage_ms_max: Option<u64>,
    /// What the libraries below said, for the journal.
    pub detail: Option<String>,
}

impl ModelFailure {
    /// A failure of a class.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            retry_after_ms: None,
            rejected: None,
            outage_ms_max: None,
            detail: None,
        }
    }

    /// A wait that was too long.
    pub(crate) fn stalled(silence: Silence) -> Self {
        Self::new(FailureClass::Stalled, silence.to_string())
    }
}

/// One model for every name.
#[derive(Clone, Debug)]
pub struct OneModel(pub Arc<dyn Model>);

impl Models for OneModel {
    fn find(&self, _model: &ModelRef) -> Result<Arc<dyn Model>, ModelFailure> {
        Ok(self.0.clone())
    }
}
