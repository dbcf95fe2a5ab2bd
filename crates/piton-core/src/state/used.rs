//! Tokens that a conversation used, by the model that answered: each has a price of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::State;
use crate::event::{ModelRef, Usage};

/// Tokens of all answers of one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    /// Who answered; absent where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// The tokens.
    pub usage: Usage,
}

impl State {
    /// Counts an answer of the step that was asked last.
    pub(super) fn count(&mut self, usage: Usage) {
        let step = self.open_turn().and_then(|turn| turn.steps().next_back());
        let model = step.and_then(|step| step.model.clone());
        self.count_for(model, usage);
    }

    /// Counts tokens of a model.
    pub(super) fn count_for(&mut self, model: Option<ModelRef>, usage: Usage) {
        self.usage = self.usage.plus(usage);
        match self.used.iter_mut().find(|used| used.model == model) {
            Some(used) => used.usage = used.usage.plus(usage),
            None => self.used.push(ModelUsage { model, usage }),
        }
    }
}
