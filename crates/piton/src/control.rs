//! Reaching a session from outside while it runs.

use std::sync::Arc;

use piton_core::action::Wish;
use piton_core::event::{
    ConfigChange, Event, Inquiry, InquiryAnswer, InquiryKind, PermissionRule, RuleEffect, Shape,
};
use piton_core::id::{ConversationId, InquiryId};
use piton_core::permit::{Standing, always, with};
use piton_core::question::Secret;
use piton_core::state::State;
use tokio::sync::{mpsc, oneshot, watch};

use crate::delegate::Crew;

/// In whose name a person answers.
const USER: &str = "user";
/// Answers that wait for the driver; more are refused.
const CONTROLS_MAX: usize = 64;

/// Whether somebody is there to answer while a turn runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attendance {
    /// Nobody: a turn that needs a person is left waiting, and can be answered later.
    #[default]
    Unattended,
    /// A face answers through a [`Controller`]: the turn stays in flight while it waits.
    Attended,
}

/// What a person answers to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Run the call.
    Allow,
    /// Decide so on the call, and on what [`always_rules`] say from now on. Whoever answers for more
    /// than this conversation keeps those rules where every conversation finds them.
    Always(Standing),
    /// Do not run the call.
    Deny,
    /// Do not run the call: a person did by hand what it would do.
    Applied,
    /// Run a call in doubt again.
    RunAgain,
    /// Take a call in doubt for done.
    TreatAsDone,
    /// Say what a call in doubt gave, or what a tool wanted to know.
    Text(String),
    /// Tell a tool a secret that it wanted to know. Only that it was told is recorded.
    Secret(Secret),
}

impl Reply {
    /// The facts that the answer makes; none if the question is not open. `letter` is what brought it
    /// from another process.
    pub(crate) fn events(
        self,
        state: &State,
        inquiry: &InquiryId,
        letter: Option<&str>,
    ) -> Vec<Event> {
        let Some(turn) = state.open_turn() else { return Vec::new() };
        let Some(asked) = turn.pending_inquiries().find(|asked| asked.id == *inquiry) else {
            return Vec::new();
        };
        let Some(reply) = self.settling(asked) else { return Vec::new() };
        let mut events = Vec::new();
        let answer = match reply {
            Self::Allow => InquiryAnswer::Allow,
            Self::Always(standing) => {
                if let Some(rules) = always_rules(state, asked, standing) {
                    let permissions = Some(with(&state.config.permissions, &rules));
                    let change = ConfigChange { permissions, ..ConfigChange::default() };
                    events.push(Event::ConfigChanged { change });
                }
                match standing.effect {
                    RuleEffect::Allow => InquiryAnswer::Allow,
                    RuleEffect::Ask | RuleEffect::Deny => InquiryAnswer::Deny,
                }
            }
            Self::Deny => InquiryAnswer::Deny,
            Self::Applied => InquiryAnswer::Applied,
            Self::RunAgain => InquiryAnswer::RunAgain,
            Self::TreatAsDone => InquiryAnswer::TreatAsDone,
            Self::Text(text) => InquiryAnswer::Text { text: text.into() },
            Self::Secret(_) => InquiryAnswer::Redacted,
        };
        let (inquiry, letter) = (inquiry.clone(), letter.map(ToOwned::to_owned));
        events.push(Event::InquiryAnswered { inquiry, answer, by: USER.into(), letter });
        events
    }

    /// The answer, if it moves the question on. One that does not would close the question and leave
    /// its call waiting for ever.
    fn settling(self, asked: &Inquiry) -> Option<Self> {
        let wants = asked.wants.as_ref();
        let is_secret = wants.is_some_and(|wants| wants.shape == Shape::Secret);
        match (asked.kind, self) {
            (_, Self::Deny) => Some(Self::Deny),
            // Only what a secret question is told is kept out of the journal.
            (InquiryKind::Question, Self::Secret(secret)) => {
                is_secret.then_some(Self::Secret(secret))
            }
            (InquiryKind::Question, Self::Text(_)) if is_secret => None,
            (InquiryKind::Question, Self::Text(text)) => match wants {
                Some(wants) => wants.read(&text).ok().map(Self::Text),
                None => Some(Self::Text(text)),
            },
            (InquiryKind::Question, _)
            | (_, Self::Secret(_))
            | (InquiryKind::Permission, Self::TreatAsDone | Self::Text(_))
            | (InquiryKind::InDoubt, Self::Applied) => None,
            (InquiryKind::Permission | InquiryKind::InDoubt, reply) => Some(reply),
        }
    }
}

/// The secret that a reply tells.
pub(crate) fn secret_of(reply: &Reply) -> Option<Secret> {
    match reply {
        Reply::Secret(secret) => Some(secret.clone()),
        Reply::Allow
        | Reply::Always(_)
        | Reply::Applied
        | Reply::Deny
        | Reply::RunAgain
        | Reply::TreatAsDone
        | Reply::Text(_) => None,
    }
}

/// The rules that a standing decision would make of a question; `None` if it would only be good for
/// one call.
pub fn always_rules(
    state: &State,
    asked: &Inquiry,
    standing: Standing,
) -> Option<Vec<PermissionRule>> {
    if asked.kind != InquiryKind::Permission {
        return None;
    }
    let call = state.open_turn()?.call(asked.call)?;
    let tool = state.config.tool(&call.name)?;
    always(&state.config.permissions, state.workspace(), tool, &call.arguments, standing)
}

/// A message to a running driver.
#[derive(Debug)]
pub(crate) enum Control {
    Answer { inquiry: InquiryId, reply: Reply, done: oneshot::Sender<bool> },
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
}

impl Default for Controls {
    fn default() -> Self {
        let (sender, messages) = mpsc::channel(CONTROLS_MAX);
        let (interrupt, seen) = watch::channel(false);
        Self { interrupt: Arc::new(interrupt), seen, sender, messages, crew: Arc::default() }
    }
}

impl Controls {
    pub(crate) fn controller(&self) -> Controller {
        let (interrupt, sender) = (self.interrupt.clone(), self.sender.clone());
        Controller { interrupt, sender, crew: self.crew.clone() }
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

    /// Waits for a message, or, with `None`, for an interrupt.
    pub(crate) async fn told(&mut self) -> Option<Control> {
        tokio::select! {
            biased;
            // Both senders are kept here too, so neither channel ever closes.
            _ = self.seen.changed() => None,
            message = self.messages.recv() => message,
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
