//! How long a provider asks to wait.
//!
//! There is no clock here. A date is compared with the date of the same answer, which is also right
//! where our clock is wrong.

use crate::http_date;

/// Words before a time to wait, in lower case.
const HINTS: [&str; 4] = ["try again in ", "retry in ", "retry after ", "wait "];

/// From headers, in milliseconds.
pub(super) fn asked(header: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let exact = header("retry-after-ms").and_then(|value| millis(&value, 1.0));
    exact.or_else(|| {
        let value = header("retry-after")?;
        millis(&value, 1000.0).or_else(|| {
            let (then, now) = (http_date::seconds(&value)?, http_date::seconds(&header("date")?)?);
            Some(then.saturating_sub(now).saturating_mul(1000))
        })
    })
}

/// From a sentence such as "try again in 20 seconds", in milliseconds.
pub(super) fn told(message: &str) -> Option<u64> {
    let message = message.to_lowercase();
    HINTS.iter().find_map(|hint| {
        let (_, behind) = message.split_once(hint)?;
        let number: &str = behind.split(|it: char| !(it.is_ascii_digit() || it == '.')).next()?;
        let unit = behind.get(number.len()..)?.trim_start();
        let unit = unit.split(|it: char| !it.is_ascii_alphabetic()).next()?;
        let factor = match unit {
            "ms" | "millisecond" | "milliseconds" => 1.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
            _ => return None,
        };
        millis(number.trim_end_matches('.'), factor)
    })
}

fn millis(number: &str, factor: f64) -> Option<u64> {
    let number: f64 = number.trim().parse().ok()?;
    let millis = (number * factor).ceil();
    // More than a year is no time to wait but a slip.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked in the same line"
    )]
    (0.0..=3.2e10).contains(&millis).then_some(millis as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        assert_eq!(http_date::seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(http_date::seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date::seconds("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        assert_eq!(http_date::seconds("soon"), None);
    }

    #[test]
    fn sentences_are_read() {
        assert_eq!(told("Rate limited. Please try again in 1.5s."), Some(1500));
        assert_eq!(told("retry after 20 seconds"), Some(20_000));
        assert_eq!(told("Wait 2 minutes"), Some(120_000));
        assert_eq!(told("try again in a while"), None);
    }
}
