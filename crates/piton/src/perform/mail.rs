//! Letters of other processes: taken while a turn runs, recorded like any other command.

use piton_store::Letter;

use crate::driver::Driver;
use crate::mailbox::{self, Brought};
use crate::orders;
use crate::receipt::Handed;

impl Driver<'_> {
    /// Takes in what was left. A store that cannot be read is asked again after a while.
    pub(crate) async fn take_letters(&mut self) {
        let conversation = self.log.lease().conversation();
        let Ok(letters) = self.parts.journal.letters(conversation).await else {
            self.mail_watch.ask_again();
            return;
        };
        for letter in letters {
            if !self.letters_taken.contains(&letter.id) && !self.is_postponed(&letter.id) {
                self.take_letter(letter).await;
            }
        }
    }

    async fn take_letter(&mut self, letter: Letter) {
        let Ok(brought) = mailbox::read(&*self.parts.journal, &letter).await else {
            self.mail_watch.ask_again();
            return;
        };
        match brought {
            Brought::Command(envelope) => {
                let id = letter.id.clone();
                self.take_command(Handed::by_letter(*envelope, letter.id));
                if self.is_postponed(&id) {
                    // It stays where it is until it is recorded.
                    return;
                }
                self.letters_taken.push(id);
            }
            Brought::Unknown { command, kind } => {
                if !self.log.state().commands.contains_key(&command) {
                    self.log.push(orders::refuse_unknown(command, kind, &letter.id));
                }
                self.letters_taken.push(letter.id);
            }
            Brought::Nothing => {}
        }
    }

    fn is_postponed(&self, letter: &str) -> bool {
        self.controls.postponed.iter().any(|handed| handed.letter.as_deref() == Some(letter))
    }

    /// Everything is durable, so the letters are not needed any more. A letter that stays is known again by
    /// what it brought.
    pub(crate) async fn discard_letters(&mut self) {
        let conversation = self.log.lease().conversation().clone();
        for id in std::mem::take(&mut self.letters_taken) {
            self.parts.journal.discard_letter(&conversation, &id).await.unwrap_or_default();
        }
    }
}
