//! Commands from other processes: letters to the writer of a conversation.
//!
//! The sender leaves a letter beside the journal. The one writer takes it, records what it brings with
//! the letter's name, and then takes the letter away. A command is taken once, so a letter that is
//! found again after a crash brings nothing more. A letter whose taker dies is taken by the next
//! writer. Secrets do not travel so: a letter lies on a disk.

mod watch;

use std::ops::ControlFlow;

use piton_core::command::{Command, Envelope, Opened, Reply};
use piton_core::event::{BlobRef, Event, InquiryAnswer, RuleEffect, RuleScope, Shape};
use piton_core::id::{CommandId, ConversationId, InquiryId, Seq, Timestamp};
use piton_core::permit::Standing;
use piton_store::{Journal, LETTER_BYTES_MAX, Letter, StoreError};
use serde::{Deserialize, Serialize};

pub(crate) use self::watch::MailWatch;
use crate::reader;

/// An answer on its way to another process.
#[derive(Clone, Debug)]
pub struct AnswerLetter {
    letter: Letter,
    inquiry: InquiryId,
    reply: Reply,
}

/// An answer that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The answer.
    pub answer: InquiryAnswer,
    /// Who gave it.
    pub by: String,
    /// The letter that brought it; none if it was given where the conversation was written.
    pub letter: Option<String>,
}

/// What became of a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is recorded.
    Taken,
    /// Another answer was recorded first.
    Otherwise(Given),
    /// Nothing is recorded up to this entry.
    Open(Seq),
}

/// What a letter says. Stored for a moment only, but two versions of piton may meet over it.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    inquiry: InquiryId,
    reply: WrittenReply,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WrittenReply {
    Allow,
    Deny,
    Applied,
    Always { effect: RuleEffect, scope: RuleScope },
    RunAgain,
    TreatAsDone,
    Text { text: String },
}

impl AnswerLetter {
    /// A letter with a name that nobody else gives; none for a secret, which is never written down.
    pub fn new(inquiry: InquiryId, reply: &Reply, at: Timestamp, chance: u64) -> Option<Self> {
        let written = match reply {
            Reply::Allow => WrittenReply::Allow,
            Reply::Deny => WrittenReply::Deny,
            Reply::Applied => WrittenReply::Applied,
            Reply::Always(Standing { effect, scope }) => {
                WrittenReply::Always { effect: *effect, scope: *scope }
            }
            Reply::RunAgain => WrittenReply::RunAgain,
            Reply::TreatAsDone => WrittenReply::TreatAsDone,
            Reply::Text(text) => WrittenReply::Text { text: text.clone() },
            Reply::Secret(_) => return None,
        };
        let written = Written { inquiry: inquiry.clone(), reply: written };
        let body = serde_json::to_string(&written).ok()?;
        // In the order in which they were written, as far as clocks agree.
        let id = format!("{:015}-{chance:016x}", at.0);
        Some(Self { letter: Letter { id, body }, inquiry, reply: reply.clone() })
    }

    /// Those that lie there and are not taken yet, the one that counts first. What is not understood
    /// is not among them.
    pub async fn kept(
        journal: &dyn Journal,
        conversation: &ConversationId,
    ) -> Result<Vec<Self>, StoreError> {
        let letters = journal.letters(conversation).await?.into_iter();
        let understood = letters.filter_map(|letter| {
            let (inquiry, reply) = open(&letter)?;
            Some(Self { letter, inquiry, reply })
        });
        Ok(understood.collect())
    }

    /// The question.
    pub fn inquiry(&self) -> &InquiryId {
        &self.inquiry
    }

    /// What it says.
    pub fn reply(&self) -> &Reply {
        &self.reply
    }

    /// Whether it lies there still. One that does not is recorded, or answers nothing.
    pub async fn lies(
        &self,
        journal: &dyn Journal,
        conversation: &ConversationId,
    ) -> Result<bool, StoreError> {
        let letters = journal.letters(conversation).await?;
        Ok(letters.iter().any(|letter| letter.id == self.letter.id))
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.letter.id
    }

    /// Leaves it; durable when this returns.
    pub async fn post(
        &self,
        journal: &dyn Journal,
        conversation: &ConversationId,
    ) -> Result<(), StoreError> {
        journal.post(conversation, self.letter.clone()).await
    }

    /// Takes it away, now that it answers nothing any more.
    pub async fn withdraw(
        &self,
        journal: &dyn Journal,
        conversation: &ConversationId,
    ) -> Result<(), StoreError> {
        journal.discard_letter(conversation, self.id()).await
    }

    /// Looks for it among the entries behind `after`.
    pub async fn delivery(
        &self,
        journal: &dyn Journal,
        conversation: &ConversationId,
        after: Seq,
    ) -> Result<Delivery, StoreError> {
        Ok(match given(journal, conversation, &self.inquiry, after).await? {
            Ok(given) if given.letter.as_deref() == Some(self.id()) => Delivery::Taken,
            Ok(given) => Delivery::Otherwise(given),
            Err(end) => Delivery::Open(end),
        })
    }
}

