//! Letters of other processes: taken while a question is open, recorded like any other answer.

use std::time::Duration;

use piton_core::state::Turn;
use tokio::time::Instant;

use crate::driver::Driver;
use crate::mailbox;

/// How often letters are looked for while a question is open. A person who answers from elsewhere
/// does not notice, and a look costs the reading of a directory.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Where a driver stands with its letters.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// When they are looked for next; at once, if never.
    next: Option<Instant>,
    /// Those that were read and whose answers are not durable yet.
    taken: Vec<String>,
}

impl Driver<'_> {
    /// When letters are due. Only a question makes them matter.
    pub(crate) fn mail_due(&self) -> Option<Instant> {
        let turn = self.log.state().open_turn();
        let asks = turn.is_some_and(|turn| Turn::pending_inquiries(turn).next().is_some());
        asks.then(|| self.mail.next.unwrap_or_else(Instant::now))
    }

    /// Takes in what was left. A store that cannot be read is asked again with the next look.
    pub(crate) async fn take_letters(&mut self) {
        self.mail.next = Some(Instant::now() + LOOK_EVERY);
        let conversation = self.log.lease().conversation();
        let letters = self.parts.journal.letters(conversation).await.unwrap_or_default();
        for letter in letters {
            let Some((inquiry, reply)) = mailbox::open(&letter) else { continue };
            // One that answers nothing any more is taken away too.
            for event in reply.events(self.log.state(), &inquiry, Some(&letter.id)) {
                self.log.push(event);
            }
            self.mail.taken.push(letter.id);
        }
    }

    /// Everything is durable, so nobody needs the letters any more. One that stays is known again.
    pub(crate) async fn discard_letters(&mut self) {
        let conversation = self.log.lease().conversation().clone();
        for id in std::mem::take(&mut self.mail.taken) {
            self.parts.journal.discard_letter(&conversation, &id).await.unwrap_or_default();
        }
    }
}
