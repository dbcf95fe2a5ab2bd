//! Configuration as facts: what a turn was run with.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use piton_permit::Permissions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cost::CostLimit;
use super::tool::ToolSpec;

/// A model of a provider. Written `provider/model`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRef {
    /// Who offers it.
    pub provider: String,
    /// Its name there.
    pub model: String,
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.model.is_empty() {
            f.write_str(&self.provider)
        } else {
            write!(f, "{}/{}", self.provider, self.model)
        }
    }
}

/// The provider whose models are scripts: files that say what is answered.
pub const SCRIPT: &str = "script";

impl ModelRef {
    /// How it is named so that it can be typed.
    pub fn typed(&self) -> String {
        match self.provider.as_str() {
            SCRIPT => format!("{SCRIPT}:{}", self.model),
            _ => self.to_string(),
        }
    }

    /// A name for people: that of a script is the name of its file.
    pub fn plain(&self) -> String {
        let file = self.model.rsplit('/').next().unwrap_or_default();
        match self.provider.as_str() {
            SCRIPT => format!("{SCRIPT} {}", file.strip_suffix(".json").unwrap_or(file)),
            _ => self.to_string(),
        }
    }
}

/// A text that names no model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a model is named provider/model, for example demo or anthropic/opus")]
pub struct NotAModel;

impl FromStr for ModelRef {
    type Err = NotAModel;

    fn from_str(text: &str) -> Result<Self, NotAModel> {
        let (provider, model) = text.split_once('/').unwrap_or((text, ""));
        if provider.is_empty() {
            return Err(NotAModel);
        }
        Ok(Self { provider: provider.into(), model: model.into() })
    }
}

/// A change of configuration. What is absent stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChange {
    /// Who answers from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Arc<str>>,
    /// The tools offered, with their schemas: a resumed request must be the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolSpec>>,
    /// The allowances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// What may run without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// What to do with a call in doubt that only a person can settle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_doubt: Option<InDoubtPolicy>,
    /// How much the model should think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Most tokens of one answer; 0 leaves it to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_tokens_max: Option<u32>,
}

impl ConfigChange {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How much a model should think before it answers. Each provider has its own words for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Not at all, where the model allows that.
    None,
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// As usual.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Max,
    /// As the provider sees fit. Also what a later build recorded and this one does not know: the
    /// rest of the change must count all the same.
    #[default]
    #[serde(other)]
    Auto,
}

/// A text that names no effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an effort is one of auto, none, minimal, low, medium, high, max")]
pub struct NotAnEffort;

impl FromStr for Effort {
    type Err = NotAnEffort;

    fn from_str(text: &str) -> Result<Self, NotAnEffort> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "minimal" => Ok(Self::Minimal),
            "low" => Ok(Self::Low),
            "medium" => Ok(Self::Medium),
            "high" => Ok(Self::High),
            // Some providers call it so.
            "max" | "xhigh" => Ok(Self::Max),
            _ => Err(NotAnEffort),
        }
    }
}

