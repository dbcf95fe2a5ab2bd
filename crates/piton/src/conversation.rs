//! The handle of a face on one conversation.

mod elsewhere;

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use piton_core::command::{Command, Envelope};
use piton_core::id::{CommandId, ConversationId};
use piton_core::outcome::Ending;
use piton_store::{Journal, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::control::Control;
use crate::error::CommandError;
use crate::follow::{Follow, FollowError};
use crate::host::Hosts;
use crate::lease::LeaseWait;
use crate::receipt::{Accepted, Handed, Rest, Rested};

/// Most tries to reach the task of a conversation that ends while it is spoken to.
const TRIES_MAX: usize = 16;

/// A conversation, as faces hold it. Cheap to clone; dropping it stops nothing. The engine owns the
/// task behind it, which takes the writer's place when there is something to do.
#[derive(Clone, Debug)]
pub struct Conversation {
    id: ConversationId,
    /// Where it works, if it has not begun.
    workspace: Option<PathBuf>,
    hosts: Weak<Hosts>,
}

/// A face that can answer questions. As long as one is there, a turn that asks stays in flight.
#[derive(Debug)]
pub struct Attending {
    id: ConversationId,
    hosts: Weak<Hosts>,
}

impl Drop for Attending {
    fn drop(&mut self) {
        if let Some(hosts) = self.hosts.upgrade() {
            hosts.face_goes(&self.id, |seat| &seat.faces);
        }
    }
}

/// Keeps the writer's place of a conversation, also while nothing is to be done: what a face reads
/// meanwhile stays as it is until the face itself sends a command.
#[derive(Debug)]
pub struct Hold {
    id: ConversationId,
    hosts: Weak<Hosts>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(hosts) = self.hosts.upgrade() {
            hosts.face_goes(&self.id, |seat| &seat.holds);
        }
    }
}

/// A command that was accepted, and what it set going.
#[derive(Debug)]
pub struct Work {
    accepted: Accepted,
    rested: Option<oneshot::Receiver<Rest>>,
    conversation: Conversation,
}

impl Work {
    /// What became of the command.
    pub fn accepted(&self) -> &Accepted {
        &self.accepted
    }

    /// Waits until the conversation rests. A command that was left as a letter is waited for in the
    /// journal.
    pub async fn rest(self) -> Result<Rested, CommandError> {
        if let Accepted::Letter { command, .. } = &self.accepted {
            let ending = self.conversation.until_rest_elsewhere(command).await?;
            return Ok(Rested { ending, stopped: Vec::new() });
        }
        match self.rested {
            Some(rested) => match rested.await {
                Ok(rest) => rest.map_err(CommandError::Failed),
                Err(_) => Err(CommandError::EngineGone),
            },
            None => Err(CommandError::EngineGone),
        }
    }
}

impl Conversation {
    pub(crate) fn new(id: ConversationId, workspace: Option<PathBuf>, hosts: &Arc<Hosts>) -> Self {
        Self { id, workspace, hosts: Arc::downgrade(hosts) }
    }

    /// Its name.
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// Sends a command under a new name. It is durable when this returns: recorded, or left as a letter
    /// for the process that has the writer's place.
    pub async fn send(&self, command: Command) -> Result<Accepted, CommandError> {
        let envelope = Envelope::new(self.new_name()?, command);
        self.post(envelope).await
    }

    /// Sends a command under the name that the caller gave it: sending it twice is sending it once.
    pub async fn post(&self, envelope: Envelope) -> Result<Accepted, CommandError> {
        self.hand_over(envelope, || None).await
    }

    /// Sends a command, and waits until the conversation rests. A command that was left as a letter is
    /// waited for in the journal.
    pub async fn perform(&self, command: Command) -> Result<Ending, CommandError> {
        let envelope = Envelope::new(self.new_name()?, command);
        self.perform_envelope(envelope).await
    }

    /// The same for a command with a name.
    pub async fn perform_envelope(&self, envelope: Envelope) -> Result<Ending, CommandError> {
        Ok(self.start(envelope).await?.rest().await?.ending)
    }

    /// Sends a command. It is durable when this returns; what it sets going can be waited for.
    pub async fn start(&self, envelope: Envelope) -> Result<Work, CommandError> {
        let mut rested = None;
        let accepted = self.hand_over(envelope, || {
            let (sender, receiver) = oneshot::channel();
            rested = Some(receiver);
            Some(sender)
        });
        let accepted = accepted.await?;
        if let Some(refusal) = accepted.refusal() {
            return Err(CommandError::Refused(refusal.clone()));
        }
        Ok(Work { accepted, rested, conversation: self.clone() })
    }

