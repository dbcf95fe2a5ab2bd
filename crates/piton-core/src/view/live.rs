//! What no entry holds yet: text as it streams, output of running calls, a wait that runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::FailureClass;
use crate::id::{Attempt, CallId, Timestamp, TurnId};

/// What happens right now, beside a [`View`](super::View). Replaced whole by the next one, has no
/// cursor, and may be dropped: whatever counts becomes an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Live {
    /// Whether a driver is at work on the conversation, here or elsewhere.
    #[serde(default)]
    pub driven: bool,
    /// The answer that streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<LiveStep>,
    /// Calls at work, in call order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<LiveCall>,
}

/// An answer that streams. It belongs to one try: what names an older one is dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LiveStep {
    /// The turn.
    pub turn: TurnId,
    /// Its step.
    pub step: u32,
    /// The try of the request.
    pub attempt: Attempt,
    /// All text of this try so far, also what the journal has of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// All readable reasoning of this try so far, also what the journal has of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Tools whose calls have begun to arrive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// When the next try is sent, if this one waits for that: the base of a countdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try: Option<Timestamp>,
    /// Why it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
}

/// A call at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LiveCall {
    /// The call.
    pub call: CallId,
    /// The end of what it has printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// How many bytes it has printed.
    #[serde(default)]
    pub bytes: u64,
    /// What it says about its progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Whether its worker asks a person. The question is in the conversation of the worker.
    #[serde(default, skip_serializing_if = "is_false")]
    pub asks: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl LiveStep {
    /// A try from which nothing has come yet.
    pub fn new(turn: TurnId, step: u32, attempt: Attempt) -> Self {
        let (text, reasoning, calls) = (String::new(), String::new(), Vec::new());
        Self { turn, step, attempt, text, reasoning, calls, next_try: None, failure: None }
    }
}

impl LiveCall {
    /// A call that has printed nothing yet.
    pub fn new(call: CallId) -> Self {
        Self { call, tail: String::new(), bytes: 0, progress: None, asks: false }
    }
}
