//! What requests have no room for: summaries and short outputs in its place, and what goes wrong with them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, StepId, TurnId};

/// Where a summary ends: all turns through one, and steps of the turn behind it through one. Messages of
/// that turn are never covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cut {
    /// The last turn that is covered whole.
    pub through: TurnId,
    /// The last step that is covered of a turn behind that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<StepId>,
}

impl Cut {
    /// The last turn of which anything is covered.
    pub fn last_turn(self) -> TurnId {
        self.within.map_or(self.through, |step| step.turn)
    }

    /// Whether a turn is covered whole.
    pub fn has_turn(self, turn: TurnId) -> bool {
        turn <= self.through
    }

    /// Whether a step is covered.
    pub fn has_step(self, turn: TurnId, step: u32) -> bool {
        let within = |last: StepId| last.turn == turn && step <= last.step;
        self.has_turn(turn) || self.within.is_some_and(within)
    }
}

/// A part of a conversation that a model sums up: what is behind one cut, through another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// Where the part before it ends.
    pub after: Cut,
    /// Where it ends.
    pub through: Cut,
}

/// Why what a model was asked to sum up was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryFault {
    /// The provider said that the request is too large.
    Overflow,
    /// The request failed otherwise.
    Failed,
    /// The answer is empty.
    Empty,
    /// The answer calls tools.
    Calls,
    /// The answer was cut off by the output limit.
    Cut,
    /// Headings are missing that every summary has.
    Headings,
    /// The answer is longer than allowed.
    TooLong,
    /// The answer is hardly shorter than what it sums up.
    NoGain,
    /// A person did not want to wait for it.
    Stopped,
    /// A reason that this build does not know.
    #[serde(other)]
    Other,
}

impl SummaryFault {
    /// What went wrong, in words that stand behind "the model's summary".
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Overflow => "was refused because the history is too large",
            Self::Failed => "could not be had",
            Self::Empty => "was empty",
            Self::Calls => "called tools",
            Self::Cut => "was cut off by the output limit",
            Self::Headings => "lacked headings",
            Self::TooLong => "was too long",
            Self::NoGain => "was hardly shorter than what it summed up",
            Self::Stopped => "was not waited for",
            Self::Other => "was not taken",
        }
    }
}

/// What is sent in the place of a tool's whole output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortOutput {
    /// The call.
    pub call: CallId,
    /// What the model reads of it.
    pub text: Arc<str>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
pub(super) fn is_zero(number: &u32) -> bool {
    *number == 0
}
