//! Waiting for letters.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use piton_core::id::ConversationId;
use piton_store::{Arrival, Journal};

/// How long a store that cannot be asked for letters is left alone.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Wakes a writer when a letter comes. The wait goes on where it was when its caller was busy.
pub(crate) struct MailWatch {
    journal: Arc<dyn Journal>,
    conversation: ConversationId,
    seen: Arrival,
    waiting: Option<BoxFuture<'static, Arrival>>,
}

impl fmt::Debug for MailWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailWatch").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl MailWatch {
    pub(crate) fn new(journal: Arc<dyn Journal>, conversation: ConversationId) -> Self {
        Self { journal, conversation, seen: Arrival::default(), waiting: None }
    }

    /// Letters could not be read: all of them are looked for again after a while.
    pub(crate) fn ask_again(&mut self) {
        self.seen = Arrival::default();
        self.waiting = Some(self.wait(ASK_AGAIN));
    }

    /// Waits for a letter that came after the last letter that this watch reported.
    pub(crate) async fn came(&mut self) {
        if self.waiting.is_none() {
            self.waiting = Some(self.wait(Duration::ZERO));
        }
        if let Some(waiting) = &mut self.waiting {
            self.seen = waiting.await;
            self.waiting = None;
        }
    }

    fn wait(&self, pause: Duration) -> BoxFuture<'static, Arrival> {
        let (journal, conversation) = (self.journal.clone(), self.conversation.clone());
        let (seen, mut pause) = (self.seen, pause);
        Box::pin(async move {
            loop {
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                match journal.wait_letters(&conversation, seen).await {
                    Ok(arrival) => return arrival,
                    Err(_) => pause = ASK_AGAIN,
                }
            }
        })
    }
}
