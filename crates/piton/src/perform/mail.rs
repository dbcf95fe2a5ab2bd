//! Letters of other processes: taken while a turn runs, recorded like any other command.

use std::time::Duration;

use piton_store::Letter;
use tokio::time::Instant;

use crate::driver::Driver;
use crate::mailbox::{self, Brought};
use crate::orders::{self, Handed};

/// How often letters are looked for while a turn runs. A person who commands from elsewhere does not
/// notice, and a look costs the reading of a directory.
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
    /// When letters are due.
    pub(crate) fn mail_due(&self) -> Instant {
        self.mail.next.unwrap_or_else(Instant::now)
    }

    /// Takes in what was left. A store that cannot be read is asked again with the next look.
    pub(crate) async fn take_letters(&mut self) {
        self.mail.next = Some(Instant::now() + LOOK_EVERY);
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
