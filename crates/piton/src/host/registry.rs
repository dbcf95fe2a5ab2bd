//! Which conversations have a task, and how far each is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton_core::id::ConversationId;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::AbortHandle;

use super::task::Task;
use super::{Running, Stage};
use crate::control::{Control, Controls, Count, Seat};
use crate::parts::Parts;

/// The tasks of an engine. Dropping it drops all tasks, which equals a crash.
#[derive(Debug)]
pub(crate) struct Hosts {
    parts: Arc<Parts>,
    turns: Arc<Semaphore>,
    places: Mutex<BTreeMap<ConversationId, Place>>,
}

/// A conversation that faces of this process are about, or a task serves.
#[derive(Debug, Default)]
struct Place {
    seat: Seat,
    task: Option<Held>,
}

impl Place {
    /// Its task. One that panicked is gone without a word.
    fn living(&self) -> Option<&Held> {
        self.task.as_ref().filter(|held| !held.sender.is_closed())
    }

    fn is_empty(&self) -> bool {
        self.task.is_none() && !self.seat.faces.are_there() && !self.seat.holds.are_there()
    }
}

#[derive(Debug)]
struct Held {
    sender: mpsc::Sender<Control>,
    stage: watch::Receiver<Stage>,
    abort: AbortHandle,
}

impl Hosts {
    pub(crate) fn new(parts: Arc<Parts>, turns_max: usize) -> Arc<Self> {
        let turns = Arc::new(Semaphore::new(turns_max));
        Arc::new(Self { parts, turns, places: Mutex::default() })
    }

    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConversationId, Place>> {
        // The table is whole between any two statements that change it.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to the task of a conversation, which is started if there is none. `workspace` is where a
    /// conversation works that has not begun.
    pub(crate) fn reach(
        self: &Arc<Self>,
        conversation: &ConversationId,
        workspace: Option<&PathBuf>,
    ) -> mpsc::Sender<Control> {
        // A worker of this process is served by the session that it works for.
        if let Some(worker) = self.parts.desks.worker(conversation) {
            return worker.sender().clone();
        }
        let mut places = self.lock();
        let place = places.entry(conversation.clone()).or_default();
        if let Some(held) = place.living() {
            return held.sender.clone();
        }
        let controls = Controls::with_seat(place.seat.clone());
        let sender = controls.controller().sender().clone();
        let (stage, seen) = watch::channel(Stage::Opening);
        let task = Task {
            parts: self.parts.clone(),
            conversation: conversation.clone(),
            workspace: workspace.cloned(),
            turns: self.turns.clone(),
            stage,
        };
        let (hosts, id) = (Arc::downgrade(self), conversation.clone());
        let running = tokio::spawn(async move {
            let controls = task.run(controls).await;
            if let Some(hosts) = hosts.upgrade() {
                hosts.leave(&id);
            }
            // Only now: a command that came in the meantime is sent again, to the next task.
            drop(controls);
        });
        let abort = running.abort_handle();
        place.task = Some(Held { sender: sender.clone(), stage: seen, abort });
        sender
    }

    fn leave(&self, conversation: &ConversationId) {
        let mut places = self.lock();
        if let Some(place) = places.get_mut(conversation) {
            place.task = None;
            if place.is_empty() {
                places.remove(conversation);
            }
        }
    }

    /// A face comes that can answer, or that keeps the writer's place.
    pub(crate) fn face_comes(&self, conversation: &ConversationId, count: fn(&Seat) -> &Count) {
        let mut places = self.lock();
        count(&places.entry(conversation.clone()).or_default().seat).come();
    }

    /// It goes.
    pub(crate) fn face_goes(&self, conversation: &ConversationId, count: fn(&Seat) -> &Count) {
        let mut places = self.lock();
        if let Some(place) = places.get(conversation) {
            count(&place.seat).go();
            if place.is_empty() {
                places.remove(conversation);
            }
        }
    }

    pub(crate) fn running(&self) -> Vec<Running> {
        let places = self.lock();
        let held = places.iter().filter_map(|(id, place)| Some((id, place.living()?)));
        held.map(|(id, held)| Running { conversation: id.clone(), stage: *held.stage.borrow() })
            .collect()
    }

    /// No turn begins any more.
    pub(crate) fn close(&self) {
        self.turns.close();
    }

    /// Waits until no turn runs.
    pub(crate) async fn quiet(&self) {
        loop {
            let performing: Vec<_> = {
                let places = self.lock();
                let stages =
                    places.values().filter_map(|place| Some(place.living()?.stage.clone()));
                stages.filter(|stage| *stage.borrow() == Stage::Performing).collect()
            };
            if performing.is_empty() {
                return;
            }
            for mut stage in performing {
                // An error says that the task is gone, and so is its turn.
                let ended = stage.wait_for(|stage| *stage != Stage::Performing).await;
                drop(ended);
            }
        }
    }

    /// Drops all tasks, and waits until they are gone.
    pub(crate) async fn drop_all(&self) {
        let stages: Vec<_> = {
            let mut places = self.lock();
            let held = places.values_mut().filter_map(|place| place.task.take());
            held.map(|held| {
                held.abort.abort();
                held.stage
            })
            .collect()
        };
        for mut stage in stages {
            // The task holds the other end: an error says that it is gone.
            while stage.changed().await.is_ok() {}
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for place in self.lock().values() {
            if let Some(held) = &place.task {
                held.abort.abort();
            }
        }
    }
}
