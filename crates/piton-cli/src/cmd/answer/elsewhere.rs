//! An answer on its way to the journal: left as a letter, and waited for.
//!
//! Only the process that works on a conversation writes its journal. If none does, this one takes the
//! letter. What is said here is what the journal says.

use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::clock::{Clock as _, SystemClock};
use piton::{AnswerLetter, Delivery, Given};
use piton_core::id::{ConversationId, Seq};
use piton_core::view::QuestionView;
use piton_store::Holder;
use tokio::time::Instant;

use super::desk::{Desk, Recorded};
use super::meant::Meant;
use crate::render::tool::{kept_answer, said};
use crate::report::Fault;

/// How often to look whether it is taken, or the other process gone.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl Meant {
    /// The answer as a letter. A secret is never one.
    pub(super) fn letter(&self) -> Result<AnswerLetter, Fault> {
        let (at, chance) = (SystemClock.now(), SystemChance.next());
        AnswerLetter::new(self.asked.id.clone(), &self.reply, at, chance)
            .ok_or_else(|| Fault::SecretOnTerminal { question: self.asked.heading.clone() })
    }
}

/// A conversation that an answer was left for.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pub(super) desk: &'a Desk,
    pub(super) id: &'a ConversationId,
    /// The other process that works on it, or did when it was last known.
    pub(super) holder: Option<Holder>,
    /// Whether this process has the writer's place.
    pub(super) here: bool,
}

impl Held<'_> {
    /// Waits until the letter is taken, by the other process or, if that is gone, by this one.
    pub(super) async fn delivered(
        &mut self,
        letter: &AnswerLetter,
        meant: &Meant,
    ) -> Result<Recorded, Fault> {
        let (journal, mut after) = (self.desk.journal(), meant.after);
        loop {
            self.look_at_holder().await?;
            // Looked at before the journal: a process records a letter before it takes it away.
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
                    return Err(Fault::NotOpen { question: meant.asked.heading.clone() });
                }
            } else if !lies {
                return Err(self.gone(&meant.asked).await?);
            } else if late {
                let holder = self.holder.clone();
                return Err(Fault::NotTaken { conversation: self.id.clone(), holder });
            } else {
                self.sleep(after).await?;
            }
        }
    }

    /// Finds the process that works on the conversation. A process that has taken the letter and left
    /// is still named.
    async fn look_at_holder(&mut self) -> Result<(), Fault> {
        let listed = self.desk.journal().status(self.id).await?;
        let holder = listed.and_then(|listed| listed.holder);
        match holder {
            Some(holder) if holder.pid == std::process::id() => self.here = true,
            Some(holder) => (self.here, self.holder) = (false, Some(holder)),
            // Nobody takes letters but us.
            None => self.desk.engine.conversation(self.id).look().await?,
        }
        Ok(())
    }

    /// The letter is gone and the question open: somebody has thought better of it.
    async fn gone(&self, asked: &QuestionView) -> Result<Fault, Fault> {
        let kept = AnswerLetter::kept(self.desk.journal(), self.id).await?;
        let other = kept.iter().find(|other| *other.inquiry() == asked.id);
        let kept = other.map(|other| kept_answer(other.reply()));
        Ok(Fault::TakenAway { question: asked.heading.clone(), kept })
    }

    /// Sleeps until the conversation grows; a look at the lease is due in any case.
    async fn sleep(&self, after: Seq) -> Result<(), Fault> {
        let grown = self.desk.journal().wait_past(self.id, after);
        if let Ok(grown) = tokio::time::timeout(LOOK_EVERY, grown).await {
            grown?;
        }
        Ok(())
    }

    async fn is_open(&self, asked: &QuestionView) -> Result<bool, Fault> {
        let view = self.desk.engine.view(self.id).await?;
        Ok(view.open_questions().any(|open| open.id == asked.id))
    }
}

fn otherwise(asked: &QuestionView, given: Given) -> Fault {
    let from = if given.letter.is_some() { " from another terminal" } else { "" };
    let (by, answer) = (format!("{}{from}", given.by), said(&given.answer));
    Fault::AnsweredOtherwise { question: asked.heading.clone(), answer, by }
}
