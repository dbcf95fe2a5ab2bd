//! Moments, durations and sizes in words. Moments are in UTC: the page tells them in its own zone.

use maud::{Markup, html};
use piton_core::id::Timestamp;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A moment as an element: hours and minutes, and all of it for the page.
pub(crate) fn time(at: Timestamp) -> Markup {
    let (date, clock) = (date(at), clock(at));
    let short = clock.get(..5).unwrap_or_default();
    html! { time datetime={ (date) "T" (clock) "Z" } title={ (date) " " (clock) " UTC" } { (short) } }
}

/// Hours and minutes, for words that cannot hold an element.
pub(crate) fn hours(at: Timestamp) -> String {
    clock(at).get(..5).unwrap_or_default().to_owned()
}

/// How long something runs: the page counts on.
pub(crate) fn since(at: Timestamp) -> Markup {
    html! { span data-since=(at.0) {} }
}

/// How long it is until something: the page counts down.
pub(crate) fn until(at: Timestamp) -> Markup {
    html! { span data-until=(at.0) { (hours(at)) " UTC" } }
}

fn clock(at: Timestamp) -> String {
    let seconds = at.0 % DAY_MS / 1_000;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Year, month and day of the Gregorian calendar, by counting from the first of March of year 0.
fn date(at: Timestamp) -> String {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = at.0 / DAY_MS + DAYS_TO_1970;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year_of_era, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{month:02}-{day:02}", if month <= 2 { year + 1 } else { year })
}

/// `0.02 s`, `42 s`, `3 m 4 s`, `1 h 2 m`.
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..10 => format!("{seconds}.{:02} s", ms % 1_000 / 10),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// `812`, `61k`, `1.2M`.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// A number of things, with the right word.
pub(crate) fn count(number: impl Into<u64>, one: &str, many: &str) -> String {
    let number = number.into();
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let check = |ms: u64, expected: &str| assert_eq!(date(Timestamp(ms)), expected);
        check(0, "1970-01-01");
        check(951_782_400_000, "2000-02-29");
        check(951_868_800_000, "2000-03-01");
        check(1_735_689_599_999, "2024-12-31");
        check(1_794_974_400_000, "2026-11-18");
        check(4_107_542_400_000, "2100-03-01");
    }

    #[test]
    fn durations_and_numbers_are_short() {
        assert_eq!(
            [20, 42_000, 184_000, 3_720_000].map(duration),
            ["0.02 s", "42 s", "3 m 4 s", "1 h 2 m"]
        );
        assert_eq!([812, 8_149, 61_000, 1_250_000].map(tokens), ["812", "8.1k", "61k", "1.2M"]);
        assert_eq!(count(1_u32, "file", "files"), "1 file");
    }
}
