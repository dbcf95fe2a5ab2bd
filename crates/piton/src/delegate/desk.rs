//! Where workers find the session that they work for, while it runs, and where it finds them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton_core::id::ConversationId;
use piton_tools::{Refusal, Toolbox};
use tokio::sync::Semaphore;

use super::WORKERS_MAX;
use crate::control::{Attendance, Controller};
use crate::hub::WorkerPort;
use crate::unattended::Unattended;

/// A running session, as its workers see it.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    port: WorkerPort,
    crew: Arc<Crew>,
    presence: Presence,
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
        port: WorkerPort,
        crew: Arc<Crew>,
        presence: Presence,
        is_worker: bool,
        toolbox: Arc<Toolbox>,
    ) -> Self {
        let places = Arc::new(Semaphore::new(WORKERS_MAX));
        Self { port, crew, presence, places, is_worker, toolbox }
    }

    pub(super) fn port(&self) -> &WorkerPort {
        &self.port
    }

    pub(super) fn crew(&self) -> &Arc<Crew> {
        &self.crew
    }

    pub(super) fn presence(&self) -> Presence {
        self.presence
    }

    pub(super) fn attendance(&self) -> Attendance {
        self.presence.attendance
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

/// The sessions that run in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Desks(Arc<Mutex<BTreeMap<ConversationId, Desk>>>);

/// Closes a desk when it goes.
#[derive(Debug)]
pub(crate) struct DeskKey {
    desks: Desks,
    conversation: ConversationId,
}

impl Drop for DeskKey {
    fn drop(&mut self) {
        self.desks.lock().remove(&self.conversation);
    }
}

impl Desks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConversationId, Desk>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session runs from here on, until the key is dropped.
    pub(crate) fn open(&self, conversation: ConversationId, desk: Desk) -> DeskKey {
        self.lock().insert(conversation.clone(), desk);
        DeskKey { desks: self.clone(), conversation }
    }

    pub(super) fn find(&self, conversation: &ConversationId) -> Result<Desk, Refusal> {
        let found = self.lock().get(conversation).cloned();
        found.ok_or_else(|| Refusal(format!("Conversation {conversation} does not run here.")))
    }
}

/// Those who work for a session at the moment.
#[derive(Debug, Default)]
pub(crate) struct Crew(Mutex<BTreeMap<ConversationId, Controller>>);

/// A place in a crew; empty when it goes.
#[derive(Debug)]
pub(super) struct Member {
    crew: Arc<Crew>,
    worker: ConversationId,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.crew.lock().remove(&self.worker);
    }
}

impl Crew {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConversationId, Controller>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find(&self, worker: &ConversationId) -> Option<Controller> {
        self.lock().get(worker).cloned()
    }

    pub(super) fn join(crew: &Arc<Self>, worker: ConversationId, controller: Controller) -> Member {
        crew.lock().insert(worker.clone(), controller);
        Member { crew: crew.clone(), worker }
    }
}
