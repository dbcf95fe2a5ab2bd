//! One request beside all conversations: without tools, hooks, instructions or history, and in memory only.
//! Nothing of it is kept, and no turn is touched by it (K21).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use piton::config::Config;
use piton::{Command, CommandError, Ending, Engine, FollowError, NewMessage, OpenError};
use piton_core::event::{Effort, Limits, ModelRef};
use piton_core::view::{PartView, StepView};
use piton_store::{Journal, MemoryJournal};

use crate::agent::Agent;
use crate::models::{Catalogue, ModelError};

/// Longest time that a request may take.
const TIME_MAX: Duration = Duration::from_mins(1);
/// Tries of the request: what is asked beside everything else is not worth more.
const TRIES_MAX: u32 = 2;

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct OneShot {
    /// Who answers.
    pub(crate) model: ModelRef,
    /// The system prompt.
    pub(crate) system: &'static str,
    /// What is said.
    pub(crate) text: String,
    /// Most tokens of the answer, thoughts included.
    pub(crate) tokens_max: u32,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum OneShotError {
    /// The model cannot be had.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// It could not be asked.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The same.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// What it said could not be read.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// It failed.
    #[error("the model did not answer: {0}")]
    Failed(String),
    /// It took too long.
    #[error("the model did not answer within {} s", TIME_MAX.as_secs())]
    Late,
}

impl Agent {
    /// Asks once; the answer is the text alone.
    pub(crate) async fn one_shot(&self, asked: OneShot) -> Result<String, OneShotError> {
        let OneShot { model, system, text, tokens_max } = asked;
        let environment = &self.settings().environment;
        let models = Arc::new(Catalogue::new(environment.clone()));
        models.offer(&self.load_model(&model)?, self.providers().get(&model.provider));
        let usual = Limits::default();
        let config = Config {
            model: Some(model),
            system: system.into(),
            limits: Limits { steps_max: 1, failures_max: TRIES_MAX, ..usual },
            effort: Effort::Low,
            answer_tokens_max: tokens_max,
            ..Config::default()
        };
        let memory: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
        let engine = Engine::builder(memory, models).config(config).build();
        let directory: PathBuf = environment.temporary().to_owned();
        let answering = async {
            let conversation = engine.begin(&directory)?;
            let ending = conversation.perform(Command::say(NewMessage::text(text))).await?;
            let view = engine.view(conversation.id()).await?;
            match ending {
                Ending::Done => {
                    let step = view.turns.last().and_then(|turn| turn.steps().next_back());
                    Ok(step.map(text_of).unwrap_or_default())
                }
                Ending::Incomplete(cause) | Ending::Error(cause) => {
                    Err(OneShotError::Failed(cause.message))
                }
                Ending::Closed(_) | Ending::WaitingForInput | Ending::Nothing => {
                    Err(OneShotError::Failed("it said nothing".into()))
                }
            }
        };
        let answer = tokio::time::timeout(TIME_MAX, answering).await;
        engine.shutdown(Duration::ZERO).await;
        answer.unwrap_or(Err(OneShotError::Late))
    }
}

fn text_of(step: &StepView) -> String {
    let texts = step.parts.iter().filter_map(|part| match part {
        PartView::Text { text } => Some(&**text),
        PartView::Reasoning { .. } | PartView::Call { .. } | _ => None,
    });
    texts.collect()
}
