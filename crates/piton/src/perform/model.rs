//! Asking the model: the request leaves only behind its durable intent; the stream is shown live,
//! flushed in bounded pieces, and becomes an answer only at its end mark.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use piton_core::answer::{Answer, Delta, Partial};
use piton_core::event::{Event, FailureClass, FinishReason, Limits, ModelRef, PartialKind};
use piton_core::id::{Attempt, TurnId};
use piton_core::integrity;
use piton_store::ENTRY_BYTES_MAX;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::driver::{Driver, Landing, Launch};
use crate::model::{AnswerStream, ModelFailure};

/// Longest time that streamed text stays out of the journal.
const FLUSH_EVERY: Duration = Duration::from_millis(200);
/// Most streamed text that stays out of the journal, in bytes.
const FLUSH_BYTES: usize = 4 * 1024;
/// Largest answer, in bytes. What came before is kept, the turn breaks.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
// A byte can become six when it is stored, and what streamed must fit one entry in one piece.
const _: () = assert!(7 * ANSWER_BYTES_MAX <= ENTRY_BYTES_MAX);

/// A model request in flight, seen from the driver.
#[derive(Debug)]
pub(crate) struct ModelFlight {
    tap: Arc<Tap>,
    /// Streamed text that is shown but not in the journal yet.
    unflushed: Vec<(PartialKind, String)>,
    oldest: Option<Instant>,
}

/// What became of a model request.
pub(crate) struct ModelLanding {
    result: Result<Answer, ModelFailure>,
    bytes_received: u64,
}

/// Where the stream leaves its text for the driver. Pieces of one kind grow together, so it holds
/// at most one answer.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    pieces: Mutex<Vec<(PartialKind, String)>>,
    more: Notify,
}

impl Tap {
    fn pieces(&self) -> MutexGuard<'_, Vec<(PartialKind, String)>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pour(&self, kind: PartialKind, text: &str) {
        if !text.is_empty() {
            grow(&mut self.pieces(), kind, text);
            self.more.notify_one();
        }
    }

    /// Waits for text.
    pub(crate) async fn more(&self) {
        self.more.notified().await;
    }
}

fn grow(pieces: &mut Vec<(PartialKind, String)>, kind: PartialKind, text: &str) {
    match pieces.last_mut() {
        Some((last, whole)) if *last == kind => whole.push_str(text),
        Some(_) | None => pieces.push((kind, text.to_owned())),
    }
}

impl ModelFlight {
    /// When the oldest text must be in the journal.
    pub(crate) fn flush_at(&self) -> Option<Instant> {
        self.oldest.map(|oldest| oldest + FLUSH_EVERY)
    }

