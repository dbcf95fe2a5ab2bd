//! What a model says, neutral to the provider.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verbatim::Verbatim;
use crate::id::CallId;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "part")]
pub enum AnswerPart {
    /// Text for the user.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// Readable reasoning.
    Reasoning {
        /// The text.
        text: Arc<str>,
    },
    /// A request to run a tool.
    Call {
        /// Our name for it, unique in the conversation.
        call: CallId,
        /// The provider's name for it: may be missing, may repeat.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_id: Option<String>,
        /// The tool.
        name: String,
        /// The arguments exactly as they came, also when they are not JSON.
        arguments: Arc<str>,
    },
}

impl AnswerPart {
    /// How many letters a model reads of it.
    pub(crate) fn letters(&self) -> usize {
        match self {
            Self::Text { text } | Self::Reasoning { text } => text.chars().count(),
            Self::Call { name, arguments, .. } => name.chars().count() + arguments.chars().count(),
        }
    }
}

/// Which part of an answer a streamed piece belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialKind {
    /// Text for the user.
    Text,
    /// Readable reasoning.
    Reasoning,
}

/// Why a stream ended at its end mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The answer is whole.
    Stop,
    /// The answer is whole and wants tools to run.
    ToolCalls,
    /// The output limit cut it.
    Length,
    /// The provider or the model refused.
    Refused,
}

/// Tokens of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Sent, cached ones included.
    pub input: u64,
    /// Received, reasoning included.
    pub output: u64,
    /// Of those sent, how many came from a cache.
    pub cached: u64,
}

impl Usage {
    /// Everything, sent and received.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
        }
    }
}

/// Provider-native blocks: replayed verbatim to the same provider, host and model, or dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Native {
    /// Whose blocks they are.
    pub provider: String,
    /// The host they came from.
    pub host: String,
    /// The model they belong to.
    pub model: String,
    /// The bytes, never re-serialised.
    pub raw: Verbatim,
}

/// Replayed native blocks that a provider does not take, as it names them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "blocks", rename_all = "snake_case")]
pub enum Rejected {
    /// Those of the model's latest message, all at once: some of them alone are refused too.
    LatestMessage,
    /// Those of the open turn; older ones are not looked at.
    OpenTurn,
    /// The one that this was quoted from; any, if nothing was quoted.
    Named {
        /// A piece of it, verbatim.
        excerpt: String,
    },
}

/// What kind of failure a model request met. The retry rule asks only this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// No connection, or it broke.
    Network,
    /// The stream ended without its end mark.
    StreamBroke,
    /// The stream fell silent for too long.
    Stalled,
    /// The provider is overloaded.
    Overloaded,
    /// Too many requests for now.
    RateLimited,
    /// The provider failed inside.
    Server,
    /// The stream could not be read.
    Malformed,
    /// The answer was empty.
    Empty,
    /// The key is missing, wrong or not allowed.
    Auth,
    /// The account has nothing left.
    Quota,
    /// The provider rejects the request as it is.
    InvalidRequest,
    /// The request is larger than the model's window.
    ContextOverflow,
    /// The provider's filter or the model itself refused.
    ContentFilter,
    /// The answer is larger than we keep.
    TooLarge,
    /// Nothing that we know.
    Unknown,
}
