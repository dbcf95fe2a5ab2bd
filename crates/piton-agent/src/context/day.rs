//! The day, where the person is.

use std::fmt::Display;

use chrono::{Local, TimeZone};
use piton_core::id::Timestamp;

/// The day with its name and zone. Not the time: it would be new with each turn.
pub(super) fn today(now: Timestamp) -> String {
    in_zone(now, &Local)
}

/// A moment as people write it, with the zone where the person is.
pub fn moment(at: Timestamp) -> String {
    written(at, &Local)
}

fn written<Z: TimeZone<Offset: Display>>(at: Timestamp, zone: &Z) -> String {
    let millis = i64::try_from(at.0).unwrap_or_default();
    let at = zone.timestamp_millis_opt(millis).single();
    at.map(|at| at.format("%Y-%m-%d %H:%M UTC%:z").to_string()).unwrap_or_default()
}

fn in_zone<Z: TimeZone<Offset: Display>>(now: Timestamp, zone: &Z) -> String {
    let millis = i64::try_from(now.0).unwrap_or_default();
    match zone.timestamp_millis_opt(millis).single() {
        Some(now) => now.format("Date: %A, %Y-%m-%d, zone UTC%:z.").to_string(),
        None => "Date: unknown.".into(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{FixedOffset, Utc};

    use super::*;

    #[test]
    fn the_day_is_that_of_the_zone() {
        let now = Timestamp(1_763_337_600_000);
        assert_eq!(in_zone(now, &Utc), "Date: Monday, 2025-11-17, zone UTC+00:00.");
        let west = FixedOffset::west_opt(5 * 3_600).unwrap();
        assert_eq!(in_zone(now, &west), "Date: Sunday, 2025-11-16, zone UTC-05:00.");
        assert_eq!(written(now, &west), "2025-11-16 19:00 UTC-05:00");
    }
}
