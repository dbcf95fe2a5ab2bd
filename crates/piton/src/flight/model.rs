//! A model request in flight: its stream, what of it waits for the journal, and its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use piton_core::answer::{Answer, Delta, Partial};
use piton_core::event::{Event, FailureClass, FinishReason, PartialKind};
use piton_core::id::TurnId;
use piton_store::ENTRY_BYTES_MAX;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::model::{AnswerStream, ModelFailure};
use crate::timeouts::{Silence, Timeouts};

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
    /// The answer as a fact.
    pub(crate) answered: Result<Event, ModelFailure>,
    pub(crate) bytes_received: u64,
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
    pub(crate) fn new(tap: Arc<Tap>) -> Self {
        Self { tap, unflushed: Vec::new(), oldest: None }
    }

    /// When the oldest text must be in the journal.
    pub(crate) fn flush_at(&self) -> Option<Instant> {
        self.oldest.map(|oldest| oldest + FLUSH_EVERY)
    }

    pub(crate) fn tap(&self) -> Arc<Tap> {
        self.tap.clone()
    }

    /// What streamed since this was asked last. It waits for the journal from here on.
    pub(crate) fn take_streamed(&mut self) -> Vec<(PartialKind, String)> {
        let pieces = std::mem::take(&mut *self.tap.pieces());
        for (kind, text) in &pieces {
            grow(&mut self.unflushed, *kind, text);
            self.oldest.get_or_insert_with(Instant::now);
        }
        pieces
    }

    /// Whether too much text waits for the journal.
    pub(crate) fn is_full(&self) -> bool {
        FLUSH_BYTES <= self.unflushed.iter().map(|(_, text)| text.len()).sum()
    }

    /// What waits for the journal.
    pub(crate) fn take_unflushed(&mut self) -> Vec<(PartialKind, String)> {
        self.oldest = None;
        std::mem::take(&mut self.unflushed)
    }
}

/// Reads the stream to its end mark, or until it breaks.
pub(crate) async fn receive(
    mut stream: AnswerStream,
    partial: &mut Partial,
    tap: &Tap,
    timeouts: Timeouts,
) -> Result<(), ModelFailure> {
    let mut waits = Waits::new(timeouts);
    let mut received = 0_usize;
    while !partial.is_finished() {
        let (most, silence) = waits.next();
        let Ok(next) = tokio::time::timeout(most, stream.next()).await else {
            return Err(ModelFailure::stalled(silence));
        };
        let Some(delta) = next else { break };
        let delta = delta?;
        waits.came(&delta);
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

/// How long to wait for the next piece of an answer.
struct Waits {
    timeouts: Timeouts,
    has_begun: bool,
    /// When something came that is more than a sign of life.
    word: Instant,
}

impl Waits {
    fn new(timeouts: Timeouts) -> Self {
        Self { timeouts, has_begun: false, word: Instant::now() }
    }

    /// The longest wait for the next piece, and what it is called when it is over.
    fn next(&self) -> (Duration, Silence) {
        let Timeouts { first_byte, idle, wordless, .. } = self.timeouts;
        let gap = if self.has_begun {
            (idle, Silence::Idle(idle))
        } else {
            (first_byte, Silence::FirstByte(first_byte))
        };
        let words = (wordless.saturating_sub(self.word.elapsed()), Silence::Wordless(wordless));
        if words.0 < gap.0 { words } else { gap }
    }

    fn came(&mut self, delta: &Delta) {
        self.has_begun = true;
        if *delta != Delta::Alive {
            self.word = Instant::now();
        }
    }
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

/// The answer as a fact, if there is one and a journal takes it: many small parts can cost more than
/// their text.
pub(crate) fn answered(partial: Partial, turn: TurnId, step: u32) -> Result<Event, ModelFailure> {
    let Answer { parts, finish, usage, dropped, native } = whole(partial, turn, step)?;
    let answered = Event::ModelAnswered { parts, finish, usage, dropped, native };
    if ENTRY_BYTES_MAX < answered.to_stored().len() {
        return Err(too_large(ENTRY_BYTES_MAX));
    }
    Ok(answered)
}

/// Makes the answer, if there is one.
pub(crate) fn whole(partial: Partial, turn: TurnId, step: u32) -> Result<Answer, ModelFailure> {
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
