//! Asking the model: the request leaves only behind its durable intent; the stream is shown live,
//! flushed in bounded pieces, and becomes an answer only at its end mark.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use piton_core::answer::Partial;
use piton_core::event::{Event, FailureClass, ModelRef};
use piton_core::id::Attempt;
use piton_core::{integrity, overflow};

use crate::driver::Driver;
use crate::flight::model::{ModelFlight, ModelLanding, Tap, answered, receive};
use crate::flight::{Landing, Launch};
use crate::model::ModelFailure;
use crate::timeouts::Timeouts;

impl Driver<'_> {
    /// Records the intent to ask; the request itself leaves after the commit.
    pub(crate) fn ask_model(&mut self, step: u32, attempt: Attempt) {
        let (transcript, digest) = self.chain.next(self.log.state());
        debug_assert_eq!(integrity::violations(&transcript), [], "the transcript is valid by type");
        let nobody = || ModelRef { provider: "none".into(), model: String::new() };
        let model = transcript.model().cloned().unwrap_or_else(nobody);
        let turn = self.turn();
        let limits = self.log.state().config.limits;
        self.log.push(Event::ModelAsked {
            step,
            attempt,
            model: model.clone(),
            digest,
            tokens_estimated: transcript.tokens_estimated(),
        });
        let tap = Arc::new(Tap::default());
        self.asking = Some(ModelFlight::new(tap.clone()));
        let transcript = transcript.in_conversation(self.log.lease().conversation().clone());
        let (models, journal) = (self.parts.models.clone(), self.parts.journal.clone());
        let files = self.files.clone();
        let flight = Box::pin(async move {
            let (mut partial, watch) = (Partial::default(), &tap);
            let exchange = async {
                let transcript = files.fill(transcript, &*journal).await?;
                // Asked in here and not before: nothing leaves ahead of its commit.
                let asked = models.find(&model)?;
                let timeouts = asked.patience().unwrap_or_else(|| Timeouts::of(&limits));
                receive(asked.ask(&transcript), &mut partial, watch, timeouts).await
            };
            let received = AssertUnwindSafe(exchange).catch_unwind().await.unwrap_or_else(|_| {
                Err(ModelFailure::new(FailureClass::Unknown, "the model's code panicked"))
            });
            let bytes_received = partial.bytes_received();
            let answered = received.and_then(|()| answered(partial, turn, step));
            Landing::Model(ModelLanding { answered, bytes_received })
        });
        self.launches.push(Launch { call: None, flight });
    }

    /// Takes in the answer or the failure.
    pub(crate) fn land_model(&mut self, landing: ModelLanding) {
        match landing.answered {
            Ok(answered) => {
                // The answer supersedes what streamed; the unflushed rest need not be stored.
                self.asking = None;
                self.log.push(answered);
            }
            Err(failure) => {
                self.drop_request();
                let learned = self.learned_window(&failure);
                let jitter = self.parts.chance.next() % 1_000;
                self.log.push(Event::ModelFailed {
                    class: failure.class,
                    message: failure.message,
                    retry_after_ms: failure.retry_after_ms,
                    bytes_received: landing.bytes_received,
                    jitter_permille: u16::try_from(jitter).unwrap_or(0),
                    rejected: failure.rejected,
                    outage_ms_max: failure.outage_ms_max,
                    detail: failure.detail,
                });
                if let Some(learned) = learned {
                    self.log.push(learned);
                }
            }
        }
    }

    /// What a refusal says of the model's window, if that is news.
    pub(crate) fn learned_window(&self, failure: &ModelFailure) -> Option<Event> {
        let refusal = Some(failure).filter(|it| it.class == FailureClass::ContextOverflow)?;
        let tokens = overflow::window_in(&refusal.message)?;
        let state = self.log.state();
        let is_news = state.window().is_none_or(|known| tokens < known.tokens);
        let model = state.config.model.clone().filter(|_| is_news)?;
        Some(Event::WindowLearned { model, tokens })
    }

    /// Shows what streamed, and flushes it when there is much of it.
    pub(crate) fn show_stream(&mut self) {
        let Some(flight) = &mut self.asking else { return };
        for (kind, text) in flight.take_streamed() {
            self.log.live().text(kind, &text);
        }
        if flight.is_full() {
            self.flush_stream();
        }
    }

    /// Puts what streamed into the next commit.
    pub(crate) fn flush_stream(&mut self) {
        let Some(flight) = &mut self.asking else { return };
        for (kind, text) in flight.take_unflushed() {
            self.log.push(Event::ModelPartial { kind, text: text.into() });
        }
    }

    /// Ends a request that will not become an answer; what streamed is kept.
    pub(crate) fn drop_request(&mut self) {
        self.show_stream();
        self.flush_stream();
        self.asking = None;
    }
}
