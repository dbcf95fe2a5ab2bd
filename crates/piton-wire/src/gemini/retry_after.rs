//! How long a provider asks to wait, in the forms that HTTP and Google have for it.
//!
//! There is no clock here: a date is measured against the date of the same answer.

use crate::http_date;

/// Longest wait that is taken at its word, in milliseconds: a day.
const WAIT_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// From the headers.
pub(super) fn of_headers(header: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    if let Some(wait) = header("retry-after-ms").and_then(|text| millis(text.trim(), 1.0)) {
        return Some(wait);
    }
    let text = header("retry-after")?;
    millis(text.trim(), 1000.0).or_else(|| {
        let (then, now) = (http_date::seconds(&text)?, http_date::seconds(&header("date")?)?);
        Some(then.saturating_sub(now).saturating_mul(1000).min(WAIT_MS_MAX))
    })
}

/// `34.4s`, `840ms`, `1m2.5s`, `1h`: one or more numbers with their units, up to what is neither.
pub(super) fn duration(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total: Option<u64> = None;
    loop {
        let (number, after) = rest
            .split_at(rest.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(0));
        let units = [("ms", 1.0), ("s", 1000.0), ("m", 60_000.0), ("h", 3_600_000.0)];
        let unit = units.iter().find_map(|(unit, scale)| {
            Some((after.strip_prefix(unit)?, *scale)).filter(|_| !number.is_empty())
        });
        let Some((after, scale)) = unit else {
            return total;
        };
        let wait = millis(number, scale)?;
        total = Some(total.unwrap_or(0).saturating_add(wait).min(WAIT_MS_MAX));
        rest = after;
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "checked to be within the bounds of a day"
)]
fn millis(number: &str, scale: f64) -> Option<u64> {
    let wait = number.parse::<f64>().ok()? * scale;
    (0.0 <= wait).then(|| wait.min(WAIT_MS_MAX as f64).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, wait) in [
            ("34.4s", Some(34_400)),
            ("48.93s.", Some(48_930)),
            ("840.2ms", Some(841)),
            ("1h2m3.5s", Some(3_723_500)),
            ("99999h", Some(WAIT_MS_MAX)),
            ("0s", Some(0)),
            ("5", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(duration(text), wait, "{text}");
        }
    }
}