    pub(crate) fn tap(&self) -> Arc<Tap> {
        self.tap.clone()
    }
}

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
        self.asking = Some(ModelFlight { tap: tap.clone(), unflushed: Vec::new(), oldest: None });
        let transcript = transcript.in_conversation(self.log.lease().conversation().clone());
        let (models, journal) = (self.parts.models.clone(), self.parts.journal.clone());
        let files = self.files.clone();
        let flight = Box::pin(async move {
            let (mut partial, watch) = (Partial::default(), &tap);
            let exchange = async {
                let transcript = files.fill(transcript, &*journal).await?;
                // Asked in here and not before: nothing leaves ahead of its commit.
                let stream = models.find(&model)?.ask(&transcript);
                receive(stream, &mut partial, watch, &limits).await
            };
            let received = AssertUnwindSafe(exchange).catch_unwind().await.unwrap_or_else(|_| {
                Err(ModelFailure::new(FailureClass::Unknown, "the model's code panicked"))
            });
            let bytes_received = partial.bytes_received();
            let result = received.and_then(|()| whole(partial, turn, step));
            Landing::Model(ModelLanding { result, bytes_received })
        });
        self.launches.push(Launch { call: None, flight });
    }

    /// Takes in the answer or the failure.
    pub(crate) fn land_model(&mut self, landing: ModelLanding) {
        match landing.result.and_then(storable) {
            Ok(answered) => {
                // The answer supersedes what streamed; the unflushed rest need not be stored.
                self.asking = None;
                self.log.push(answered);
            }
            Err(failure) => {
                self.drop_request();
                let jitter = self.parts.chance.next() % 1_000;
                self.log.push(Event::ModelFailed {
                    class: failure.class,
                    message: failure.message,
                    retry_after_ms: failure.retry_after_ms,
                    bytes_received: landing.bytes_received,
                    jitter_permille: u16::try_from(jitter).unwrap_or(0),
                    rejected: failure.rejected,
                });
            }
        }
    }

    /// Shows what streamed, and flushes it when there is much of it.
    pub(crate) fn show_stream(&mut self) {
        let Some(flight) = &mut self.asking else { return };
        let pieces = std::mem::take(&mut *flight.tap.pieces());
        for (kind, text) in pieces {
            self.log.live().text(kind, &text);
            grow(&mut flight.unflushed, kind, &text);
            flight.oldest.get_or_insert_with(Instant::now);
        }
        let waiting: usize = flight.unflushed.iter().map(|(_, text)| text.len()).sum();
        if FLUSH_BYTES <= waiting {
            self.flush_stream();
        }
    }

    /// Puts what streamed into the next commit.
    pub(crate) fn flush_stream(&mut self) {
        let Some(flight) = &mut self.asking else { return };
        flight.oldest = None;
        for (kind, text) in flight.unflushed.drain(..) {
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

/// Reads the stream to its end, whichever that is.
async fn receive(
    mut stream: AnswerStream,
    partial: &mut Partial,
    tap: &Tap,
    limits: &Limits,
) -> Result<(), ModelFailure> {
    let patience = match limits.idle_ms_max {
        0 => Duration::MAX,
        ms => Duration::from_millis(ms),
    };
    let mut received = 0_usize;
    while !partial.is_finished() {
        let Ok(next) = tokio::time::timeout(patience, stream.next()).await else {
            let message = format!("the model was silent for {} ms", limits.idle_ms_max);
            return Err(ModelFailure::new(FailureClass::Stalled, message));
        };
        let Some(delta) = next else { break };
        let delta = delta?;
        if ANSWER_BYTES_MAX < received.saturating_add(bytes(&delta)) {
            return Err(too_large(ANSWER_BYTES_MAX));
        }
        received += bytes(&delta);
        match &delta {
            Delta::Text { text, .. } => tap.pour(PartialKind::Text, text),
            Delta::Reasoning { text, .. } => tap.pour(PartialKind::Reasoning, text),
            Delta::CallOpened { .. }
            | Delta::CallArguments { .. }
            | Delta::Closed { .. }
            | Delta::Native(_)
            | Delta::Alive
            | Delta::End { .. } => {}
        }
        partial.push(delta);
    }
    Ok(())
}

/// What a piece adds to an answer.
fn bytes(delta: &Delta) -> usize {
    match delta {
        Delta::Text { text, .. } | Delta::Reasoning { text, .. } => text.len(),
        Delta::CallOpened { name, .. } => name.len(),
        Delta::CallArguments { json, .. } => json.len(),
        Delta::Native(native) => native.raw.len(),
        Delta::Alive | Delta::Closed { .. } | Delta::End { .. } => 0,
    }
}

fn too_large(bytes_max: usize) -> ModelFailure {
    let message = format!("the answer is larger than {bytes_max} bytes");
    ModelFailure::new(FailureClass::TooLarge, message)
}

/// The answer as a fact, if a journal takes it: many small parts can cost more than their text.
fn storable(answer: Answer) -> Result<Event, ModelFailure> {
    let Answer { parts, finish, usage, dropped, native } = answer;
    let answered = Event::ModelAnswered { parts, finish, usage, dropped, native };
    if ENTRY_BYTES_MAX < answered.to_stored().len() {
        return Err(too_large(ENTRY_BYTES_MAX));
    }
    Ok(answered)
}

/// Makes the answer, if there is one.
fn whole(partial: Partial, turn: TurnId, step: u32) -> Result<Answer, ModelFailure> {
    let answer = partial
        .finish(turn, step)
        .map_err(|error| ModelFailure::new(FailureClass::StreamBroke, error.to_string()))?;
    if answer.finish == FinishReason::Refused {
        let message = "the model refused to answer";
        return Err(ModelFailure::new(FailureClass::ContentFilter, message));
    }
    if answer.is_empty() {
        return Err(ModelFailure::new(FailureClass::Empty, "the answer was empty"));
    }
    Ok(answer)
}
