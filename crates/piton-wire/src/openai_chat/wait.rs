//! How long a server asks to wait.
//!
//! In a header by the book, in words inside the message elsewhere. There is no clock here: a date
//! counts from the answer's own `date` header.

use crate::http_date;

/// Milliseconds to wait, from the headers first and the message then.
pub(super) fn asked_ms(header: &dyn Fn(&str) -> Option<String>, message: &str) -> Option<u64> {
    let exact = header("retry-after-ms").and_then(|value| ms(value.trim(), 1.0));
    // One host sends 0 here beside a real number of seconds.
    exact
        .filter(|ms| 0 < *ms)
        .or_else(|| header("retry-after").and_then(|value| after(value.trim(), header)))
        .or_else(|| hinted_ms(message))
        .or_else(|| reset_ms(header))
        .or(exact)
}

fn after(value: &str, header: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    ms(value, 1000.0).or_else(|| {
        let until = http_date::seconds(value)?;
        let now = http_date::seconds(&header("date")?)?;
        until.checked_sub(now)?.checked_mul(1000)
    })
}

/// The window of what is used up ends then.
fn reset_ms(header: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let of = |what: &str| {
        let left = header(&format!("x-ratelimit-remaining-{what}"))?;
        let spent = left.trim() == "0";
        let reset = header(&format!("x-ratelimit-reset-{what}")).filter(|_| spent)?;
        duration_ms(reset.trim())
    };
    of("requests").max(of("tokens"))
}

/// `Please try again in 6m0.5s`, `Please retry after 20 seconds`.
pub(super) fn hinted_ms(message: &str) -> Option<u64> {
    let lower = message.to_ascii_lowercase();
    ["try again in ", "retry in ", "retry after ", "try again after "].iter().find_map(|words| {
        let (_, rest) = lower.split_once(words)?;
        let mut words = rest.split_whitespace();
        let number = words.next()?.trim_end_matches(['.', ',', ')']);
        let unit = words.next().unwrap_or_default();
        duration_ms(number).or_else(|| match unit.get(..1) {
            Some("s") => ms(number, 1000.0),
            Some("m") if unit.starts_with("ms") || unit.starts_with("milli") => ms(number, 1.0),
            Some("m") => ms(number, 60_000.0),
            Some("h") => ms(number, 3_600_000.0),
            Some(_) | None => None,
        })
    })
}

/// `17ms`, `1.5s`, `6m0s`, `1h2m3s`.
fn duration_ms(text: &str) -> Option<u64> {
    let mut sum: Option<u64> = None;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, tail) = rest.split_at_checked(digits)?;
        let letters = tail.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(letters)?;
        let factor = match unit {
            "ms" => 1.0,
            "s" => 1000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            _ => return None,
        };
        sum = Some(sum.unwrap_or_default().saturating_add(ms(number, factor)?));
        rest = tail;
    }
    sum
}

fn ms(number: &str, factor: f64) -> Option<u64> {
    let value = number.parse::<f64>().ok()? * factor;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded by the check before it"
    )]
    (0.0..=9e15).contains(&value).then_some(value.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&str, &str)], message: &str, expected: Option<u64>) {
        let header = |name: &str| {
            let found = headers.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(asked_ms(&header, message), expected, "{headers:?} {message}");
    }

    // J49
    #[test]
    fn headers_come_first() {
        check(&[("retry-after-ms", "250"), ("retry-after", "9")], "", Some(250));
        check(&[("retry-after-ms", "0"), ("retry-after", "1")], "", Some(1000));
        check(&[("retry-after", "1.5")], "try again in 9s", Some(1500));
        check(&[("retry-after", "soon")], "", None);
        check(&[("retry-after", "-1")], "", None);
    }

    #[test]
    fn dates_count_from_the_date_of_the_answer() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        check(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date], "", Some(30_000));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT"), date], "", None);
        check(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], "", None);
        assert_eq!(http_date::seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date::seconds("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
    }

    #[test]
    fn words_are_understood() {
        check(&[], "Limit reached. Please try again in 6m0.5s. Visit us.", Some(360_500));
        check(&[], "Please try again in 28ms.", Some(28));
        check(&[], "Please retry after 20 seconds.", Some(20_000));
        check(&[], "try again in 2 minutes", Some(120_000));
        check(&[], "try again in a while", None);
        check(&[], "retry after 5 ms", Some(5));
    }

    #[test]
    fn what_is_used_up_says_when_it_is_back() {
        let spent = ("x-ratelimit-remaining-tokens", "0");
        check(&[spent, ("x-ratelimit-reset-tokens", "1m2s")], "", Some(62_000));
        check(&[("x-ratelimit-reset-tokens", "1m2s")], "", None);
    }
}
