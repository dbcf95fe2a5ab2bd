//! An answer to a conversation that another process works on: left as a letter, and waited for.
//!
//! Only that process writes the journal. What is said here is what the journal says.

use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::clock::{Clock as _, SystemClock};
use piton::{AnswerLetter, Delivery, Given, LeaseWait, OpenError, given};
use piton_core::event::Inquiry;
use piton_core::id::{ConversationId, Seq};
use piton_store::{Holder, Journal, LeaseError};
use tokio::time::Instant;

use super::meant::Meant;
use super::record::{Desk, Recorded, told};
use super::{questions, read};
pub(crate) use crate::render::tool::said;
use crate::report::Fault;

/// How often to look whether it is taken, or the other process gone.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl Meant {
    /// The answer as a letter. A secret is never one.
    pub(super) fn letter(&self) -> Result<AnswerLetter, Fault> {
        let (at, chance) = (SystemClock.now(), SystemChance.next());
        AnswerLetter::new(self.asked.id.clone(), &self.reply, at, chance)
            .ok_or_else(|| Fault::SecretOnTerminal { question: self.asked.heading().to_owned() })
    }
}

/// A conversation that another process works on.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pub(super) desk: &'a Desk,
    pub(super) id: &'a ConversationId,
    /// Who works on it, or did when it was last known.
    pub(super) holder: Option<Holder>,
    /// Whether this process has taken letters in its place.
    pub(super) here: bool,
}

impl Held<'_> {
    /// Waits until the letter is taken, by the other process or, if that is gone, by this one.
    pub(super) async fn delivered(
        &mut self,
        letter: &AnswerLetter,
        meant: &Meant,
    ) -> Result<Recorded, Fault> {
        let (journal, mut after) = (&*self.desk.journal, meant.after);
        loop {
            let listed = journal.status(self.id).await?;
            // One that has taken it and left is named all the same.
            self.holder = listed.and_then(|listed| listed.holder).or(self.holder.take());
            // First this, because who takes it away has recorded it before.
            let lies = letter.lies(journal, self.id).await?;
            let grown = match letter.delivery(journal, self.id, after).await? {
                Delivery::Taken if self.here => return Ok(Recorded::Here),
                Delivery::Taken => return Ok(Recorded::There(self.holder.clone())),
                Delivery::Otherwise(given) => {
                    letter.withdraw(journal, self.id).await?;
                    return Err(otherwise(&meant.asked, given));
                }
                Delivery::Open(end) => std::mem::replace(&mut after, end) != end,
            };
            let late = self.desk.deadline <= Instant::now();
            if (grown || late || !lies) && !self.is_open(&meant.asked).await? {
                // The answer may have come while we looked; then the next look finds it.
                if let Delivery::Open(_) = letter.delivery(journal, self.id, after).await? {
                    letter.withdraw(journal, self.id).await?;
                    return Err(Fault::NotOpen { question: meant.asked.heading().to_owned() });
                }
            } else if !lies {
                return Err(self.gone(&meant.asked).await?);
            } else if late {
                let holder = self.holder.clone();
                return Err(Fault::NotTaken { conversation: self.id.clone(), holder });
            } else {
                self.take_or_wait(letter, after).await?;
            }
        }
    }

    /// The letter is gone and the question open: somebody has thought better of it.
    async fn gone(&self, asked: &Inquiry) -> Result<Fault, Fault> {
        let kept = AnswerLetter::kept(&*self.desk.journal, self.id).await?;
        let other = kept.iter().find(|other| *other.inquiry() == asked.id);
        let kept = other.map(|other| told(other.reply()));
        Ok(Fault::TakenAway { question: asked.heading().to_owned(), kept })
    }

    /// Whoever held it may be gone, and then nobody takes letters but us.
    async fn take_or_wait(&mut self, letter: &AnswerLetter, after: Seq) -> Result<(), Fault> {
        match self.desk.engine.open_within(self.id, LeaseWait::NONE).await {
            Ok(mut session) => {
                // It may have taken it and left since we looked. Now nobody else writes.
                let delivery = letter.delivery(&*self.desk.journal, self.id, after).await?;
                if let Delivery::Open(_) = delivery {
                    session.take_letters().await?;
                    self.here = true;
                }
                Ok(())
            }
            Err(OpenError::Lease(LeaseError::Held { .. })) => self.sleep(after).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Sleeps until the conversation grows; a look at the lease is due in any case.
    async fn sleep(&self, after: Seq) -> Result<(), Fault> {
        let grown = self.desk.journal.wait_past(self.id, after);
        if let Ok(grown) = tokio::time::timeout(LOOK_EVERY, grown).await {
            grown?;
        }
        Ok(())
    }

    async fn is_open(&self, asked: &Inquiry) -> Result<bool, Fault> {
        let state = read(&*self.desk.journal, self.id).await?;
        Ok(questions(&state).iter().any(|open| open.id == asked.id))
    }
}

/// Why a question is not open any more: its answer, if it has one.
pub(super) async fn closed(
    journal: &dyn Journal,
    id: &ConversationId,
    meant: &Meant,
) -> Result<Fault, Fault> {
    Ok(match given(journal, id, &meant.asked.id, meant.after).await? {
        Ok(given) => otherwise(&meant.asked, given),
        Err(_) => Fault::NotOpen { question: meant.asked.heading().to_owned() },
    })
}

fn otherwise(asked: &Inquiry, given: Given) -> Fault {
    let from = if given.letter.is_some() { " from another terminal" } else { "" };
    let (by, answer) = (format!("{}{from}", given.by), said(&given.answer));
    Fault::AnsweredOtherwise { question: asked.heading().to_owned(), answer, by }
}
