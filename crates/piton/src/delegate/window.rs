//! What the faces of a conversation see of its workers: their calls, summaries and questions.

use std::sync::Arc;

use futures_util::FutureExt as _;
use piton_core::event::{Entry, Event, Inquiry};
use piton_core::state::{State, Turn};
use piton_core::subject::Subject;

use super::desk::Desk;
use crate::hub::{Subscription, Update, Worker, WorkerNews};
use crate::session::Session;
use crate::unattended::Attendance;

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
        let call = match entry.event.subject() {
            // Where a call waits elsewhere is the worker's business.
            Subject::Call(_) if is_elsewhere(&entry.event) => return None,
            Subject::Call(call) | Subject::Question(call) => Some(call),
            Subject::Reply | Subject::Past => None,
            Subject::Conversation
            | Subject::Title
            | Subject::Driver
            | Subject::Turn
            | Subject::Message
            | Subject::Queue
            | Subject::Request
            | Subject::Calls { .. }
            | Subject::Look(_)
            | Subject::Native
            | Subject::Command
            | Subject::Undo
            | Subject::Unknown => return None,
        };
        let turn = self.state.turns.last();
        let call = call.and_then(|call| turn.and_then(|turn| turn.call(call)));
        let call = call.map(|call| Arc::new(call.clone()));
        Some(WorkerNews::Entry { entry: entry.clone(), call })
    }
}

fn is_elsewhere(event: &Event) -> bool {
    matches!(event, Event::CallParked { .. } | Event::CallTracked { .. })
}
