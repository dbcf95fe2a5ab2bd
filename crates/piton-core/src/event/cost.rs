//! What tokens cost, and how much a turn may cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::Usage;

/// What part of the price is paid for tokens that the provider had kept.
const CACHED_PART: u64 = 10;

/// What a million tokens cost, in thousandths of a dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// Tokens of requests.
    pub input: u32,
    /// Tokens of answers.
    pub output: u32,
}

impl Price {
    /// What tokens cost, in millionths of a dollar. Tokens that the provider had kept are part of the
    /// input, and cost a tenth.
    pub fn cost(self, Usage { input, output, cached }: Usage) -> u64 {
        let read = input.saturating_sub(cached).saturating_mul(CACHED_PART).saturating_add(cached);
        let read = read.saturating_mul(self.input.into()) / CACHED_PART;
        let written = output.saturating_mul(self.output.into());
        read.saturating_add(written) / 1_000
    }
}

/// The most that one turn may cost since the last resume. The price is part of it, so that a journal says
/// the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CostLimit {
    /// The most, in millionths of a dollar.
    pub microdollars_max: u64,
    /// What the model costs.
    pub price: Price,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_were_kept_cost_a_tenth() {
        let price = Price { input: 4_000, output: 20_000 };
        let usage = |input, cached, output| Usage { input, output, cached };
        assert_eq!(price.cost(usage(1_000_000, 0, 0)), 4_000_000);
        assert_eq!(price.cost(usage(1_000_000, 1_000_000, 100_000)), 400_000 + 2_000_000);
        assert_eq!(price.cost(usage(u64::MAX, 0, u64::MAX)), u64::MAX / 1_000);
    }
}
