//! How long a provider asks to wait: in a header by the book, in words elsewhere.
//!
//! There is no clock here: a date counts from the answer's own `date`, which is also right where
//! our clock is wrong. What only one provider has (resets of a window, a delay inside a body) is
//! read by its dialect.

use httpdate::parse_http_date;

/// Longest wait that is told, in milliseconds: a year. The retry rule has its own, shorter bound.
pub(crate) const WAIT_MS_MAX: u64 = 365 * 24 * 60 * 60 * 1000;

/// Words in front of a time to wait, in lower case.
const HINTS: [&str; 5] =
    ["try again in ", "try again after ", "retry in ", "retry after ", "wait "];

/// Milliseconds from `retry-after-ms` or `retry-after`, which is seconds or a date.
pub(crate) fn of_headers(header: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let exact = header("retry-after-ms").and_then(|value| ms(value.trim(), 1.0));
    // One host sends 0 here beside a real number of seconds.
    exact.filter(|ms| 0 < *ms).or_else(|| after(header)).or(exact)
}

fn after(header: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let value = header("retry-after")?;
    ms(value.trim(), 1000.0).or_else(|| {
        let then = parse_http_date(value.trim()).ok()?;
        let now = parse_http_date(header("date")?.trim()).ok()?;
        // A date that is over asks for no wait.
        let wait = then.duration_since(now).unwrap_or_default();
        Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).min(WAIT_MS_MAX))
    })
}

/// Milliseconds from a sentence: `Please try again in 6m0.5s`, `retry after 20 seconds`.
pub(crate) fn of_words(message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    HINTS.iter().find_map(|hint| duration(message.split_once(hint)?.1))
}

/// `17ms`, `1.5s`, `6m0s`, `1h 2m`, `20 seconds`: numbers with their units, up to what is neither.
pub(crate) fn duration(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum: Option<u64> = None;
    while let Some((wait, behind)) = term(rest.trim_start()) {
        sum = Some(sum.unwrap_or(0).saturating_add(wait).min(WAIT_MS_MAX));
        rest = behind;
    }
    sum
}

fn term(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|it: char| !it.is_ascii_digit() && it != '.')?;
    let (number, behind) = text.split_at_checked(digits)?;
    let behind = behind.trim_start();
    let letters = behind.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(behind.len());
    let (unit, behind) = behind.split_at_checked(letters)?;
    let factor = match unit {
        "ms" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        _ => return None,
    };
    Some((ms(number, factor)?, behind))
}

fn ms(number: &str, factor: f64) -> Option<u64> {
    let wait = number.parse::<f64>().ok()? * factor;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be positive; a float that is too large becomes the largest number"
    )]
    (0.0 <= wait).then(|| (wait.ceil() as u64).min(WAIT_MS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&str, &str)], expected: Option<u64>) {
        let header = |name: &str| {
            let found = headers.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(of_headers(&header), expected, "{headers:?}");
    }

    // J49
    #[test]
    fn headers_are_exact_or_in_seconds() {
        check(&[("retry-after-ms", "250"), ("retry-after", "9")], Some(250));
        check(&[("retry-after-ms", "0"), ("retry-after", "1")], Some(1000));
        check(&[("retry-after-ms", "0")], Some(0));
        check(&[("retry-after", " 1.5 ")], Some(1500));
        check(&[("retry-after", "1e300")], Some(WAIT_MS_MAX));
        for odd in ["soon", "-1", "NaN", ""] {
            check(&[("retry-after", odd)], None);
        }
    }

    #[test]
    fn dates_count_from_the_date_of_the_answer() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        check(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date], Some(30_000));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT"), date], Some(0));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], None);
    }

    #[test]
    fn words_are_understood() {
        for (message, expected) in [
            ("Limit reached. Please try again in 6m0.5s. Visit us.", Some(360_500)),
            ("Please try again in 28ms.", Some(28)),
            ("Please retry in 48.93s.", Some(48_930)),
            ("Please retry after 20 seconds.", Some(20_000)),
            ("Wait 2 minutes", Some(120_000)),
            ("try again in 1 day 2 hours", Some(93_600_000)),
            ("retry after 5 ms", Some(5)),
            ("try again in a while", None),
            ("try again in 5", None),
        ] {
            assert_eq!(of_words(message), expected, "{message}");
        }
    }

    #[test]
    fn durations_have_units() {
        for (text, wait) in [
            ("34.4s", Some(34_400)),
            ("840.2ms", Some(841)),
            ("1h2m3.5s", Some(3_723_500)),
            ("99999999h", Some(WAIT_MS_MAX)),
            ("0s", Some(0)),
            ("1.2.3s", None),
            ("5", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(duration(text), wait, "{text}");
        }
    }
}
