//! Reaching a session from outside while it runs.

use std::sync::Arc;

use piton_core::action::Wish;
use piton_core::command::Reply;
use piton_core::id::InquiryId;
use tokio::sync::{mpsc, oneshot, watch};

use crate::error::CommandError;
use crate::receipt::{Handed, Rest};

/// Answers that wait for the driver; more are refused.
const CONTROLS_MAX: usize = 64;

/// A message to a running driver.
#[derive(Debug)]
pub(crate) enum Control {
    Answer {
        inquiry: InquiryId,
        reply: Reply,
        done: oneshot::Sender<bool>,
    },
    Command(Box<Handed>),
    /// A letter may have come.
    Look,
    /// A face wants to know that the writer's place is taken.
    Hold(oneshot::Sender<Result<(), CommandError>>),
}

/// The driver's end.
#[derive(Debug)]
pub(crate) struct Controls {
    // An interrupt is a level, not a message: it cannot be missed between two waits.
    interrupt: Arc<watch::Sender<bool>>,
    seen: watch::Receiver<bool>,
    sender: mpsc::Sender<Control>,
    messages: mpsc::Receiver<Control>,
    seat: Seat,
    /// Commands that wait for the running turn to be interrupted.
    pub(crate) postponed: Vec<Handed>,
    /// Senders of commands that wait until the conversation rests.
    pub(crate) resting: Vec<oneshot::Sender<Rest>>,
}

/// What the faces of this process want of a conversation. A clone counts the same.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    /// Faces that can answer questions.
    pub(crate) faces: Count,
    /// Faces that keep the writer's place, also while nothing is to be done.
    pub(crate) holds: Count,
}

impl Default for Seat {
    fn default() -> Self {
        // One channel for both: there is a seat for every conversation that a face is about.
        let counts = Arc::new(watch::Sender::new([0; 2]));
        let count = |place| Count { counts: counts.clone(), place };
        Self { faces: count(0), holds: count(1) }
    }
}

/// How many there are of something. A clone counts the same.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    counts: Arc<watch::Sender<[usize; 2]>>,
    place: usize,
}

impl Count {
    fn of(&self, counts: &[usize; 2]) -> usize {
        counts.get(self.place).copied().unwrap_or_default()
    }

    fn change(&self, change: impl FnOnce(usize) -> usize) {
        self.counts.send_modify(|counts| {
            if let Some(count) = counts.get_mut(self.place) {
                *count = change(*count);
            }
        });
    }

    pub(crate) fn come(&self) {
        self.change(|count| count + 1);
    }

    pub(crate) fn go(&self) {
        self.change(|count| count.saturating_sub(1));
    }

    pub(crate) fn are_there(&self) -> bool {
        0 < self.of(&self.counts.borrow())
    }

    /// Waits until the last one has gone.
    pub(crate) async fn gone(&self) {
        let mut seen = self.counts.subscribe();
        // The sender is kept here, so the channel never closes.
        if seen.wait_for(|counts| self.of(counts) == 0).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Default for Controls {
    fn default() -> Self {
        let (sender, messages) = mpsc::channel(CONTROLS_MAX);
        let (interrupt, seen) = watch::channel(false);
        Self {
            interrupt: Arc::new(interrupt),
            seen,
            sender,
            messages,
            seat: Seat::default(),
            postponed: Vec::new(),
            resting: Vec::new(),
        }
    }
}

impl Controls {
    pub(crate) fn controller(&self) -> Controller {
        let (interrupt, sender) = (self.interrupt.clone(), self.sender.clone());
        Controller { interrupt, sender }
    }

    /// The same, with faces that are counted elsewhere.
    pub(crate) fn with_seat(seat: Seat) -> Self {
        Self { seat, ..Self::default() }
    }

    /// The faces of this process.
    pub(crate) fn seat(&self) -> &Seat {
        &self.seat
    }

    /// Faces that can answer questions.
    pub(crate) fn faces(&self) -> &Count {
        &self.seat.faces
    }

    /// Faces that keep the writer's place.
    pub(crate) fn holds(&self) -> &Count {
        &self.seat.holds
    }

    /// Stops the running turn.
    pub(crate) fn interrupt(&self) {
        self.interrupt.send_replace(true);
    }

    /// Waits for the next message.
    pub(crate) async fn next(&mut self) -> Control {
        match self.messages.recv().await {
            Some(control) => control,
            // A sender is kept here, so the channel never closes.
            None => std::future::pending().await,
        }
    }

    pub(crate) fn wish(&self) -> Wish {
        if *self.seen.borrow() { Wish::Interrupt } else { Wish::Proceed }
    }

    /// An old interrupt does not stop a new run.
    pub(crate) fn reset(&mut self) {
        self.interrupt.send_replace(false);
        self.seen.mark_unchanged();
    }

    /// A message that is there already.
    pub(crate) fn waiting(&mut self) -> Option<Control> {
        self.messages.try_recv().ok()
    }

    /// Waits for an interrupt, also one that has been seen.
    pub(crate) async fn interrupted(&mut self) {
        if self.seen.wait_for(|wish| *wish).await.is_err() {
            // The sender is kept here too, so the channel never closes.
            std::future::pending::<()>().await;
        }
    }

    /// Waits for a message, or, with `None`, for an interrupt or for the last face to go.
    pub(crate) async fn told(&mut self) -> Option<Control> {
        let Self { seen, messages, seat: Seat { faces, .. }, .. } = self;
        let attended = faces.are_there();
        tokio::select! {
            biased;
            // Both senders are kept here too, so neither channel ever closes.
            _ = seen.changed() => None,
            message = messages.recv() => message,
            () = faces.gone(), if attended => None,
        }
    }
}

/// Interrupts and answers a session from outside. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Controller {
    interrupt: Arc<watch::Sender<bool>>,
    sender: mpsc::Sender<Control>,
}

impl Controller {
    /// Stops the running turn as soon as possible, keeping everything. Does nothing to a session
    /// that does not run, and nothing more the second time.
    pub fn interrupt(&self) {
        self.interrupt.send_if_modified(|wish| !std::mem::replace(wish, true));
    }

    pub(crate) fn sender(&self) -> &mpsc::Sender<Control> {
        &self.sender
    }

    /// Answers a question; says whether it was open. Waits until the answer is durable; a session
    /// that does not run takes it in with its next run.
    pub async fn answer(&self, inquiry: InquiryId, reply: Reply) -> bool {
        let (done, known) = oneshot::channel();
        let control = Control::Answer { inquiry, reply, done };
        self.sender.send(control).await.is_ok() && known.await.unwrap_or(false)
    }
}
