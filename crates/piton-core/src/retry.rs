//! May a failed model request be tried again, and when? A table; nothing waits here.
//!
//! Only the request of the same step is ever repeated. Tools are not, history is not changed, and
//! the model stays the same.

use crate::event::{FailureClass, Limits};
use crate::id::Timestamp;
use crate::state::{Exchange, Failure, Outage, Step};

/// Share of the wait that chance may add, in permille.
const JITTER_PERMILLE_MAX: u64 = 250;

/// Empty answers that are tolerated in one step: the first is tried again with a note.
pub(crate) const EMPTIES_MAX: u32 = 1;

impl FailureClass {
    /// Whether the same request may succeed later.
    pub fn is_transient(self) -> bool {
        match self {
            Self::Network
            | Self::StreamBroke
            | Self::Stalled
            | Self::Overloaded
            | Self::RateLimited
            | Self::Server
            | Self::Malformed
            | Self::Empty => true,
            Self::Auth
            | Self::Quota
            | Self::InvalidRequest
            | Self::ContextOverflow
            | Self::ContentFilter
            | Self::TooLarge
            | Self::Unknown => false,
        }
    }
}

/// Longest wait between two tries to reach anybody, in milliseconds: a person who has the network back
/// should not wait much longer.
const OUTAGE_BACKOFF_MS_MAX: u64 = 15_000;

/// When to try again after `failures` failures in a row, or `None` when the allowance is spent or
/// the provider asks for more patience than there is.
pub fn retry_at(failure: &Failure, failures: u32, limits: &Limits) -> Option<Timestamp> {
    if !failure.class.is_transient()
        || limits.failures_max <= failures
        || asks_too_much(failure, limits).is_some()
    {
        return None;
    }
    let own = backoff_ms(failure, failures, limits);
    // Never earlier than asked.
    let asked = |asked: u64| asked.saturating_add(jitter(failure, asked));
    Some(failure.at.plus_ms(failure.retry_after_ms.map_or(own, asked)))
}

/// The wait after so many failures in a row. It doubles.
fn backoff_ms(failure: &Failure, failures: u32, limits: &Limits) -> u64 {
    let doubled = limits.backoff_ms.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.saturating_add(jitter(failure, doubled)).min(limits.backoff_ms_max)
}

/// What chance adds to a wait.
fn jitter(failure: &Failure, wait_ms: u64) -> u64 {
    let chance = u64::from(failure.jitter_permille.min(999));
    wait_ms.saturating_mul(JITTER_PERMILLE_MAX * chance) / 1_000_000
}

/// The outage that a step waits for to end, if it does. No try is used meanwhile.
pub fn outage_waited_for(step: &Step) -> Option<&Outage> {
    let failure = step.failure.as_ref().filter(|_| step.exchange == Exchange::Failed)?;
    step.outage.as_ref().filter(|outage| outage.lasts_at(failure.at))
}

/// When the failed request of a step is sent again by itself, or `None` when it is not.
pub fn next_try(step: &Step, limits: &Limits) -> Option<Timestamp> {
    let failure = step.failure.as_ref().filter(|_| step.exchange == Exchange::Failed)?;
    if let Some(outage) = outage_waited_for(step) {
        let wait = backoff_ms(failure, outage.failures, limits).min(OUTAGE_BACKOFF_MS_MAX);
        return Some(failure.at.plus_ms(wait));
    }
    let allowed = step.attempts_used < limits.attempts_max && failure.rejected.is_none();
    retry_at(failure, step.failures, limits).filter(|_| allowed)
}

/// How long the provider asks to wait, in milliseconds, if nobody waits that long for it.
pub fn asks_too_much(failure: &Failure, limits: &Limits) -> Option<u64> {
    let asked = failure.retry_after_ms.filter(|_| failure.class.is_transient());
    asked.filter(|asked| limits.asked_wait_ms_max < *asked)
}

/// A wait in words, rounded up: a person who comes back after that time is not too early.
pub fn wait_in_words(wait_ms: u64) -> String {
    const MINUTE_MS: u64 = 60_000;
    const HOUR_MS: u64 = 60 * MINUTE_MS;
    match wait_ms {
        ms if ms <= 2 * MINUTE_MS => format!("{} s", ms.div_ceil(1_000)),
        ms if ms <= 2 * HOUR_MS => format!("{} min", ms.div_ceil(MINUTE_MS)),
        ms if ms <= 48 * HOUR_MS => format!("{} h", ms.div_ceil(HOUR_MS)),
        ms => format!("{} days", ms.div_ceil(24 * HOUR_MS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: FailureClass, retry_after_ms: Option<u64>, jitter_permille: u16) -> Failure {
        let message = String::new();
        Failure {
            class,
            message,
            retry_after_ms,
            jitter_permille,
            at: Timestamp(10_000),
            rejected: None,
            outage_ms_max: None,
        }
    }

    fn check(failure: Failure, failures: u32, expected: Option<u64>) {
        let at = retry_at(&failure, failures, &Limits::default());
        assert_eq!(at.map(|at| at.0), expected);
    }

    // K46, J49
    #[test]
    fn waits_double_from_a_second() {
        check(failure(FailureClass::Network, None, 0), 1, Some(11_000));
        check(failure(FailureClass::Network, None, 0), 2, Some(12_000));
        check(failure(FailureClass::Network, None, 0), 4, Some(18_000));
    }

    // J49
    #[test]
    fn the_provider_may_ask_for_a_longer_wait_but_not_for_any() {
        check(failure(FailureClass::RateLimited, Some(7_000), 0), 1, Some(17_000));
        check(failure(FailureClass::RateLimited, Some(120_000), 0), 1, Some(130_000));
        check(failure(FailureClass::RateLimited, Some(300_000), 0), 1, Some(310_000));
        check(failure(FailureClass::RateLimited, Some(300_001), 0), 1, None);
    }

    #[test]
    fn waits_are_told_in_round_numbers() {
        for (ms, told) in [
            (1, "1 s"),
            (120_000, "120 s"),
            (300_001, "6 min"),
            (7_200_001, "3 h"),
            (172_800_001, "3 days"),
            (u64::MAX, "213503982335 days"),
        ] {
            assert_eq!(wait_in_words(ms), told);
        }
    }

    #[test]
    fn chance_adds_at_most_a_quarter() {
        check(failure(FailureClass::Overloaded, Some(8_000), 999), 1, Some(19_998));
    }

    // J48
    #[test]
    fn the_allowance_is_five_failures_in_a_row() {
        check(failure(FailureClass::Server, None, 0), 5, None);
    }

    // K47, J50, O45
    #[test]
    fn permanent_and_unknown_failures_are_not_repeated() {
        for class in [
            FailureClass::Auth,
            FailureClass::Quota,
            FailureClass::InvalidRequest,
            FailureClass::ContextOverflow,
            FailureClass::ContentFilter,
            FailureClass::TooLarge,
            FailureClass::Unknown,
        ] {
            check(failure(class, None, 0), 1, None);
        }
    }
}