    /// Takes the writer's place, and keeps it until the hold is dropped. If another process has it,
    /// this waits for that process as long as the caller says.
    pub async fn hold(&self, wait: LeaseWait) -> Result<Hold, CommandError> {
        let hosts = self.hosts.upgrade().ok_or(CommandError::EngineGone)?;
        hosts.face_comes(&self.id, |seat| &seat.holds);
        drop(hosts);
        let hold = Hold { id: self.id.clone(), hosts: self.hosts.clone() };
        let deadline = Instant::now() + wait.max;
        loop {
            let sender = self.reach()?;
            let (taken, answer) = oneshot::channel();
            // A task that ends at this moment takes nothing; the next one does.
            sender.send(Control::Hold(taken)).await.unwrap_or_default();
            match answer.await {
                Ok(Ok(())) => return Ok(hold),
                Ok(Err(CommandError::Open(error)))
                    if error.is_held() && Instant::now() < deadline =>
                {
                    tokio::time::sleep(wait.pause(deadline)).await;
                }
                Ok(Err(error)) => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// The conversation as it moves: one snapshot, then changes. A conversation that has not begun is
    /// followed from its first entry on.
    pub async fn follow(&self) -> Result<Follow, FollowError> {
        let hosts = self.hosts.upgrade().ok_or(FollowError::EngineGone)?;
        match Follow::new(hosts.parts(), &self.id, None).await {
            Err(FollowError::Unknown(_)) => Ok(Follow::all(hosts.parts(), &self.id)),
            follow => follow,
        }
    }

    /// Everything that happened and happens in the conversation: an empty view, then all changes. Where
    /// it was cut from another one, a snapshot comes in between.
    pub fn follow_all(&self) -> Result<Follow, FollowError> {
        let hosts = self.hosts.upgrade().ok_or(FollowError::EngineGone)?;
        Ok(Follow::all(hosts.parts(), &self.id))
    }

    /// A face that can answer comes, and goes with what this returns.
    pub fn attend(&self) -> Attending {
        if let Some(hosts) = self.hosts.upgrade() {
            hosts.face_comes(&self.id, |seat| &seat.faces);
        }
        Attending { id: self.id.clone(), hosts: self.hosts.clone() }
    }

    /// Makes the engine look for letters, and perform what they bring, if the writer's place is free.
    pub async fn look(&self) -> Result<(), CommandError> {
        // A task that has just ended has looked.
        self.reach()?.send(Control::Look).await.unwrap_or_default();
        Ok(())
    }

    fn reach(&self) -> Result<mpsc::Sender<Control>, CommandError> {
        let hosts = self.hosts.upgrade().ok_or(CommandError::EngineGone)?;
        Ok(hosts.reach(&self.id, self.workspace.as_ref()))
    }

    pub(crate) fn journal(&self) -> Result<Arc<dyn Journal>, CommandError> {
        let hosts = self.hosts.upgrade().ok_or(CommandError::EngineGone)?;
        Ok(hosts.parts().journal.clone())
    }

    fn new_name(&self) -> Result<CommandId, CommandError> {
        let hosts = self.hosts.upgrade().ok_or(CommandError::EngineGone)?;
        Ok(CommandId::from_chance(hosts.parts().chance.next()))
    }

    /// Gives a command to the task of the conversation. A task that ends without a word has not taken
    /// it, or has recorded it; either way it is sent again.
    async fn hand_over(
        &self,
        envelope: Envelope,
        mut rest: impl FnMut() -> Option<oneshot::Sender<Rest>>,
    ) -> Result<Accepted, CommandError> {
        for _ in 0..TRIES_MAX {
            let sender = self.reach()?;
            let (receipt, accepted) = oneshot::channel();
            let handed = Handed {
                envelope: envelope.clone(),
                letter: None,
                receipt: Some(receipt),
                rest: rest(),
            };
            if sender.send(Control::Command(Box::new(handed))).await.is_err() {
                continue;
            }
            if let Ok(outcome) = accepted.await {
                return outcome;
            }
        }
        Err(CommandError::Store(Arc::new(StoreError::Closed)))
    }
}
