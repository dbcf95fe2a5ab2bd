//! Messages that wait: they come, change, and go.

use super::{Queued, State};
use crate::event::{QueueChange, UserPart};
use crate::id::MessageId;

impl State {
    pub(super) fn queue(&mut self, queued: Queued) -> bool {
        if self.queue.iter().any(|known| known.message == queued.message) {
            return false;
        }
        self.queue.push(queued);
        true
    }

    pub(super) fn unqueue(&mut self, message: &MessageId) -> bool {
        let before = self.queue.len();
        self.queue.retain(|queued| queued.message != *message);
        self.queue.len() < before
    }

    /// Changes a message that waits; says whether that fits.
    pub(super) fn requeue(&mut self, message: &MessageId, change: &QueueChange) -> bool {
        let place_of = |queue: &[Queued], message: &MessageId| {
            queue.iter().position(|queued| queued.message == *message)
        };
        let Some(place) = place_of(&self.queue, message) else { return false };
        match change {
            QueueChange::Parts { parts } => {
                // A message that says nothing cannot be sent to anybody.
                let says = parts.iter().any(UserPart::has_content);
                if let Some(queued) = self.queue.get_mut(place).filter(|_| says) {
                    queued.parts.clone_from(parts);
                }
                says
            }
            QueueChange::Place { place: wanted } => {
                if let Some(queued) = self.queue.get_mut(place) {
                    queued.place = *wanted;
                }
                true
            }
            QueueChange::Before { before } if before == message => false,
            QueueChange::Before { before } if place_of(&self.queue, before).is_none() => false,
            QueueChange::Before { before } => {
                let moved = self.queue.remove(place);
                let first = place_of(&self.queue, before).unwrap_or(self.queue.len());
                self.queue.insert(first, moved);
                true
            }
            QueueChange::Last => {
                let moved = self.queue.remove(place);
                self.queue.push(moved);
                true
            }
        }
    }
}
