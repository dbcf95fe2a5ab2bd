//! A side question: answered from a copy of the conversation in memory, without tools and without a trace.

use std::sync::Arc;
use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::{Command, Conversation, Envelope, NewMessage, OnIncomplete, Rested, Toolbox};
use piton_agent::{Agent, AgentProfiles, Catalogue, EngineParts, Overrides};
use piton_core::id::{CommandId, ConversationId};
use piton_core::outcome::Ending;
use piton_core::view::ModelRef;
use piton_store::{Journal, MemoryJournal};

use super::open::copy;
use crate::render::turn;
use crate::report::{Fault, chain as told, sentence};

/// What the model is told in front of a side question.
const FRAME: &str = "(A side question. It is no part of the task, and you have no tools for it. \
    Answer shortly, from what you know.)";

/// A question beside a conversation.
#[derive(Debug)]
pub(in crate::cmd) struct Question {
    pub(in crate::cmd) text: String,
    pub(in crate::cmd) agent: Arc<Agent>,
    pub(in crate::cmd) overrides: Overrides,
    pub(in crate::cmd) journal: Arc<dyn Journal>,
    /// The conversation that it is about; none if none has begun.
    pub(in crate::cmd) about: Option<ConversationId>,
    pub(in crate::cmd) model: ModelRef,
}

impl Question {
    /// Answers it; an error says why not, to a person.
    pub(in crate::cmd) async fn answer(self) -> Result<String, String> {
        if self.text.trim().is_empty() {
            return Err("Write the question behind it: /btw TEXT".into());
        }
        self.ask().await.unwrap_or_else(|fault| Err(unanswered(&told(&fault))))
    }

    async fn ask(self) -> Result<Result<String, String>, Fault> {
        let Self { text, agent, overrides, journal, about, model } = self;
        let settings = agent.settings();
        let memory: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
        if let Some(id) = &about {
            copy(&*journal, &*memory, id).await?;
        }
        let models = Arc::new(Catalogue::new(settings.environment.clone()));
        models.offer(&agent.load_model(&model)?, agent.providers().get(&model.provider));
        let profiles = Arc::new(AgentProfiles::new(agent.clone(), models.clone(), overrides));
        let scratch = settings.passing_scratch();
        let parts = EngineParts { journal: memory, models, scratch, lock_wait: Duration::ZERO };
        // Without tools nothing can be done, not even with what the copied turn has left behind.
        let engine = agent.engine(parts, Arc::new(Toolbox::default()), profiles);
        let conversation = match &about {
            Some(id) => engine.conversation(id),
            None => engine.begin(settings.workspace()?)?,
        };
        if about.is_some() {
            // The copy of what waits would have its turn in front of the question.
            for queued in engine.view(conversation.id()).await?.queue {
                conversation.send(Command::Unqueue { message: queued.id }).await?;
            }
        }
        let ending = say(&conversation, format!("{FRAME}\n\n{text}"), &model).await?;
        let view = engine.view(conversation.id()).await?;
        engine.shutdown(Duration::ZERO).await;
        let answer = view.turns.last().and_then(|turn| turn.steps().next_back()).map(turn::text);
        Ok(match (ending, answer) {
            (Ending::Done, Some(answer)) => Ok(answer),
            (Ending::Incomplete(cause) | Ending::Error(cause), _) => {
                Err(unanswered(&cause.message))
            }
            (Ending::WaitingForInput, _) => {
                Err(unanswered("the turn asks something; answer that, then ask once more"))
            }
            (Ending::Done | Ending::Closed(_) | Ending::Nothing, _) => {
                Err(unanswered("the model said nothing"))
            }
        })
    }
}

fn unanswered(why: &str) -> String {
    format!("The side question was not answered: {}", sentence(why))
}

async fn say(conversation: &Conversation, text: String, model: &ModelRef) -> Result<Ending, Fault> {
    let (message, on_incomplete) = (NewMessage::text(text), OnIncomplete::Inject);
    let name = CommandId::from_chance(SystemChance.next());
    let command = Command::Say { message, on_incomplete, agent: None };
    let mut envelope = Envelope::new(name, command);
    // The copy may know another model, or none.
    let flags = Overrides { model: Some(model.clone()), ..Overrides::default() };
    // Plain data cannot fail to serialise.
    envelope.from.flags = serde_json::to_string(&flags).ok();
    let work = conversation.start(envelope).await?;
    let Rested { ending, .. } = work.rest().await?;
    Ok(ending)
}
