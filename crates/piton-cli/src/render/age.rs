//! How long ago something was, and how long something lasts, in the unit that matters.

use piton_core::id::Timestamp;

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// How long before `now` something was.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let ms = now.ms_since(then);
    match ms {
        0..MINUTE_MS => "just now".into(),
        MINUTE_MS..HOUR_MS => format!("{} min ago", ms / MINUTE_MS),
        HOUR_MS..DAY_MS => format!("{} h ago", ms / HOUR_MS),
        DAY_MS.. => format!("{} d ago", ms / DAY_MS),
    }
}

/// How long something lasts.
pub(crate) fn lasting(ms: u64) -> String {
    match ms {
        0..SECOND_MS => format!("0.{} s", ms / 100),
        SECOND_MS..MINUTE_MS => format!("{} s", ms / SECOND_MS),
        MINUTE_MS..HOUR_MS => {
            format!("{} min {} s", ms / MINUTE_MS, ms % MINUTE_MS / SECOND_MS)
        }
        HOUR_MS.. => format!("{} h {} min", ms / HOUR_MS, ms % HOUR_MS / MINUTE_MS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_the_unit_that_matters() {
        let check = |ms, expected| assert_eq!(age(Timestamp(0), Timestamp(ms)), expected);
        check(59_999, "just now");
        check(60_000, "1 min ago");
        check(7_199_999, "1 h ago");
        check(86_400_000, "1 d ago");
        assert_eq!(age(Timestamp(5), Timestamp(0)), "just now");
    }

    #[test]
    fn what_lasts_longer_is_told_in_larger_units() {
        let told = [(0, "0.0 s"), (950, "0.9 s"), (59_999, "59 s"), (61_000, "1 min 1 s")];
        for (ms, expected) in told.into_iter().chain([(3_660_000, "1 h 1 min")]) {
            assert_eq!(lasting(ms), expected);
        }
    }
}
