//! Reaching a session from outside while it runs.

use std::sync::Arc;

use piton_core::action::Wish;
use piton_core::command::Reply;
use piton_core::id::{ConversationId, InquiryId};
use tokio::sync::{mpsc, oneshot, watch};

use crate::delegate::Crew;
use crate::orders::{Handed, Rest};

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
}

/// The driver's end.
#[derive(Debug)]
pub(crate) struct Controls {
    // An interrupt is a level, not a message: it cannot be missed between two waits.
    interrupt: Arc<watch::Sender<bool>>,
    seen: watch::Receiver<bool>,
    sender: mpsc::Sender<Control>,
    messages: mpsc::Receiver<Control>,
    crew: Arc<Crew>,
    /// The faces of this process that can answer.
    faces: Faces,
    /// Commands that wait for the running turn to be interrupted.
    pub(crate) postponed: Vec<Handed>,
    /// Senders of commands that wait until the conversation rests.
    pub(crate) resting: Vec<oneshot::Sender<Rest>>,
}

/// How many faces of this process can answer a question of a conversation. A clone counts the same.
#[derive(Clone, Debug)]
pub(crate) struct Faces {
    count: Arc<watch::Sender<usize>>,
}

impl Default for Faces {
    fn default() -> Self {
        Self { count: Arc::new(watch::Sender::new(0)) }
    }
}

impl Faces {
    pub(crate) fn come(&self) {
        self.count.send_modify(|count| *count += 1);
    }

    pub(crate) fn go(&self) {
        self.count.send_modify(|count| *count = count.saturating_sub(1));
    }

    pub(crate) fn are_there(&self) -> bool {
        0 < *self.count.borrow()
    }

    /// Waits until the last one has gone.
    async fn gone(&self) {
        // The sender is kept here, so the channel never closes.
        if self.count.subscribe().wait_for(|count| *count == 0).await.is_err() {
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
            crew: Arc::default(),
            faces: Faces::default(),
            postponed: Vec::new(),
            resting: Vec::new(),
        }
    }
}

impl Controls {
    pub(crate) fn controller(&self) -> Controller {
        let (interrupt, sender) = (self.interrupt.clone(), self.sender.clone());
        Controller { interrupt, sender, crew: self.crew.clone() }
    }

    /// The same, with faces that are counted elsewhere.
    pub(crate) fn with_faces(faces: Faces) -> Self {
        Self { faces, ..Self::default() }
    }

    pub(crate) fn faces(&self) -> &Faces {
        &self.faces
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

    /// Those who work for this conversation at the moment.
    pub(crate) fn crew(&self) -> &Arc<Crew> {
        &self.crew
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
        let Self { seen, messages, faces, .. } = self;
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
    crew: Arc<Crew>,
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

    /// Answers a question of a worker; says whether it was open, and the worker at work.
    pub async fn answer_worker(
        &self,
        worker: &ConversationId,
        inquiry: InquiryId,
        reply: Reply,
    ) -> bool {
        match self.crew.find(worker) {
            Some(controller) => controller.answer(inquiry, reply).await,
            None => false,
        }
    }
}
