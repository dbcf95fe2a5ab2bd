//! A command that is left as a letter, and waited for in the journal.

use std::sync::Arc;
use std::time::Duration;

use piton_core::command::{Command, Envelope, Performing, Refusal, UserPart, queue_full};
use piton_core::id::CommandId;
use piton_core::outcome::Ending;
use piton_core::state::{State, Verdict};
use piton_core::view::View;
use piton_store::StoreError;

use super::Conversation;
use crate::error::CommandError;
use crate::orders::vet_flags;
use crate::{files, mailbox, reader};

/// How often it is looked whether the process that works on the conversation is still there.
const HOLDER_EVERY: Duration = Duration::from_secs(1);

impl Conversation {
    /// Leaves a command for the process that has the writer's place, or for the next one: nothing is
    /// performed here. Durable when this returns. Says under which name the letter lies.
    pub async fn leave(&self, envelope: &Envelope) -> Result<String, CommandError> {
        let hosts = self.hosts.upgrade().ok_or(CommandError::EngineGone)?;
        let parts = hosts.parts().clone();
        let posted = mailbox::post(&*parts.journal, &self.id, envelope, parts.clock.now()).await;
        posted.map_err(failed)?.ok_or(CommandError::SecretElsewhere)
    }

    /// Why a command that would be left now is refused, as far as that is known before somebody takes it:
    /// flags that a letter cannot bring, and a queue that the letters in front of it fill.
    pub async fn foreseen(&self, envelope: &Envelope) -> Result<Option<Refusal>, CommandError> {
        let journal = self.journal()?;
        // Letters first: one that is taken meanwhile is counted in the state, and told by its name.
        let kept = mailbox::Kept::of(&*journal, &self.id).await.map_err(failed)?;
        let state = reader::state(&*journal, &self.id).await.map_err(failed)?;
        let in_front = kept.iter().filter(|it| !state.commands.contains_key(&it.envelope.id));
        let in_front = in_front.filter(|it| is_for_queue(&it.envelope.command)).count();
        if let Err(refusal) = vet_flags(&state, envelope, Performing::Nobody) {
            return Ok(Some(refusal));
        }
        let full = is_for_queue(&envelope.command).then(|| queue_full(&state, in_front));
        Ok(full.flatten())
    }

    /// Takes a letter back. A letter that the writer has taken by then counts.
    pub async fn withdraw(&self, letter: &str) -> Result<(), CommandError> {
        let hosts = self.hosts.upgrade().ok_or(CommandError::EngineGone)?;
        hosts.parts().journal.discard_letter(&self.id, letter).await.map_err(failed)
    }

    /// What became of a command; none as long as no writer has taken it.
    pub async fn verdict(&self, command: &CommandId) -> Result<Option<Verdict>, CommandError> {
        let hosts = self.hosts.upgrade().ok_or(CommandError::EngineGone)?;
        let state = reader::state(&*hosts.parts().journal, &self.id).await.map_err(failed)?;
        Ok(state.commands.get(command).map(|(_, verdict)| verdict.clone()))
    }

    /// The same with the conversation as it was then. Both are from one reading: what a command was refused for
    /// is in the view.
    pub async fn judged(
        &self,
        command: &CommandId,
    ) -> Result<(Option<Verdict>, View), CommandError> {
        let state = reader::state(&*self.journal()?, &self.id).await.map_err(failed)?;
        let verdict = state.commands.get(command).map(|(_, verdict)| verdict.clone());
        Ok((verdict, View::from(&state)))
    }

    /// How the newest turn stands.
    pub async fn ending(&self) -> Result<Ending, CommandError> {
        let hosts = self.hosts.upgrade().ok_or(CommandError::EngineGone)?;
        let state = reader::state(&*hosts.parts().journal, &self.id).await.map_err(failed)?;
        Ok(Ending::of(&state))
    }

    /// Keeps a file beside the journal, as a part of a message; durable from here on.
    pub async fn attach(&self, name: &str, content: &[u8]) -> Result<UserPart, CommandError> {
        let hosts = self.hosts.upgrade().ok_or(CommandError::EngineGone)?;
        files::keep(&*hosts.parts().journal, name, content).await.map_err(failed)
    }

    /// Waits until a command is taken and the conversation rests, whichever process performs. A letter
    /// whose holder died is taken over here.
    pub(super) async fn until_rest_elsewhere(
        &self,
        command: &CommandId,
    ) -> Result<Ending, CommandError> {
        loop {
            let hosts = self.hosts.upgrade().ok_or(CommandError::EngineGone)?;
            let journal = hosts.parts().journal.clone();
            drop(hosts);
            // The holder first: what it wrote before it left is in the state then.
            let listed = journal.status(&self.id).await.map_err(failed)?;
            let held = listed.is_some_and(|listed| listed.holder.is_some());
            let state = reader::state(&*journal, &self.id).await.map_err(failed)?;
            match state.commands.get(command) {
                Some((_, Verdict::Refused(refusal))) => {
                    return Err(CommandError::Refused(refusal.clone()));
                }
                Some((_, Verdict::Taken))
                    if !held && state.open_turn().is_none() && !state.queue.is_empty() =>
                {
                    // It was recorded, and the process that did so has left: it goes on here.
                    return Box::pin(self.perform(Command::Resume)).await;
                }
                Some((_, Verdict::Taken)) if !held || rests(&state) => {
                    return Ok(Ending::of(&state));
                }
                None if !held => self.look().await?,
                Some(_) | None => {}
            }
            let grown = journal.wait_past(&self.id, state.end);
            // Time is up: who holds the conversation is looked at again.
            if let Ok(Err(error)) = tokio::time::timeout(HOLDER_EVERY, grown).await {
                return Err(failed(error));
            }
        }
    }
}

fn is_for_queue(command: &Command) -> bool {
    matches!(command, Command::Queue { .. } | Command::Steer { .. })
}

fn failed(error: StoreError) -> CommandError {
    CommandError::Store(Arc::new(error))
}

/// Whether nothing is left to do that needs no person.
fn rests(state: &State) -> bool {
    state.open_turn().is_none() && state.queue.is_empty()
}
