//! How long a provider is waited for, as settings and environment say it.

use std::str::FromStr;
use std::time::Duration;

use piton::transport::Timeouts;
use schemars::JsonSchema;
use serde::Deserialize;

/// Shortest silence that can be set, in seconds: less would cut off answers that are only slow.
const IDLE_SECONDS_MIN: u64 = 10;

/// What is said about waiting. What is not said is as usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// For the first byte of an answer, in seconds; 0 is for ever.
    pub(crate) first_byte: Option<u64>,
    /// For the next byte.
    pub(crate) idle: Option<IdleSeconds>,
    /// For a network that is not there, in seconds; 0 is not at all.
    pub(crate) outage: Option<u64>,
}

/// The longest gap between two bytes of an answer, in seconds; 0 is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "u64")]
pub(crate) struct IdleSeconds(u64);

/// A gap that is too short to be meant.
#[derive(Debug, thiserror::Error)]
#[error("write 0 for no limit, or {IDLE_SECONDS_MIN} and more seconds")]
pub(crate) struct NoIdleSeconds;

impl TryFrom<u64> for IdleSeconds {
    type Error = NoIdleSeconds;

    fn try_from(seconds: u64) -> Result<Self, NoIdleSeconds> {
        let makes_sense = seconds == 0 || IDLE_SECONDS_MIN <= seconds;
        makes_sense.then_some(Self(seconds)).ok_or(NoIdleSeconds)
    }
}

impl FromStr for IdleSeconds {
    type Err = NoIdleSeconds;

    fn from_str(text: &str) -> Result<Self, NoIdleSeconds> {
        text.parse().map_err(|_| NoIdleSeconds).and_then(u64::try_into)
    }
}

impl Waits {
    /// What is said here, else what is said there.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            first_byte: self.first_byte.or(other.first_byte),
            idle: self.idle.or(other.idle),
            outage: self.outage.or(other.outage),
        }
    }

    /// The clocks of a request.
    pub(crate) fn timeouts(self) -> Timeouts {
        let usual = Timeouts::default();
        let wait =
            |seconds| if seconds == 0 { Duration::MAX } else { Duration::from_secs(seconds) };
        let first_byte = self.first_byte.map_or(usual.first_byte, wait);
        let idle = self.idle.map_or(usual.idle, |IdleSeconds(seconds)| wait(seconds));
        let wordless = usual.wordless.max(first_byte).max(idle);
        let outage = self.outage.map_or(usual.outage, Duration::from_secs);
        Timeouts { first_byte, idle, wordless, outage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Agent;

    fn clocks(text: &str, variables: &[(&str, &str)], provider: &str) -> (Duration, Duration) {
        let agent = Agent::of(text, variables);
        let timeouts = agent.providers()[provider].waits.timeouts();
        (timeouts.first_byte, timeouts.idle)
    }

    // J47
    #[test]
    fn clocks_are_set_for_all_providers_for_one_or_by_the_environment() {
        let seconds = Duration::from_secs;
        assert_eq!(clocks("", &[], "ollama"), (seconds(300), seconds(60)));
        let text =
            "first_byte_seconds = 900\nidle_seconds = 90\n[providers.ollama]\nidle_seconds = 0\n";
        assert_eq!(clocks(text, &[], "gemini"), (seconds(900), seconds(90)));
        assert_eq!(clocks(text, &[], "ollama"), (seconds(900), Duration::MAX));
        let variables = [("PITON_FIRST_BYTE_SECONDS", "0"), ("PITON_IDLE_SECONDS", "30")];
        assert_eq!(clocks(text, &variables, "ollama"), (Duration::MAX, seconds(30)));
    }

    #[test]
    fn an_outage_is_waited_for_longer_while_a_person_watches() {
        let outage = |agent: &Agent| agent.providers()["gemini"].waits.timeouts().outage.as_secs();
        assert_eq!(outage(&Agent::of("", &[])), 120);
        assert_eq!(outage(&Agent::of("", &[]).watched()), 600);
        let set = |variables| Agent::of("outage_seconds = 30\n", variables).watched();
        assert_eq!(outage(&set(&[])), 30);
        assert_eq!(outage(&set(&[("PITON_OUTAGE_SECONDS", "0")])), 0);
    }

    #[test]
    fn a_gap_that_would_cut_off_slow_answers_is_refused() {
        assert!("9".parse::<IdleSeconds>().is_err() && "soon".parse::<IdleSeconds>().is_err());
        assert_eq!("10".parse::<IdleSeconds>().ok(), Some(IdleSeconds(10)));
        let text = toml::from_str::<crate::providers::WrittenProvider>("idle_seconds = 9\n");
        assert!(text.unwrap_err().to_string().contains("0 for no limit"));
    }
}
