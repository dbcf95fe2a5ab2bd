//! Wakes those who wait for a journal to grow, within this process.
//!
//! One channel per awaited conversation, so that a commit wakes only those whom it concerns. It
//! carries the new end, so that whoever wakes up need not ask the store. Other processes are not
//! its business.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton_core::id::{ConversationId, Seq};
use tokio::sync::watch;

#[derive(Debug, Default)]
pub(crate) struct Wakers {
    ends: Mutex<HashMap<ConversationId, watch::Sender<Seq>>>,
}

impl Wakers {
    /// Tells everybody who waits for this conversation where it ends now.
    pub(crate) fn announce(&self, conversation: &ConversationId, end: Seq) {
        if let Some(sender) = self.lock().get(conversation) {
            sender.send_if_modified(|known| {
                let grown = *known < end;
                *known = (*known).max(end);
                grown
            });
        }
    }

    /// Begins to listen. Whoever listens first and looks at the store second misses nothing.
    pub(crate) fn listen(self: &Arc<Self>, conversation: &ConversationId) -> Waiter {
        let receiver = self
            .lock()
            .entry(conversation.clone())
            .or_insert_with(|| watch::Sender::new(Seq::default()))
            .subscribe();
        Waiter { wakers: Arc::clone(self), conversation: conversation.clone(), receiver }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, watch::Sender<Seq>>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who listens. The last one to go takes the channel away, so that the table is never
/// larger than the number of those who wait.
pub(crate) struct Waiter {
    wakers: Arc<Wakers>,
    conversation: ConversationId,
    receiver: watch::Receiver<Seq>,
}

impl Waiter {
    /// Waits for an end behind `seq` to be announced.
    pub(crate) async fn past(&mut self, seq: Seq) -> Seq {
        let end = self.receiver.wait_for(|end| *end > seq).await.map(|end| *end);
        match end {
            Ok(end) => end,
            // The sender lives in the table for as long as this waiter does.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut ends = self.wakers.lock();
        if ends.get(&self.conversation).is_some_and(|sender| sender.receiver_count() <= 1) {
            ends.remove(&self.conversation);
        }
    }
}
