//! The one writer's place: what proves that it is taken, and by whom.
//!
//! Knows nothing of how a store keeps the place; that is the guard's business.

use std::any::Any;
use std::fmt;

use piton_core::id::{ConversationId, Epoch, Timestamp};
use serde::{Deserialize, Serialize};

/// Proof of being the only writer of a conversation. Appending needs one.
pub struct Lease {
    conversation: ConversationId,
    epoch: Epoch,
    // Holds the place: an OS lock, or an entry in a table. Released by drop.
    guard: Box<dyn Any + Send + Sync>,
}

impl Lease {
    /// Made by stores only.
    pub fn new(
        conversation: ConversationId,
        epoch: Epoch,
        guard: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self { conversation, epoch, guard }
    }

    /// The conversation it is for.
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// Its fencing number, higher than that of every lease that wrote before it.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// What holds the place.
    pub fn guard(&self) -> &(dyn Any + Send + Sync) {
        &*self.guard
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("conversation", &self.conversation)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// Who holds a lease, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// Since when.
    pub since: Timestamp,
}
