//! Commands from other processes: letters to the writer of a conversation.
//!
//! The sender leaves a letter beside the journal. The one writer takes it, records what it brings with
//! the letter's name, and then takes the letter away. A command is taken once, so a letter that is
//! found again after a crash brings nothing more. A letter whose taker dies is taken by the next
//! writer. Secrets do not travel so: a letter lies on a disk.

mod watch;

use piton_core::command::{AnswerThen, Command, Envelope, Opened, Reply};
use piton_core::event::{BlobRef, RuleEffect, RuleScope, Shape};
use piton_core::id::{CommandId, ConversationId, InquiryId, Timestamp};
use piton_core::permit::Standing;
use piton_store::{Journal, LETTER_BYTES_MAX, Letter, StoreError};
use serde::{Deserialize, Serialize};

pub(crate) use self::watch::MailWatch;
use crate::reader;

/// A command that lies beside a journal: no writer has taken it yet.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Kept {
    /// The name of its letter.
    pub letter: String,
    /// The command.
    pub envelope: Envelope,
}

impl Kept {
    /// The commands that lie beside a journal, in the order of arrival. Letters that cannot be read are
    /// not among them.
    pub async fn of(
        journal: &dyn Journal,
        conversation: &ConversationId,
    ) -> Result<Vec<Self>, StoreError> {
        let mut kept = Vec::new();
        for letter in journal.letters(conversation).await? {
            if let Ok(Brought::Command(envelope)) = read(journal, &letter).await {
                kept.push(Self { letter: letter.id, envelope: *envelope });
            }
        }
        Ok(kept)
    }

    /// The question that it answers, and the answer.
    pub fn answer(&self) -> Option<(&InquiryId, &Reply)> {
        let Command::Answer { inquiry, reply, .. } = &self.envelope.command else { return None };
        Some((inquiry, reply))
    }
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
        Err(_) => match old_answer(letter) {
            Some(envelope) => Brought::Command(Box::new(envelope)),
            None => Brought::Nothing,
        },
    })
}

/// A letter of builds that knew answers only, and gave them no name of their own.
#[derive(Debug, Deserialize)]
struct OldAnswer {
    inquiry: InquiryId,
    reply: OldReply,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum OldReply {
    Allow,
    Deny,
    Applied,
    Always { effect: RuleEffect, scope: RuleScope },
    RunAgain,
    TreatAsDone,
    Text { text: String },
}

fn old_answer(letter: &Letter) -> Option<Envelope> {
    let OldAnswer { inquiry, reply } = serde_json::from_str(&letter.body).ok()?;
    let reply = match reply {
        OldReply::Allow => Reply::Allow,
        OldReply::Deny => Reply::Deny,
        OldReply::Applied => Reply::Applied,
        OldReply::Always { effect, scope } => Reply::Always(Standing { effect, scope }),
        OldReply::RunAgain => Reply::RunAgain,
        OldReply::TreatAsDone => Reply::TreatAsDone,
        OldReply::Text { text } => Reply::Text(text),
    };
    let answer = Command::Answer { inquiry, reply, then: AnswerThen::Rest };
    Some(Envelope::new(CommandId::new(letter.id.as_str()), answer))
}

#[cfg(test)]
mod tests {
    use piton_core::question::Secret;
    use piton_store::MemoryJournal;

    use super::*;

    // J65
    #[tokio::test]
    async fn a_secret_is_never_put_into_a_letter() {
        let (journal, id) = (MemoryJournal::default(), ConversationId::new("c"));
        let answer = Command::answer(InquiryId::new("q"), Reply::Secret(Secret::new("hush")));
        let envelope = Envelope::new(CommandId::new("a"), answer);
        assert_eq!(post(&journal, &id, &envelope, Timestamp(5)).await.unwrap(), None);
        assert_eq!(journal.letters(&id).await.unwrap(), []);
    }

    #[tokio::test]
    async fn what_is_not_understood_is_not_among_the_commands_that_are_kept() {
        let (journal, id) = (MemoryJournal::default(), ConversationId::new("c"));
        let strange = Letter { id: "1".into(), body: "{\"inquiry\":\"x\",\"reply\":{}}".into() };
        journal.post(&id, strange).await.unwrap();
        let envelope = Envelope::new(CommandId::new("a"), Command::Interrupt);
        let letter = post(&journal, &id, &envelope, Timestamp(5)).await.unwrap().unwrap();
        assert_eq!(Kept::of(&journal, &id).await.unwrap(), [Kept { letter, envelope }]);
    }
}
