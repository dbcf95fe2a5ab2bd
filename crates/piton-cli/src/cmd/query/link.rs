//! How commands of a face reach a conversation: through the engine of this process, as letters for another
//! process, or through a server.

use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::{Command, CommandError, Conversation, Engine, Envelope, Sender, Verdict};
use piton_core::id::{CommandId, ConversationId};

use crate::cmd::letter;
use crate::remote::Remote;
use crate::report::{Fault, LetterFault, ServerFault};

/// How long another process has to take a letter.
const LETTER_WAIT: Duration = Duration::from_secs(10);

/// Where commands go.
#[derive(Clone, Debug)]
pub(in crate::cmd) enum Link {
    /// This process performs the turn.
    Own { engine: Engine, conversation: Conversation },
    /// Another process does, and takes letters.
    Letters { engine: Engine, from: Sender },
    /// A server does.
    Server(Remote),
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cmd) enum Sent {
    /// It counts, or it lies safe until it does.
    Taken,
    /// It was looked at, and not obeyed; why.
    Refused(String),
}

impl Link {
    /// Sends a command to a conversation. Durable when this returns.
    pub(in crate::cmd) async fn send(
        &self,
        id: &ConversationId,
        command: Command,
    ) -> Result<Sent, Fault> {
        match self {
            Self::Own { engine, conversation } => {
                let to = if conversation.id() == id {
                    conversation.clone()
                } else {
                    engine.conversation(id)
                };
                match to.send(command).await {
                    Err(CommandError::Refused(refusal)) => Ok(Sent::Refused(refusal.to_string())),
                    Err(error) => Err(error.into()),
                    Ok(accepted) => Ok(match accepted.refusal() {
                        Some(refusal) => Sent::Refused(refusal.to_string()),
                        None => Sent::Taken,
                    }),
                }
            }
            Self::Letters { engine, from } => leave(engine, from.clone(), id, command).await,
            Self::Server(remote) => heard(remote.send(id, command).await),
        }
    }

    /// Tries the newest message again, by another model if one is named. Only a server does both or neither.
    pub(in crate::cmd) async fn retry(
        &self,
        id: &ConversationId,
        model: Option<&str>,
    ) -> Result<Sent, Fault> {
        match self {
            Self::Server(remote) => heard(remote.retry(id, model).await),
            Self::Own { .. } | Self::Letters { .. } => {
                Ok(Sent::Refused("another process works on the turn".into()))
            }
        }
    }

    /// Whether a server performs the turn.
    pub(in crate::cmd) fn is_server(&self) -> bool {
        matches!(self, Self::Server(_))
    }
}

/// What a server says of a command.
fn heard(sent: Result<(), ServerFault>) -> Result<Sent, Fault> {
    match sent {
        Ok(()) => Ok(Sent::Taken),
        Err(ServerFault::Refused { message, .. }) => Ok(Sent::Refused(message)),
        Err(fault) => Err(fault.into()),
    }
}

/// Leaves a command for the process at work, and waits until it is taken.
async fn leave(
    engine: &Engine,
    from: Sender,
    id: &ConversationId,
    command: Command,
) -> Result<Sent, Fault> {
    let conversation = engine.conversation(id);
    let name = CommandId::from_chance(SystemChance.next());
    let envelope = Envelope { from, ..Envelope::new(name.clone(), command) };
    if let Some(refusal) = conversation.foreseen(&envelope).await.map_err(LetterFault::from)? {
        return Ok(Sent::Refused(refusal.to_string()));
    }
    let letter = conversation.leave(&envelope).await.map_err(LetterFault::from)?;
    let journal = &**engine.journal();
    match letter::verdict(&conversation, journal, (&name, &letter), LETTER_WAIT).await? {
        Some(Verdict::Taken) => Ok(Sent::Taken),
        Some(Verdict::Refused(refusal)) => Ok(Sent::Refused(refusal.to_string())),
        None => {
            let holder = letter::holder(&conversation, journal).await?;
            Err(LetterFault::Deaf { holder }.into())
        }
    }
}
