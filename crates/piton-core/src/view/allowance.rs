//! What a turn may use, and what it has used of that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Price;
use crate::state::State;

/// What one turn may use until somebody resumes it, which grants the same anew. Of a limit, 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct Allowance {
    /// Answers that the open turn has used.
    #[serde(skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// Most answers.
    #[serde(skip_serializing_if = "is_zero")]
    pub steps_max: u64,
    /// Tokens that the open turn has used.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Most tokens.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens_max: u64,
    /// What the open turn has cost, in millionths of a dollar, where that is bounded.
    #[serde(skip_serializing_if = "is_zero")]
    pub microdollars: u64,
    /// The most that it may cost, in millionths of a dollar.
    #[serde(skip_serializing_if = "is_zero")]
    pub microdollars_max: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<&State> for Allowance {
    fn from(state: &State) -> Self {
        let limits = &state.config.limits;
        let turn = state.open_turn();
        let spent = turn.map(|turn| turn.spent).unwrap_or_default();
        let cost = |price: Price| price.cost(spent);
        Self {
            steps: turn.map_or(0, |turn| turn.steps_used.into()),
            steps_max: limits.steps_max.into(),
            tokens: spent.total(),
            tokens_max: limits.tokens_max,
            microdollars: limits.cost.map_or(0, |limit| cost(limit.price)),
            microdollars_max: limits.cost.map_or(0, |limit| limit.microdollars_max),
        }
    }
}

impl Allowance {
    /// Whether the open turn has used more than its tokens.
    pub fn is_over_tokens(&self) -> bool {
        0 < self.tokens_max && self.tokens_max < self.tokens
    }

    /// Whether the open turn has cost more than it may.
    pub fn is_over_cost(&self) -> bool {
        0 < self.microdollars_max && self.microdollars_max < self.microdollars
    }
}
