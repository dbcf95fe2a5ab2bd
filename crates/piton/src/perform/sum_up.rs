//! Asking the model to sum up a part: durable before the request leaves, and never shown as an answer.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use piton_core::action::PieceAsk;
use piton_core::answer::Partial;
use piton_core::event::{Event, FailureClass, ModelRef, SummaryFault, Usage};
use piton_core::summarise;
use piton_core::transcript::Transcript;
use tokio_util::sync::CancellationToken;

use crate::digest;
use crate::driver::Driver;
use crate::flight::model::{Tap, receive, whole};
use crate::flight::summary::{SummaryFlight, SummaryLanding};
use crate::flight::{Landing, Launch};
use crate::model::ModelFailure;
use crate::timeouts::Timeouts;

impl Driver<'_> {
    /// Records the intent to ask; the request itself leaves after the commit.
    pub(crate) fn sum_up(&mut self, ask: PieceAsk) {
        let state = self.log.state();
        let transcript = summarise::request(state, &ask);
        let nobody = || ModelRef { provider: "none".into(), model: String::new() };
        let model = transcript.model().cloned().unwrap_or_else(nobody);
        let (turn, limits) = (self.turn(), state.config.limits);
        let asked = Event::SummaryAsked {
            range: ask.range,
            model: model.clone(),
            digest: digest::of(&transcript),
            tokens_estimated: transcript.tokens_estimated(),
            tokens_before: Transcript::from(state).tokens_estimated(),
        };
        self.log.push(asked);
        let (cancel, models) = (CancellationToken::new(), self.parts.models.clone());
        self.summing = Some(SummaryFlight { ask, cancel: cancel.clone() });
        let transcript = transcript.in_conversation(self.log.lease().conversation().clone());
        let flight = Box::pin(async move {
            let mut partial = Partial::default();
            let exchange = async {
                // Asked in here and not before: nothing leaves ahead of its commit.
                let asked = models.find(&model)?;
                let timeouts = asked.patience().unwrap_or_else(|| Timeouts::of(&limits));
                // Nobody watches it stream.
                receive(asked.ask(&transcript), &mut partial, &Tap::default(), timeouts).await
            };
            let exchange = AssertUnwindSafe(exchange).catch_unwind();
            let received = tokio::select! {
                biased;
                () = cancel.cancelled() => return Landing::Nothing,
                received = exchange => received.unwrap_or_else(|_| {
                    Err(ModelFailure::new(FailureClass::Unknown, "the model's code panicked"))
                }),
            };
            let answered = received.and_then(|()| whole(partial, turn, 0));
            Landing::Summary(Box::new(SummaryLanding { answered }))
        });
        self.launches.push(Launch { call: None, flight });
    }

    /// Takes in what the model wrote, if it is of use.
    pub(crate) fn land_summary(&mut self, landing: SummaryLanding) {
        let Some(SummaryFlight { ask, .. }) = self.summing.take() else { return };
        let failed = |why, message: String, usage| Event::SummaryFailed { why, message, usage };
        let mut learned = None;
        let fact = match landing.answered {
            Ok(answer) => match summarise::accept(self.log.state(), &ask, &answer) {
                Ok(text) => Event::SummaryAnswered { text, usage: answer.usage },
                Err(why) => failed(why, String::new(), answer.usage),
            },
            Err(failure) => {
                learned = self.learned_window(&failure);
                failed(fault(failure.class), failure.message, Usage::default())
            }
        };
        self.log.push(fact);
        if let Some(learned) = learned {
            self.log.push(learned);
        }
    }

    /// Nobody waits for the summary any more: a person said so.
    pub(crate) fn leave_summary(&mut self) {
        let (why, message, usage) = (SummaryFault::Stopped, String::new(), Usage::default());
        self.log.push(Event::SummaryFailed { why, message, usage });
        self.drop_summary();
    }

    /// Drops a request whose answer the journal does not wait for.
    pub(crate) fn drop_summary(&mut self) {
        if self.log.state().summing.asked.is_none()
            && let Some(SummaryFlight { cancel, .. }) = self.summing.take()
        {
            cancel.cancel();
        }
    }
}

fn fault(class: FailureClass) -> SummaryFault {
    if class == FailureClass::ContextOverflow {
        SummaryFault::Overflow
    } else if class == FailureClass::Empty {
        SummaryFault::Empty
    } else {
        SummaryFault::Failed
    }
}