/// The answer to a question among the entries behind `after`; else the last one that was read.
pub async fn given(
    journal: &dyn Journal,
    conversation: &ConversationId,
    wanted: &InquiryId,
    after: Seq,
) -> Result<Result<Given, Seq>, StoreError> {
    let mut found = None;
    let last = reader::each_record(journal, conversation, after, |record| {
        if let Event::InquiryAnswered { inquiry, answer, by, letter } = reader::entry(&record).event
            && inquiry == *wanted
        {
            found = Some(Given { answer, by, letter });
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let last = last.await?;
    Ok(found.ok_or(last))
}

/// The commands that lie in letters and that no process has taken yet, in the order of their arrival.
/// What is not understood is not among them.
pub async fn untaken(
    journal: &dyn Journal,
    conversation: &ConversationId,
) -> Result<Vec<Envelope>, StoreError> {
    let mut commands = Vec::new();
    for letter in journal.letters(conversation).await? {
        // A letter whose blob cannot be read is shown by no list; its taker says so.
        if let Ok(Brought::Command(envelope)) = read(journal, &letter).await {
            commands.push(*envelope);
        }
    }
    Ok(commands)
}

/// What a letter brings.
#[derive(Debug)]
pub(crate) enum Brought {
    /// A command.
    Command(Box<Envelope>),
    /// A command of a newer build, which is refused by its name.
    Unknown {
        /// Its name.
        command: CommandId,
        /// What it calls itself.
        kind: String,
    },
    /// An answer in the form of builds that knew no other letters.
    Answer(InquiryId, Reply),
    /// Nothing that this build understands. It is left for a newer one.
    Nothing,
}

/// A letter whose text is too long for a letter, and lies in a blob.
#[derive(Debug, Serialize, Deserialize)]
struct Enclosure {
    enclosed: BlobRef,
}

/// Leaves a command for the writer of a conversation; durable when this returns. Says under which name
/// it lies; none for a command with a secret, which is never written down.
pub(crate) async fn post(
    journal: &dyn Journal,
    conversation: &ConversationId,
    envelope: &Envelope,
    at: Timestamp,
) -> Result<Option<String>, StoreError> {
    if tells_a_secret(journal, conversation, envelope).await? {
        return Ok(None);
    }
    let Some(mut body) = envelope.to_text() else { return Ok(None) };
    if LETTER_BYTES_MAX < body.len() {
        let enclosed = journal.put_blob(body.as_bytes()).await?;
        body = serde_json::to_string(&Enclosure { enclosed }).unwrap_or_default();
    }
    let id = name(&envelope.id, at);
    journal.post(conversation, Letter { id: id.clone(), body }).await?;
    Ok(Some(id))
}

/// Whether a command answers a question for a secret, in whatever form.
async fn tells_a_secret(
    journal: &dyn Journal,
    conversation: &ConversationId,
    envelope: &Envelope,
) -> Result<bool, StoreError> {
    let Command::Answer { inquiry, reply: Reply::Text(_), .. } = &envelope.command else {
        return Ok(false);
    };
    let state = reader::state(journal, conversation).await?;
    let asked = state.open_turn().and_then(|turn| turn.raised(inquiry));
    let wants = asked.and_then(|raised| raised.inquiry.wants.as_ref());
    Ok(wants.is_some_and(|wants| wants.shape == Shape::Secret))
}

/// The name of a letter: in the order of writing, as far as clocks agree, and told by its command.
fn name(command: &CommandId, at: Timestamp) -> String {
    let plain = |letter: &char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let told: String = command.as_str().chars().filter(plain).take(32).collect();
    format!("{:015}-{told}", at.0)
}

/// Reads what a letter brings.
pub(crate) async fn read(journal: &dyn Journal, letter: &Letter) -> Result<Brought, StoreError> {
    let enclosed;
    let text = match serde_json::from_str::<Enclosure>(&letter.body) {
        Ok(Enclosure { enclosed: blob }) => {
            enclosed = String::from_utf8(journal.blob(&blob.digest).await?).unwrap_or_default();
            &enclosed
        }
        Err(_) => &letter.body,
    };
    Ok(match Envelope::from_text(text) {
        Ok(Opened::Command(envelope)) => Brought::Command(envelope),
        Ok(Opened::Unknown { id, kind }) => Brought::Unknown { command: id, kind },
        Err(_) => match open(letter) {
            Some((inquiry, reply)) => Brought::Answer(inquiry, reply),
            None => Brought::Nothing,
        },
    })
}

/// What a letter answers to which question; none if it is not understood. Then it is left for a
/// newer piton that does.
pub(crate) fn open(letter: &Letter) -> Option<(InquiryId, Reply)> {
    let Written { inquiry, reply } = serde_json::from_str(&letter.body).ok()?;
    let reply = match reply {
        WrittenReply::Allow => Reply::Allow,
        WrittenReply::Deny => Reply::Deny,
        WrittenReply::Applied => Reply::Applied,
        WrittenReply::Always { effect, scope } => Reply::Always(Standing { effect, scope }),
        WrittenReply::RunAgain => Reply::RunAgain,
        WrittenReply::TreatAsDone => Reply::TreatAsDone,
        WrittenReply::Text { text } => Reply::Text(text),
    };
    Some((inquiry, reply))
}

#[cfg(test)]
mod tests {
    use piton_core::question::Secret;

    use super::*;

    #[test]
    fn a_reply_reads_as_it_was_written() {
        let standing = Standing { effect: RuleEffect::Deny, scope: RuleScope::Project };
        for reply in [
            Reply::Allow,
            Reply::Deny,
            Reply::Applied,
            Reply::Always(standing),
            Reply::RunAgain,
            Reply::TreatAsDone,
            Reply::Text("so \"it\" is\n".into()),
        ] {
            let inquiry = InquiryId::new("1.1.0.permission.1");
            let letter = AnswerLetter::new(inquiry.clone(), &reply, Timestamp(5), 7).unwrap();
            assert_eq!(open(&letter.letter), Some((inquiry, reply)));
        }
        let strange = Letter { id: "1".into(), body: "{\"inquiry\":\"x\",\"reply\":{}}".into() };
        assert_eq!(open(&strange), None);
    }

    // J65
    #[test]
    fn a_secret_is_never_put_into_a_letter() {
        let secret = Reply::Secret(Secret::new("hush"));
        assert!(AnswerLetter::new(InquiryId::new("q"), &secret, Timestamp(5), 7).is_none());
    }
}
