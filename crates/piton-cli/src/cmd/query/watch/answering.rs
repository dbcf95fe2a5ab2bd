//! What a typed line answers: to one question, or to all that were shown.

use piton::{AnswerThen, Command, Reply};
use piton_core::id::ConversationId;
use piton_core::summary::shorten;
use piton_core::view::RuleEffect;

use super::together::Understood;
use super::{Settled, Standing, Watch, is_own_permission};
use crate::ask::{Heard, Offer, Prompt, not_understood};
use crate::cmd::query::link::{Link, Sent};
use crate::output::Output;
use crate::report::Report;

/// Longest line that is shown again, in letters.
const SHOWN_LETTERS_MAX: usize = 60;

/// How to say words to the model that were typed where a call asks for permission.
fn meant_for_model(prompt: &Prompt, line: &str) -> String {
    let is_message = 1 < line.split_whitespace().count();
    if !is_message || !is_own_permission(prompt) || prompt.is_choosing() {
        return String::new();
    }
    let words = shorten(line.trim(), SHOWN_LETTERS_MAX);
    format!("To refuse the call and tell the model that: no {words}\n")
}

/// What is answered to one question.
struct Answered {
    prompt: Prompt,
    reply: Reply,
    offer: Option<Offer>,
}

impl Watch {
    /// Takes in a line.
    pub(super) fn understand(&mut self, line: &str, output: &mut Output) -> Understood {
        let several = 1 < self.together();
        let for_all = for_all(line).filter(|_| several);
        // It counts for what was shown.
        if for_all.is_some() && self.all.on_screen.len() < self.together() {
            self.all.is_shown = true;
            return Understood::Told("All of them; if that is meant, type it again.\n".into());
        }
        self.all.is_answered |= several && (self.rules.batch || for_all.is_some());
        let Some(prompt) = self.prompts.front_mut() else { return Understood::On };
        let heard = prompt.hear(for_all.unwrap_or(line));
        let Heard::Reply(reply) = heard else {
            self.all.is_answered &= prompt.is_choosing();
            return match heard {
                Heard::Unclear(takes) => {
                    Understood::Told(not_understood(&takes) + &meant_for_model(prompt, line))
                }
                Heard::Told(told) => Understood::Told(told),
                Heard::Write => Understood::Write,
                Heard::Leave => Understood::Leave,
                Heard::Reply(_) | Heard::Ask => Understood::On,
            };
        };
        self.answer(&reply, output);
        Understood::On
    }

    /// Answers the first question, and those that are answered with it.
    pub(super) fn answer(&mut self, reply: &Reply, output: &mut Output) {
        let answered = self.answered(reply);
        // Written before it is answered: what is lost between the two is asked again, and then a
        // rule answers.
        let written = Offer::write_all(answered.iter().filter_map(|it| it.offer.as_ref()));
        if let Err(fault) = written {
            return Report::from(&fault.into()).tell(output);
        }
        for Answered { prompt, offer, .. } in &answered {
            let Some(offer) = offer else { continue };
            let (inquiry, told) = (prompt.asked.id.clone(), offer.told());
            self.standing.push(Standing { inquiry, told, written: offer.file.is_some() });
        }
        self.give(answered);
    }

    fn give(&mut self, answered: Vec<Answered>) {
        for Answered { prompt, .. } in &answered {
            self.face.know_answered(&prompt.asked.id);
        }
        let (link, conversation) = (self.link.clone(), self.conversation.clone());
        self.answering = Some(Box::pin(send(link, conversation, answered)));
    }

    /// Takes the first question down: whoever asks is told that nobody answers.
    pub(super) fn cancel(&mut self) -> bool {
        let Some(prompt) = self.prompts.front().cloned() else { return false };
        self.give(vec![Answered { prompt, reply: Reply::Cancel, offer: None }]);
        true
    }

    /// What a reply to the first question means for it, and for the others that were shown with it, if it
    /// is for all of them.
    fn answered(&mut self, reply: &Reply) -> Vec<Answered> {
        let for_all = std::mem::take(&mut self.all.is_answered);
        self.all.is_shown = false;
        let mut all = Vec::new();
        for (place, prompt) in self.prompts.iter().enumerate() {
            let (mut reply, is_shown) =
                (reply.clone(), self.all.on_screen.contains(&prompt.asked.id));
            if 0 < place {
                if !(for_all && is_shown && is_own_permission(prompt)) {
                    continue;
                }
                reply = for_another(prompt, reply);
            }
            let offer = prompt.offered(&reply).filter(|_| prompt.worker.is_none());
            all.push(Answered { prompt: prompt.clone(), reply, offer });
        }
        all
    }
}

/// What a line that is for all calls says of each; `None` if it is for one.
fn for_all(line: &str) -> Option<&str> {
    let each = line.trim_end().strip_suffix(" all")?;
    // The words behind a no are its reason.
    let first = each.split_whitespace().next()?;
    let is_reason = matches!(first, "n" | "no" | "e" | "edit") && first != each.trim();
    (!is_reason).then_some(each)
}

/// What a reply means for another call. A change is for one call alone, and so are rules that were written
/// for it.
fn for_another(prompt: &Prompt, reply: Reply) -> Reply {
    let Some(standing) = reply.standing() else {
        return if matches!(reply, Reply::Change(_)) { Reply::Allow } else { reply };
    };
    match (prompt.offered(&Reply::Always(standing)), standing.effect) {
        (Some(_), _) => Reply::Always(standing),
        // No rule can say it of this call; for this once it counts all the same.
        (None, RuleEffect::Allow) => Reply::Allow,
        (None, RuleEffect::Ask | RuleEffect::Deny) => Reply::Deny,
    }
}

/// Gives the answers one after the other; says whether any of the questions was open. A rule of one may
/// answer the next.
async fn send(link: Link, conversation: ConversationId, answered: Vec<Answered>) -> Settled {
    let (mut is_known, mut failed) = (false, Vec::new());
    let mut why = None;
    for Answered { prompt: Prompt { asked, worker, .. }, reply, .. } in answered {
        let asker = worker.unwrap_or_else(|| conversation.clone());
        let (inquiry, then) = (asked.id, AnswerThen::GoOn);
        let answer = Command::Answer { inquiry: inquiry.clone(), reply, then };
        match link.send(&asker, answer).await {
            Ok(Sent::Taken) => is_known = true,
            Ok(Sent::Refused(_)) => {}
            Err(fault) => {
                failed.push(inquiry);
                why = Some(fault);
            }
        }
    }
    match why {
        Some(fault) => Settled::Failed(failed, Box::new(fault)),
        None if is_known => Settled::Known,
        None => Settled::Late,
    }
}
