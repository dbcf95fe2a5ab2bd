//! An answer to a conversation that another process works on: left as a letter, and waited for.
//!
//! Only that process writes the journal. What is said here is what the journal says.

use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::clock::{Clock as _, SystemClock};
use piton::{AnswerLetter, Delivery, Engine, LeaseWait, OpenError};
use piton_core::event::{Inquiry, InquiryAnswer};
use piton_core::id::{ConversationId, Seq};
use piton_store::{Holder, Journal, LeaseError};
use tokio::time::Instant;

use super::{Meant, questions, read};
use crate::ask::Offer;
use crate::output::Output;
use crate::report::Fault;

/// How often to look whether it is taken, or the other process gone.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Who goes on with the turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    /// Nobody, until somebody says so.
    Here,
    /// The process that asked.
    There(Option<Holder>),
}

/// A conversation that another process works on.
#[derive(Clone, Copy)]
pub(super) struct Held<'a> {
    pub(super) engine: &'a Engine,
    pub(super) journal: &'a dyn Journal,
    pub(super) id: &'a ConversationId,
    /// How long to wait for the other process to take an answer.
    pub(super) wait: Duration,
}

impl Held<'_> {
    /// Leaves the answer, and waits until it is known what became of it.
    pub(super) async fn leave(self, meant: Meant, output: &mut Output) -> Result<Recorded, Fault> {
        let Meant { asked, reply, offer, after } = meant;
        let (at, chance) = (SystemClock.now(), SystemChance.next());
        let Some(letter) = AnswerLetter::new(asked.id.clone(), &reply, at, chance) else {
            return Err(Fault::SecretOnTerminal { question: asked.question });
        };
        offer.as_ref().map(Offer::write).transpose()?;
        letter.post(self.journal, self.id).await?;
        let recorded = self.delivered(&letter, &asked, after).await?;
        output.talk(&format!("Answered: {}", asked.question));
        if let Some(offer) = offer {
            output.talk(&format!("From now on: {}", offer.told()));
        }
        Ok(recorded)
    }

    /// Waits until the letter is taken, by the other process or, if that is gone, by this one.
    async fn delivered(
        self,
        letter: &AnswerLetter,
        asked: &Inquiry,
        mut after: Seq,
    ) -> Result<Recorded, Fault> {
        let deadline = Instant::now() + self.wait;
        let mut here = None;
        loop {
            let holder = self.journal.status(self.id).await?.and_then(|listed| listed.holder);
            match letter.delivery(self.journal, self.id, after).await? {
                Delivery::Taken => return Ok(here.unwrap_or(Recorded::There(holder))),
                Delivery::Otherwise { answer, by } => {
                    letter.withdraw(self.journal, self.id).await?;
                    let (question, answer) = (asked.question.clone(), said(&answer));
                    return Err(Fault::AnsweredOtherwise { question, answer, by });
                }
                Delivery::Open(end) => after = end,
            }
            let late = deadline <= Instant::now();
            if (late || here.is_some()) && !self.is_open(asked).await? {
                letter.withdraw(self.journal, self.id).await?;
                return Err(Fault::NotOpen { question: asked.question.clone() });
            }
            if late || here.is_some() {
                return Err(Fault::NotTaken { conversation: self.id.clone(), holder });
            }
            // Whoever held it may be gone, and then nobody takes letters but us.
            match self.engine.open_within(self.id, LeaseWait::NONE).await {
                Ok(mut session) => {
                    session.take_letters().await?;
                    here = Some(Recorded::Here);
                }
                Err(OpenError::Lease(LeaseError::Held { .. })) => self.sleep(after).await?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sleeps until the conversation grows; a look at the lease is due in any case.
    async fn sleep(self, after: Seq) -> Result<(), Fault> {
        let grown = self.journal.wait_past(self.id, after);
        if let Ok(grown) = tokio::time::timeout(LOOK_EVERY, grown).await {
            grown?;
        }
        Ok(())
    }

    async fn is_open(self, asked: &Inquiry) -> Result<bool, Fault> {
        let state = read(self.journal, self.id).await?;
        Ok(questions(&state).iter().any(|open| open.id == asked.id))
    }
}

/// An answer, for people.
pub(crate) fn said(answer: &InquiryAnswer) -> String {
    match answer {
        InquiryAnswer::Allow => "allowed".into(),
        InquiryAnswer::Deny => "refused".into(),
        InquiryAnswer::Applied => "done by hand".into(),
        InquiryAnswer::RunAgain => "run it again".into(),
        InquiryAnswer::TreatAsDone => "taken for done".into(),
        InquiryAnswer::Text { text } => text.to_string(),
        InquiryAnswer::Redacted => "told in secret".into(),
        InquiryAnswer::Cancelled { reason } => format!("withdrawn, {reason}"),
    }
}
