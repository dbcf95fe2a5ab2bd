//! Letters of other processes: taken while a turn runs, recorded like any other command.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use piton_core::id::ConversationId;
use piton_store::{Arrival, Journal, Letter};

use crate::driver::Driver;
use crate::mailbox::{self, Brought};
use crate::orders;
use crate::receipt::Handed;

/// How long a store that cannot be asked for letters is left alone.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Where a writer stands with its letters.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// Letters whose commands are not durable yet.
    taken: Vec<String>,
}

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

    /// Waits until a letter lies there that came behind the last one that was told of.
    pub(crate) async fn came(&mut self) {
        let Self { journal, conversation, seen, waiting } = self;
        let waiting = waiting.get_or_insert_with(|| {
            let (journal, conversation, seen) = (journal.clone(), conversation.clone(), *seen);
            Box::pin(async move {
                loop {
                    match journal.wait_letters(&conversation, seen).await {
                        Ok(arrival) => return arrival,
                        Err(_) => tokio::time::sleep(ASK_AGAIN).await,
                    }
                }
            })
        });
        self.seen = waiting.await;
        self.waiting = None;
    }
}

impl Driver<'_> {
    /// Takes in what was left. A store that cannot be read is asked again with the next letter.
    pub(crate) async fn take_letters(&mut self) {
        let conversation = self.log.lease().conversation();
        let letters = self.parts.journal.letters(conversation).await.unwrap_or_default();
        for letter in letters {
            if !self.mail.taken.contains(&letter.id) && !self.is_postponed(&letter.id) {
                self.take_letter(letter).await;
            }
        }
    }

    async fn take_letter(&mut self, letter: Letter) {
        let brought = mailbox::read(&*self.parts.journal, &letter).await;
        match brought.unwrap_or(Brought::Nothing) {
            Brought::Command(envelope) => {
                let id = letter.id.clone();
                self.take_command(Handed::by_letter(*envelope, letter.id));
                if self.is_postponed(&id) {
                    // It stays where it is until it is recorded.
                    return;
                }
                self.mail.taken.push(id);
            }
            Brought::Unknown { command, kind } => {
                if !self.log.state().commands.contains_key(&command) {
                    self.log.push(orders::refuse_unknown(command, kind, &letter.id));
                }
                self.mail.taken.push(letter.id);
            }
            Brought::Answer(inquiry, reply) => {
                // One that answers nothing any more is taken away too.
                for event in reply.events(self.log.state(), &inquiry, Some(&letter.id)) {
                    self.log.push(event);
                }
                self.mail.taken.push(letter.id);
            }
            Brought::Nothing => {}
        }
    }

    fn is_postponed(&self, letter: &str) -> bool {
        self.controls.postponed.iter().any(|handed| handed.letter.as_deref() == Some(letter))
    }

    /// Everything is durable, so nobody needs the letters any more. One that stays is known again.
    pub(crate) async fn discard_letters(&mut self) {
        let conversation = self.log.lease().conversation().clone();
        for id in std::mem::take(&mut self.mail.taken) {
            self.parts.journal.discard_letter(&conversation, &id).await.unwrap_or_default();
        }
    }
}
