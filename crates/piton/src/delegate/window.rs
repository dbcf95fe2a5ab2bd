//! What the faces of a conversation see of its workers: their calls, summaries and questions.

use std::sync::Arc;

use futures_util::FutureExt as _;
use piton_core::event::{Entry, Event, Inquiry};
use piton_core::state::{State, Turn};

use super::desk::Desk;
use crate::control::Attendance;
use crate::hub::{Subscription, Update, Worker, WorkerNews};
use crate::session::Session;

/// A face that passes on what the faces of the parent show.
pub(super) struct Window<'a> {
    desk: &'a Desk,
    worker: &'a Worker,
    updates: Subscription,
    state: State,
}

impl<'a> Window<'a> {
    pub(super) fn on(session: &Session, desk: &'a Desk, worker: &'a Worker) -> Self {
        let state = session.state().clone();
        let updates = session.subscribe(state.end);
        let window = Self { desk, worker, updates, state };
        if desk.attendance() == Attendance::Attended {
            for inquiry in window.pending() {
                desk.port().send(worker, WorkerNews::Asks(Arc::new(inquiry.clone())));
            }
        }
        window
    }

    fn pending(&self) -> impl Iterator<Item = &Inquiry> {
        self.state.open_turn().into_iter().flat_map(Turn::pending_inquiries)
    }

    pub(super) fn is_person_asked(&self) -> bool {
        self.pending().next().is_some()
    }

    /// Waits for the next entry, and passes it on if it is of a kind that is.
    pub(super) async fn pass_on(&mut self) {
        match self.updates.next().await {
            Ok(Some(update)) => self.take(update),
            // Nothing more will come, or it cannot be read: the result tells.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    pub(super) fn pass_on_the_rest(&mut self) {
        while let Some(Ok(Some(update))) = self.updates.next().now_or_never() {
            self.take(update);
        }
    }

    fn take(&mut self, update: Update) {
        let Update::Entry(entry) = update else { return };
        self.state.apply(&entry);
        let Some(news) = self.news(&entry) else { return };
        self.desk.port().send(self.worker, news);
        if let Event::InquiryRaised { inquiry } = &entry.event
            && self.desk.attendance() == Attendance::Attended
        {
            self.desk.port().send(self.worker, WorkerNews::Asks(Arc::new(inquiry.clone())));
        }
    }

    /// Calls, summaries and questions; the text of a worker is its result (D77).
    fn news(&self, entry: &Arc<Entry>) -> Option<WorkerNews> {
        let call = match &entry.event {
            Event::ToolStarted { call, .. }
            | Event::ToolSuspended { call }
            | Event::ToolFinished { call, .. } => Some(*call),
            Event::InquiryRaised { inquiry } => Some(inquiry.call),
            Event::InquiryAnswered { .. }
            | Event::Compacted { .. }
            | Event::OutputsShortened { .. } => None,
            Event::ConversationOpened { .. }
            | Event::ConfigChanged { .. }
            | Event::DriverStarted { .. }
            | Event::TurnStarted { .. }
            | Event::UserMessage { .. }
            | Event::TurnResumed { .. }
            | Event::ModelAsked { .. }
            | Event::ModelPartial { .. }
            | Event::ModelAnswered { .. }
            | Event::ModelFailed { .. }
            | Event::HistoryRepaired { .. }
            | Event::TurnEnded { .. }
            | Event::TurnBroke { .. }
            | Event::MessageRetried { .. }
            | Event::MessageQueued { .. }
            | Event::MessageUnqueued { .. }
            | Event::CallParked { .. }
            | Event::CallTracked { .. }
            | Event::CallLocated { .. }
            | Event::CallsPlanned { .. }
            | Event::QueueReleased
            | Event::CommandTaken { .. }
            | Event::CommandRefused { .. }
            | Event::TitleGiven { .. }
            | Event::WorkspaceBound { .. }
            | Event::UndoStarted { .. }
            | Event::UndoFinished { .. }
            | Event::Unknown(_) => return None,
        };
        let turn = self.state.turns.last();
        let call = call.and_then(|call| turn.and_then(|turn| turn.call(call)));
        let call = call.map(|call| Arc::new(call.clone()));
        Some(WorkerNews::Entry { entry: entry.clone(), call })
    }
}
