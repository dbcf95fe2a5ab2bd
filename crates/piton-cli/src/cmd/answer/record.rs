//! Has answers written down: what stands for more than a conversation first, once, then each answer.

use piton::{CommandError, Kept, Reply};
use piton_core::id::ConversationId;
use piton_core::summary::shorten;
use piton_core::view::{InquiryKind, QuestionView, RuleEffect, RuleScope};

use super::desk::{Desk, Recorded};
use super::elsewhere::{Held, Left};
use super::meant::Meant;
use crate::ask::Offer;
use crate::output::Output;
use crate::render::tool::kept_answer;
use crate::report::Fault;

/// Longest answer that is repeated, in characters.
const ANSWER_CHARS_MAX: usize = 60;

/// What became of the answers so far.
#[derive(Debug, Default)]
struct Tally {
    recorded: Option<Recorded>,
    kept: Option<Fault>,
    missed: Option<Fault>,
}

impl Desk {
    /// Has all answers recorded.
    pub(super) async fn record(
        &self,
        meant: Vec<(ConversationId, Vec<Meant>)>,
        output: &mut Output,
    ) -> Result<Recorded, Fault> {
        let mut tally = Tally::default();
        let offers =
            || meant.iter().flat_map(|(_, meant)| meant).filter_map(|it| it.offer.as_ref());
        // Written before anything is answered: what is lost between the two is asked again, and then
        // a rule answers.
        Offer::write_all(offers())?;
        for offer in offers().filter(|offer| offer.file.is_some()) {
            output.talk(&format!("From now on: {}", offer.told()));
        }
        let mut left = Vec::new();
        for (id, meant) in &meant {
            let held = Held::of(self, id).await?;
            left.push((held, self.leave(id, meant, output).await?));
        }
        for ((_, meant), (mut held, letters)) in meant.iter().zip(left) {
            for (meant, left) in meant.iter().zip(&letters) {
                let delivered = held.delivered(left, meant).await;
                self.count(delivered, meant, &mut tally, output)?;
            }
        }
        match tally {
            Tally { kept: Some(fault), .. } => Err(fault),
            Tally { recorded: Some(recorded), .. } => Ok(recorded),
            Tally { missed: Some(fault), .. } => Err(fault),
            // Every answer is counted in one of the three.
            Tally { .. } => Ok(Recorded::Here),
        }
    }

    /// Leaves answers for the process that works on the conversation, unless they lie there.
    async fn leave(
        &self,
        id: &ConversationId,
        meant: &[Meant],
        output: &mut Output,
    ) -> Result<Vec<Left>, Fault> {
        let conversation = self.engine.conversation(id);
        let kept = Kept::of(self.journal(), id).await?;
        let mut letters = Vec::new();
        for meant in meant {
            let before: Vec<_> = kept.iter().filter(|kept| is_about(kept, &meant.asked)).collect();
            if let Some(same) = before.first().filter(|first| says(first, &meant.reply)) {
                output.talk(&format!("This answer is kept already: {}", meant.asked.heading));
                let (letter, command) = (same.letter.clone(), same.envelope.id.clone());
                letters.push(Left { letter, command });
                continue;
            }
            let envelope = meant.envelope();
            let letter = match conversation.leave(&envelope).await {
                Err(CommandError::SecretElsewhere) => {
                    let question = meant.asked.heading.clone();
                    return Err(Fault::SecretOnTerminal { question });
                }
                left => left?,
            };
            // After the new one lies there: one of them always counts.
            self.replace(id, &before, output).await?;
            letters.push(Left { letter, command: envelope.id });
        }
        Ok(letters)
    }

    /// Takes answers away that another one replaces.
    async fn replace(
        &self,
        id: &ConversationId,
        letters: &[&Kept],
        output: &mut Output,
    ) -> Result<(), Fault> {
        for kept in letters {
            self.journal().discard_letter(id, &kept.letter).await?;
        }
        let Some((_, reply)) = letters.first().and_then(|first| first.answer()) else {
            return Ok(());
        };
        output.talk(&format!("Replaces the answer that was kept: {}", kept_answer(reply)));
        if let Reply::Always(standing) = reply
            && standing.scope != RuleScope::Conversation
        {
            output.talk("The rule of that answer stays: piton permissions shows it");
        }
        Ok(())
    }

    /// Notes what became of an answer. If there may be several, one that comes too late stops none.
    fn count(
        &self,
        delivered: Result<Recorded, Fault>,
        meant: &Meant,
        tally: &mut Tally,
        output: &mut Output,
    ) -> Result<(), Fault> {
        match delivered {
            Ok(recorded) => {
                tell(&meant.asked, &meant.reply, meant.offer.as_ref(), output);
                if !matches!(tally.recorded, Some(Recorded::There(_))) {
                    tally.recorded = Some(recorded);
                }
            }
            Err(fault) if !self.all => return Err(fault),
            Err(fault @ Fault::NotTaken { .. }) => {
                output.talk(&format!("Kept: {}", meant.asked.heading));
                tally.kept = Some(fault);
            }
            // A rule of the one before has answered it.
            Err(Fault::NotOpen { .. }) if meant.offer.is_some() && tally.recorded.is_some() => {}
            Err(
                fault @ (Fault::NotOpen { .. }
                | Fault::AnsweredOtherwise { .. }
                | Fault::TakenAway { .. }),
            ) => {
                output.talk(&fault.to_string());
                tally.missed = Some(fault);
            }
            Err(fault) => return Err(fault),
        }
        Ok(())
    }
}

fn is_about(kept: &Kept, asked: &QuestionView) -> bool {
    kept.answer().is_some_and(|(inquiry, _)| *inquiry == asked.id)
}

fn says(kept: &Kept, meant: &Reply) -> bool {
    kept.answer().is_some_and(|(_, reply)| reply == meant)
}

/// Says what was answered to a question. Of rules for more than the conversation it was said when they
/// were written.
fn tell(asked: &QuestionView, reply: &Reply, offer: Option<&Offer>, output: &mut Output) {
    let answer = match (reply, asked.kind) {
        (Reply::Allow, _) => "yes",
        (Reply::Deny, InquiryKind::Permission) => "no",
        (Reply::Deny, InquiryKind::InDoubt) => "unknown",
        (Reply::Deny, InquiryKind::Question) => "that there is no answer",
        (Reply::Applied, _) => "applied",
        (Reply::RunAgain, _) => "run",
        (Reply::TreatAsDone, _) => "done",
        (Reply::LookAgain, _) => "wait",
        (Reply::Always(_) | Reply::Keep(_), _) => match reply.standing().map(|it| it.effect) {
            Some(RuleEffect::Allow) => "always",
            Some(RuleEffect::Ask | RuleEffect::Deny) | None => "never",
        },
        (Reply::Change(text), _) => &format!("run {:?} instead", shorten(text, ANSWER_CHARS_MAX)),
        (Reply::DenyBecause(reason), _) => &format!("no, {:?}", shorten(reason, ANSWER_CHARS_MAX)),
        (Reply::Text(text), _) => &format!("{:?}", shorten(text, ANSWER_CHARS_MAX)),
        (Reply::Cancel, _) => "that nobody answers",
        (Reply::Secret(_), _) => "in secret",
    };
    output.talk(&format!("Answered {answer}: {}", asked.heading));
    if let Some(offer) = offer.filter(|offer| offer.file.is_none()) {
        output.talk(&format!("From now on: {}", offer.told()));
    }
}
