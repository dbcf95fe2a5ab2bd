//! A conversation that this process has opened: what is there, and what became of its commands.

use std::sync::Arc;
use std::time::Duration;

use piton::{Attending, CommandError, Conversation, Engine, FollowError, Hold, Refusal, Verdict};
use piton_agent::{AgentProfiles, AgentTools};
use piton_core::id::{CommandId, ConversationId};
use piton_core::view::{ModelRef, View};
use piton_store::StoreError;

use crate::render::incomplete::Newest;
use crate::report::{Fault, LetterFault};

/// A conversation that is ready for a turn. This process has its writer's place.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) engine: Engine,
    pub(super) conversation: Conversation,
    /// What there is to show of it, as far as this process has looked.
    pub(super) view: View,
    pub(super) model: ModelRef,
    /// The variable whose key decided who answers, if nobody has chosen.
    pub(super) chosen_by: Option<String>,
    pub(super) life: Life,
    pub(super) tools: Arc<AgentTools>,
    pub(super) profiles: Arc<AgentProfiles>,
    pub(super) _hold: Hold,
    pub(super) attending: Option<Attending>,
}

impl Opened {
    /// Somebody is there to be asked, or nobody is.
    pub(super) fn attend(&mut self, is_there: bool) {
        if !is_there {
            self.attending = None;
        } else if self.attending.is_none() {
            self.attending = Some(self.conversation.attend());
        }
    }

    /// Ends what runs, and gives the writer's place back.
    pub(super) async fn close(&self) {
        self.engine.shutdown(Duration::ZERO).await;
        self.tools.close().await;
    }

    /// Looks at the conversation again.
    pub(super) async fn look(&mut self) -> Result<(), Fault> {
        self.view = look(&self.engine, self.conversation.id()).await?;
        Ok(())
    }

    /// What became of a command; none if nobody has taken it.
    pub(super) async fn verdict(&self, command: &CommandId) -> Result<Option<Verdict>, Fault> {
        match self.conversation.verdict(command).await {
            Err(CommandError::Store(error))
                if matches!(*error, StoreError::UnknownConversation(_)) =>
            {
                Ok(None)
            }
            verdict => Ok(verdict?),
        }
    }

    /// Why a command did not do what it should; `what` says what does not happen.
    pub(super) fn fault(&self, error: CommandError, what: &'static str) -> Fault {
        let CommandError::Refused(refusal) = error else { return error.into() };
        match (refusal, self.view.head.open.and_then(|_| Newest::of(&self.view))) {
            (Refusal::Incomplete, Some(turn)) => {
                let conversation = self.conversation.id().clone();
                Fault::Incomplete { conversation, turn: Box::new(turn) }
            }
            (refusal, _) => {
                let conversation = self.conversation.id().clone();
                LetterFault::Refused { what, refusal, conversation }.into()
            }
        }
    }
}

/// What there is to show of a conversation; nothing, if it has not begun.
pub(super) async fn look(engine: &Engine, id: &ConversationId) -> Result<View, Fault> {
    match engine.view(id).await {
        Err(FollowError::Unknown(_)) => Ok(View::default()),
        view => Ok(view?),
    }
}

/// What is special about a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Nothing.
    Known,
    /// It has just begun.
    New,
    /// It ends with this process.
    Passing,
}

impl Life {
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Known => "",
            Self::New => " (new)",
            Self::Passing => " (not recorded)",
        }
    }
}
