//! What one turn may use at most, as settings and environment say it.

use std::str::FromStr;
use std::time::Duration;

use piton_core::event::Limits;
use schemars::JsonSchema;
use serde::Deserialize;

/// The highest amount that can be set, in dollars.
const DOLLARS_MAX: f64 = 1_000_000.0;
/// Millionths of a dollar in one.
const MICRODOLLARS: f64 = 1e6;

/// The ceilings of a turn. What is not said is not bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceilings {
    /// Tokens of requests and answers; 0 is no limit.
    pub tokens_max: Option<u64>,
    /// Cost, in millionths of a dollar; 0 is no limit.
    pub microdollars_max: Option<u64>,
    /// Time, in seconds; 0 is no limit.
    pub seconds_max: Option<u64>,
}

/// How large requests may become, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenContext {
    /// Most tokens of one request; it only lowers what follows from the model's window. 0 sets nothing.
    #[schemars(extend("x-variable" = "PITON_CONTEXT_TOKENS"))]
    pub(crate) tokens_max: Option<u64>,
    /// Letters of text that count as one token in estimates: 1 to 32. Fewer make room earlier.
    #[schemars(range(min = 1, max = 32))]
    #[schemars(extend("default" = Limits::default().letters_per_token))]
    pub(crate) letters_per_token: Option<u32>,
}

/// An amount of dollars.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
pub struct Dollars(f64);

/// Something that is no amount.
#[derive(Debug, thiserror::Error)]
#[error("an amount such as 0.50 is wanted")]
pub struct NoDollars;

impl Ceilings {
    /// What is said here, else what is said there.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            tokens_max: self.tokens_max.or(other.tokens_max),
            microdollars_max: self.microdollars_max.or(other.microdollars_max),
            seconds_max: self.seconds_max.or(other.seconds_max),
        }
    }

    /// How long a turn may take, if that is bounded.
    pub fn time_max(&self) -> Option<Duration> {
        self.seconds_max.filter(|seconds| 0 < *seconds).map(Duration::from_secs)
    }
}

impl Dollars {
    /// The amount in millionths. What is more than nothing never becomes 0, which is no limit.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in bounds")]
    pub fn microdollars(self) -> u64 {
        let millionths = (self.0 * MICRODOLLARS).round() as u64;
        if 0.0 < self.0 { millionths.max(1) } else { millionths }
    }
}

impl TryFrom<f64> for Dollars {
    type Error = NoDollars;

    fn try_from(amount: f64) -> Result<Self, NoDollars> {
        (0.0..=DOLLARS_MAX).contains(&amount).then_some(Self(amount)).ok_or(NoDollars)
    }
}

impl FromStr for Dollars {
    type Err = NoDollars;

    fn from_str(typed: &str) -> Result<Self, NoDollars> {
        let amount = typed.trim_start_matches('$').parse::<f64>();
        amount.map_err(|_| NoDollars).and_then(Self::try_from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Agent;

    #[test]
    fn ceilings_of_a_turn_are_set_by_the_file_and_by_the_environment() {
        assert_eq!(Agent::of("", &[]).ceilings(), Ceilings::default());
        let text = "max_turn_tokens = 9000\nmax_turn_cost = 0.5\nmax_turn_seconds = 60\n";
        let ceilings = Agent::of(text, &[]).ceilings();
        let (tokens_max, microdollars_max) = (Some(9_000), Some(500_000));
        assert_eq!(ceilings, Ceilings { tokens_max, microdollars_max, seconds_max: Some(60) });
        assert_eq!(ceilings.time_max(), Some(Duration::from_mins(1)));
        let variables = [("PITON_MAX_TURN_COST", "$2"), ("PITON_MAX_TURN_SECONDS", "0")];
        let ceilings = Agent::of(text, &variables).ceilings();
        assert_eq!((ceilings.tokens_max, ceilings.time_max()), (Some(9_000), None));
        assert_eq!(ceilings.microdollars_max, Some(2_000_000));
    }

    #[test]
    fn an_amount_is_a_number_within_reason() {
        assert!("-1".parse::<Dollars>().is_err() && "much".parse::<Dollars>().is_err());
        assert!("NaN".parse::<Dollars>().is_err());
        let microdollars = |typed: &str| typed.parse::<Dollars>().ok().map(Dollars::microdollars);
        assert_eq!((microdollars("0.0000001"), microdollars("0")), (Some(1), Some(0)));
        assert_eq!("0.25".parse::<Dollars>().ok().map(Dollars::microdollars), Some(250_000));
    }
}
