//! Where workers find the session that they work for, while it runs, and where it finds them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton_core::id::ConversationId;
use piton_tools::{Refusal, Toolbox};
use tokio::sync::Semaphore;

use super::allowance::WORKERS_MAX;
use crate::control::{Controller, Seat};
use crate::unattended::{Attendance, Unattended};

/// A running session, as its workers see it.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    presence: Presence,
    /// The faces of the session: they answer what its workers ask, too.
    seat: Seat,
    places: Arc<Semaphore>,
    is_worker: bool,
    toolbox: Arc<Toolbox>,
}

/// Who is there to answer, and what becomes of questions when nobody is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presence {
    pub(crate) attendance: Attendance,
    pub(crate) unattended: Unattended,
}

impl Desk {
    pub(crate) fn new(
        presence: Presence,
        seat: Seat,
        is_worker: bool,
        toolbox: Arc<Toolbox>,
    ) -> Self {
        let places = Arc::new(Semaphore::new(WORKERS_MAX));
        Self { presence, seat, places, is_worker, toolbox }
    }

    pub(super) fn seat(&self) -> &Seat {
        &self.seat
    }

    pub(super) fn presence(&self) -> Presence {
        self.presence
    }

    pub(super) fn places(&self) -> &Semaphore {
        &self.places
    }

    /// The tools of the session, which its workers share.
    pub(super) fn toolbox(&self) -> &Arc<Toolbox> {
        &self.toolbox
    }

    /// Whether the session itself is a worker's.
    pub(super) fn is_worker(&self) -> bool {
        self.is_worker
    }
}

/// The sessions that run in this process, and the workers among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Desks(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    desks: BTreeMap<ConversationId, Desk>,
    workers: BTreeMap<ConversationId, Controller>,
}

/// Closes a desk when it goes.
#[derive(Debug)]
pub(crate) struct DeskKey {
    desks: Desks,
    conversation: ConversationId,
}

impl Drop for DeskKey {
    fn drop(&mut self) {
        self.desks.lock().desks.remove(&self.conversation);
    }
}

/// A worker at work; known no more when it goes.
#[derive(Debug)]
pub(super) struct AtWork {
    desks: Desks,
    worker: ConversationId,
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.desks.lock().workers.remove(&self.worker);
    }
}

impl Desks {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session runs from here on, until the key is dropped.
    pub(crate) fn open(&self, conversation: ConversationId, desk: Desk) -> DeskKey {
        self.lock().desks.insert(conversation.clone(), desk);
        DeskKey { desks: self.clone(), conversation }
    }

    pub(super) fn find(&self, conversation: &ConversationId) -> Result<Desk, Refusal> {
        let found = self.lock().desks.get(conversation).cloned();
        found.ok_or_else(|| Refusal(format!("Conversation {conversation} does not run here.")))
    }

    /// A worker is at work from here on, and can be reached.
    pub(super) fn set_to_work(&self, worker: ConversationId, controller: Controller) -> AtWork {
        self.lock().workers.insert(worker.clone(), controller);
        AtWork { desks: self.clone(), worker }
    }

    /// The way to a worker at work.
    pub(crate) fn worker(&self, worker: &ConversationId) -> Option<Controller> {
        self.lock().workers.get(worker).cloned()
    }
}
