//! A model whose answers are bound to what stood before them, as newer providers bind theirs.
//!
//! Every answer gets a native block that follows from the whole request: system, tools, messages. When
//! the block comes back behind anything else, the request is refused. Nothing is remembered, so a killed
//! process is checked like any other. A history that changed for a reason comes without the blocks
//! behind the change, and is accepted.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt as _, stream};
use piton::model::{AnswerStream, Model, ModelFailure};
use piton_core::answer::{Delta, EMPTY_NOTE};
use piton_core::event::{FailureClass, ModelRef, Native, UserPart};
use piton_core::transcript::{Message, Transcript};

/// Tells these blocks from those of others.
const HOST: &str = "binding";

/// Whether the model is sent what the transcript says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// All of it.
    Whole,
    /// Without notes that asked again, once they were answered: the control that must be noticed.
    WithoutNotes,
}

/// Requests that were refused, in words.
pub type Refusals = Arc<Mutex<Vec<String>>>;

/// Binds the answers of another model.
#[derive(Debug)]
pub struct BindingModel<M> {
    inner: M,
    delivery: Delivery,
    refusals: Refusals,
}

impl<M> BindingModel<M> {
    /// Binds the answers of `inner`; what it refuses is added to `refusals`.
    pub fn new(inner: M, delivery: Delivery, refusals: Refusals) -> Self {
        Self { inner, delivery, refusals }
    }

    fn delivered(&self, transcript: &Transcript) -> Vec<Message> {
        let messages = transcript.messages();
        let last = messages.len().saturating_sub(1);
        let kept = messages.iter().enumerate().filter(|(at, message)| match self.delivery {
            Delivery::Whole => true,
            Delivery::WithoutNotes => *at == last || !is_note(message),
        });
        kept.map(|(_, message)| message.clone()).collect()
    }
}

impl<M: Model + fmt::Debug> Model for BindingModel<M> {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let messages = self.delivered(transcript);
        if let Some(at) = unbound(transcript, &messages) {
            let message = format!(
                "messages.{at}: `thinking` blocks cannot be modified, and nothing that stands before \
                 them may be changed, added or left out."
            );
            let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
            refusals.push(message.clone());
            let failure = ModelFailure::new(FailureClass::InvalidRequest, message);
            return Box::pin(stream::iter([Err(failure)]));
        }
        let model = transcript.model().cloned();
        let native = model.map(|ModelRef { provider, model }| {
            let raw = binding(transcript, &messages).into();
            Native { provider, host: HOST.into(), model, raw }
        });
        Box::pin(self.inner.ask(transcript).flat_map(move |delta| {
            let is_end = matches!(delta, Ok(Delta::End { .. }));
            let native = native.clone().filter(|_| is_end).map(|native| Ok(Delta::Native(native)));
            stream::iter(native.into_iter().chain([delta]))
        }))
    }
}

fn is_note(message: &Message) -> bool {
    match message {
        Message::User(parts) => *parts == [UserPart::text(EMPTY_NOTE)],
        Message::Assistant(_) | Message::Results(_) => false,
    }
}

/// The first message whose block does not belong behind what stands before it.
fn unbound(transcript: &Transcript, messages: &[Message]) -> Option<usize> {
    messages.iter().enumerate().find_map(|(at, message)| {
        let Message::Assistant(assistant) = message else { return None };
        let native = assistant.native.as_ref()?;
        let model = transcript.model()?;
        let is_own = native.host == HOST
            && (&*native.provider, &*native.model) == (&*model.provider, &*model.model);
        let before = messages.get(..at).unwrap_or_default();
        (is_own && *native.raw != *binding(transcript, before)).then_some(at)
    })
}

/// What follows from all that stands before an answer.
fn binding(transcript: &Transcript, messages: &[Message]) -> String {
    let mut hasher = DefaultHasher::new();
    let before = (transcript.system(), transcript.tools(), messages);
    format!("{before:?}").hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
