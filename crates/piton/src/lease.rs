//! Waiting for the writer's place of a conversation.

use std::time::Duration;

use piton_core::id::ConversationId;
use piton_store::{Holder, Journal, Lease, LeaseError};
use tokio::time::Instant;

/// How long to wait for a conversation that another process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseWait {
    /// Longest wait; zero fails at once.
    pub max: Duration,
    /// How often to look.
    pub poll: Duration,
}

impl LeaseWait {
    /// Does not wait.
    pub const NONE: Self = Self { max: Duration::ZERO, poll: Duration::from_millis(500) };

    /// How long to wait until the next look.
    pub(crate) fn pause(self, deadline: Instant) -> Duration {
        self.poll.max(POLL_MIN).min(deadline - Instant::now())
    }
}

impl Default for LeaseWait {
    fn default() -> Self {
        Self { max: Duration::from_secs(30), poll: Duration::from_millis(500) }
    }
}

/// Shortest pause between two looks: a poll of zero would leave no time to anybody else.
const POLL_MIN: Duration = Duration::from_millis(1);

/// Takes the writer's place, waiting for its holder to leave.
pub(crate) async fn acquire(
    journal: &dyn Journal,
    conversation: &ConversationId,
    holder: Holder,
    wait: LeaseWait,
) -> Result<Lease, LeaseError> {
    let deadline = Instant::now() + wait.max;
    loop {
        match journal.lease(conversation, holder.clone()).await {
            Err(LeaseError::Held { .. }) if Instant::now() < deadline => {
                tokio::time::sleep(wait.pause(deadline)).await;
            }
            outcome => return outcome,
        }
    }
}
