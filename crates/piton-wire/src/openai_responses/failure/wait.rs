//! How long a provider asks to wait: headers first, then its words.

use crate::http_date;

/// Waits are bounded by the caller; this only keeps nonsense from overflowing.
const WAIT_MS_MAX: f64 = 1e12;

/// Reads `retry-after-ms` and `retry-after`, which is seconds or a date. A date counts from the
/// answer's own `date`: there is no clock here, and theirs is the one that it was made with.
pub(super) fn from_headers(header: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |text: String| text.trim().parse::<f64>().ok();
    if let Some(ms) = header("retry-after-ms").and_then(number).and_then(bounded_ms) {
        return Some(ms);
    }
    let after = header("retry-after")?;
    if let Some(seconds) = number(after.clone()) {
        return bounded_ms(seconds * 1000.0);
    }
    let (then, now) = (http_date::seconds(&after)?, http_date::seconds(&header("date")?)?);
    Some(then.saturating_sub(now).saturating_mul(1000))
}

/// Reads `try again in 1m2.5s`, `28ms`, `20 seconds` and the like.
pub(super) fn from_text(message: &str) -> Option<u64> {
    let (_, mut rest) = message.split_once("try again in ")?;
    let mut sum_ms = None;
    loop {
        rest = rest.trim_start();
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let Ok(number) = number.parse::<f64>() else { break };
        let behind = behind.trim_start();
        let letters = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        let ms = match unit {
            "ms" | "milliseconds" => 1.0,
            "s" | "sec" | "second" | "seconds" => 1000.0,
            "m" | "min" | "minute" | "minutes" => 60_000.0,
            "h" | "hour" | "hours" => 3_600_000.0,
            "d" | "day" | "days" => 86_400_000.0,
            _ => break,
        };
        sum_ms = Some(sum_ms.unwrap_or(0.0) + number * ms);
        rest = behind;
    }
    sum_ms.and_then(bounded_ms)
}

fn bounded_ms(ms: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a whole number within range"
    )]
    (0.0..WAIT_MS_MAX).contains(&ms).then(|| ms.ceil() as u64)
}