/// Allowances of a turn. Every loop of the engine is bounded by one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limits {
    /// Most model answers in one turn since the last resume; 0 is no limit.
    pub steps_max: u32,
    /// Most failures of a model request in a row before the turn breaks.
    pub failures_max: u32,
    /// Most tries of one step, whatever arrived in between.
    pub attempts_max: u32,
    /// Wait after the first failure, in milliseconds; doubles with each further one.
    pub backoff_ms: u64,
    /// Longest wait between two tries, in milliseconds, when the provider does not say how long.
    pub backoff_ms_max: u64,
    /// Longest wait that a provider may ask for, in milliseconds. When it asks for more, the turn
    /// breaks: asking earlier than told would only be refused again.
    #[serde(skip_serializing_if = "is_usual_wait")]
    pub asked_wait_ms_max: u64,
    /// Longest wait for the first sign of an answer, in milliseconds; 0 is for ever. A model that has
    /// clocks of its own is waited for by those, here and below.
    #[serde(skip_serializing_if = "is_usual_first_byte")]
    pub first_byte_ms_max: u64,
    /// Longest silence of a model stream before it counts as broken, in milliseconds; 0 is for ever.
    pub idle_ms_max: u64,
    /// Most tokens that one turn may cost, input and output; 0 is no limit.
    pub tokens_max: u64,
    /// The most that one turn may cost; none is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostLimit>,
    /// Most tokens of one request, as far as a person sets it: it only lowers the budget that follows from
    /// the window; 0 sets nothing.
    pub context_tokens_max: u64,
    /// Most messages that wait at once; 0 is no limit.
    #[serde(skip_serializing_if = "is_usual_queue")]
    pub queue_max: u32,
    /// What the model takes at once, where that is known. Absent in entries of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Letters of text that count as one token in estimates: 1 to 32; anything else counts as 4.
    #[serde(skip_serializing_if = "is_usual_divisor")]
    pub letters_per_token: u32,
}

/// How much a model takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Most tokens of a request: the smaller one of the window and of what may be sent.
    pub tokens: u64,
    /// Most tokens of one answer; 0 if nobody knows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub answer_tokens_max: u32,
    /// Who says so.
    pub from: WindowSource,
}

/// Who says how much a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// The settings.
    Setting,
    /// The provider, in its list of models.
    Provider,
    /// The table of known models.
    Table,
    /// The provider, when it refused a request.
    Learned,
    /// Somebody that this build does not know.
    #[serde(other)]
    Other,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps_max: 100,
            failures_max: 5,
            attempts_max: 20,
            backoff_ms: 1_000,
            backoff_ms_max: 60_000,
            asked_wait_ms_max: ASKED_WAIT_MS_MAX,
            first_byte_ms_max: FIRST_BYTE_MS_MAX,
            idle_ms_max: 60_000,
            tokens_max: 0,
            cost: None,
            context_tokens_max: 0,
            queue_max: QUEUE_MAX,
            window: None,
            letters_per_token: LETTERS_PER_TOKEN,
        }
    }
}

/// Longest wait that a provider may ask for, if nothing else is said, in milliseconds. Not written
/// into journals, which older ones lack, so it stays as it is.
const ASKED_WAIT_MS_MAX: u64 = 300_000;

/// Longest wait for the first sign of an answer, if nothing else is said, in milliseconds: models on
/// one's own machine read a long conversation before they begin. Not written into journals either.
const FIRST_BYTE_MS_MAX: u64 = 300_000;

/// Most messages that wait at once, if nothing else is said. Not written into journals either.
pub const QUEUE_MAX: u32 = 5;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_usual_queue(messages: &u32) -> bool {
    *messages == QUEUE_MAX
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_usual_first_byte(wait_ms: &u64) -> bool {
    *wait_ms == FIRST_BYTE_MS_MAX
}

/// Letters that count as one token where nothing else is said (D7).
const LETTERS_PER_TOKEN: u32 = 4;
/// Most letters that may count as one token (D9).
const LETTERS_PER_TOKEN_MAX: u32 = 32;

impl Limits {
    /// Letters of text that count as one token in estimates.
    pub fn divisor(&self) -> u64 {
        let sound = 1..=LETTERS_PER_TOKEN_MAX;
        let said = Some(self.letters_per_token).filter(|said| sound.contains(said));
        said.unwrap_or(LETTERS_PER_TOKEN).into()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_usual_divisor(letters: &u32) -> bool {
    *letters == LETTERS_PER_TOKEN
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_usual_wait(wait_ms: &u64) -> bool {
    *wait_ms == ASKED_WAIT_MS_MAX
}

/// What to do with a call in doubt that has no way to be settled by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InDoubtPolicy {
    /// Ask a person: run again, treat as done, or give the result.
    #[default]
    Ask,
    /// Nobody is there: record the outcome as unknown and tell the model the truth.
    TellModel,
}
