//! An answer on its way to the journal: left as a letter, and waited for.
//!
//! Only the process that works on a conversation writes its journal. If none does, this one takes the
//! letter. What is said here is what the journal says.

use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::{AnswerThen, Command, Envelope, Kept, Verdict};
use piton_core::id::{CommandId, ConversationId, Seq};
use piton_core::view::{Answer, QuestionView, TurnView, View};
use piton_store::Holder;
use tokio::time::Instant;

use super::desk::{Desk, Recorded};
use super::meant::Meant;
use crate::render::tool::{kept_answer, said};
use crate::report::Fault;

/// How often to look whether it is taken, or the other process gone.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// An answer that was left.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub(super) letter: String,
    pub(super) command: CommandId,
}

impl Meant {
    /// The answer as a command; the turn goes on where it is performed, and nowhere else.
    pub(super) fn envelope(&self) -> Envelope {
        let (inquiry, reply) = (self.asked.id.clone(), self.reply.clone());
        let answer = Command::Answer { inquiry, reply, then: AnswerThen::Rest };
        Envelope::new(CommandId::from_chance(SystemChance.next()), answer)
    }
}

/// A conversation that an answer was left for.
#[derive(Debug)]
pub(super) struct Held<'a> {
    desk: &'a Desk,
    id: &'a ConversationId,
    /// The other process that works on it, or did when it was last known.
    holder: Option<Holder>,
    /// Whether this process has the writer's place.
    here: bool,
}

impl<'a> Held<'a> {
    /// Looks who works on a conversation, before an answer is left: the process that takes it may be
    /// gone at the next look.
    pub(super) async fn of(desk: &'a Desk, id: &'a ConversationId) -> Result<Self, Fault> {
        let listed = desk.journal().status(id).await?;
        let holder = listed.and_then(|listed| listed.holder);
        Ok(Self { desk, id, holder, here: false })
    }

    /// Waits until the letter is taken, by the other process or, if that is gone, by this one.
    pub(super) async fn delivered(
        &mut self,
        left: &Left,
        meant: &Meant,
    ) -> Result<Recorded, Fault> {
        let conversation = self.desk.engine.conversation(self.id);
        loop {
            self.look_at_holder().await?;
            // Looked at before the journal: a process records a letter before it takes it away.
            let lies = self.kept().await?.iter().any(|kept| kept.letter == left.letter);
            let (verdict, view) = conversation.judged(&left.command).await?;
            match verdict {
                Some(Verdict::Taken) => return Ok(self.taken()),
                Some(Verdict::Refused(_)) => return Err(too_late(&view, &meant.asked)),
                None if !lies || self.desk.deadline <= Instant::now() => {
                    if !view.open_questions().any(|open| open.id == meant.asked.id) {
                        conversation.withdraw(&left.letter).await?;
                        return Err(too_late(&view, &meant.asked));
                    }
                    if !lies {
                        return Err(self.gone(&meant.asked).await?);
                    }
                    let holder = self.holder.clone();
                    return Err(Fault::NotTaken { conversation: self.id.clone(), holder });
                }
                None => self.sleep(view.cursor).await?,
            }
        }
    }

    /// Who has taken it. Where no other process was ever seen, it was this one: it may have taken the
    /// letter and left the conversation between two looks.
    fn taken(&self) -> Recorded {
        match &self.holder {
            Some(holder) if !self.here => Recorded::There(holder.clone()),
            Some(_) | None => Recorded::Here,
        }
    }

    async fn kept(&self) -> Result<Vec<Kept>, Fault> {
        Ok(Kept::of(self.desk.journal(), self.id).await?)
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
        let kept = self.kept().await?;
        let mut answers = kept.iter().filter_map(Kept::answer);
        let other = answers.find(|(inquiry, _)| **inquiry == asked.id);
        let kept = other.map(|(_, reply)| kept_answer(reply));
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
}

/// Has the process that took the answers go on. For one that performs the turn this changes nothing. But a
/// server holds a turn that waits for a while without performing it.
pub(super) async fn wake(desk: &Desk, id: &ConversationId) -> Result<(), Fault> {
    let conversation = desk.engine.conversation(id);
    let resume = Envelope::new(CommandId::from_chance(SystemChance.next()), Command::Resume);
    if conversation.foreseen(&resume).await?.is_some() {
        return Ok(());
    }
    let letter = conversation.leave(&resume).await?;
    while Instant::now() < desk.deadline {
        let (verdict, view) = conversation.judged(&resume.id).await?;
        if verdict.is_some() {
            return Ok(());
        }
        let held = Held::of(desk, id).await?;
        if held.holder.is_none() {
            break;
        }
        held.sleep(view.cursor).await?;
    }
    // Nobody is there to go on.
    Ok(conversation.withdraw(&letter).await?)
}

/// The question is not open any more: somebody was faster, or the turn is over.
fn too_late(view: &View, asked: &QuestionView) -> Fault {
    let question = asked.heading.clone();
    let calls = view.turns.iter().flat_map(TurnView::calls);
    let found = calls.flat_map(|call| &call.questions).find(|found| found.id == asked.id);
    match found.and_then(|found| found.answer.as_ref()) {
        Some(Answer { given, by, elsewhere, .. }) => {
            let from = if *elsewhere { " elsewhere" } else { "" };
            Fault::AnsweredOtherwise { question, answer: said(given), by: format!("{by}{from}") }
        }
        None => Fault::NotOpen { question },
    }
}
