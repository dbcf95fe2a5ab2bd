//! What an error answer means.
//!
//! Google says it in a body, `{"error":{"code","message","status","details"}}`, sometimes inside
//! an array; gateways say it in every other way. The words that are passed on are short and hold no
//! key.

use piton_core::event::FailureClass;
use serde_json::Value;
use serde_json::value::RawValue;

use super::retry_after;
use crate::Failure;

/// Longest message, in characters.
const MESSAGE_MAX: usize = 300;

/// What an error body says.
#[derive(Default)]
struct Said {
    code: Option<u16>,
    status: String,
    message: String,
    /// `reason` of every detail, and the names of the quotas that were exceeded.
    reasons: Vec<String>,
    retry_after_ms: Option<u64>,
}

/// An answer with an error status.
pub(super) fn of_answer(
    status: u16,
    header: &dyn Fn(&str) -> Option<String>,
    body: &[u8],
) -> Failure {
    let said = serde_json::from_slice::<Value>(body).map_or_else(
        |_| Said { message: String::from_utf8_lossy(body).into_owned(), ..Said::default() },
        |value| Said::of(value.get(0).unwrap_or(&value)),
    );
    said.failure(status, retry_after::of_headers(header))
}

/// An error inside a stream: its value under `error`.
pub(super) fn of_event(error: &RawValue) -> Failure {
    let error = serde_json::from_str(error.get()).unwrap_or(Value::Null);
    let said = Said::of(&serde_json::json!({ "error": error }));
    let status = said.code.unwrap_or_else(|| code_of(&said.status));
    said.failure(status, None)
}

/// A message without keys, blanks in a row, or a length that fills a screen.
pub(super) fn short(message: &str) -> String {
    let mut words = message.split_whitespace().map(without_key);
    let mut whole = words.next().unwrap_or_default();
    for word in words {
        whole.push(' ');
        whole.push_str(&word);
        if 4 * MESSAGE_MAX < whole.len() {
            break;
        }
    }
    match whole.char_indices().nth(MESSAGE_MAX - 1) {
        Some((end, _)) if whole.chars().count() != MESSAGE_MAX => {
            whole.truncate(end);
            whole + "…"
        }
        _ => whole,
    }
}

/// Cuts a word where something that looks like a key begins.
fn without_key(word: &str) -> String {
    const MARKS: [&str; 6] = ["AIza", "AQ.", "ya29.", "sk-", "key=", "token="];
    let starts = MARKS.iter().filter_map(|mark| {
        let at = word.find(mark)?;
        let name = if mark.ends_with('=') { mark.len() } else { 0 };
        // Short ones are words that happen to begin like a key.
        (name + 8 <= word.len() - at).then_some(at + name)
    });
    match starts.min().and_then(|start| word.get(..start)) {
        Some(kept) => format!("{kept}[removed]"),
        None => word.to_owned(),
    }
}

impl Said {
    fn of(value: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let error = value.get("error").unwrap_or(value);
        let message = text(Some(error))
            .or_else(|| text(error.get("message")))
            .or_else(|| text(value.get("message")))
            .or_else(|| text(value.get("detail")))
            .unwrap_or_else(|| error.to_string());
        let code = error.get("code").and_then(Value::as_u64);
        let details = error.get("details").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut reasons: Vec<String> = Vec::new();
        for detail in details {
            reasons.extend(text(detail.get("reason")));
            let violations = detail.get("violations").and_then(Value::as_array);
            for violation in violations.into_iter().flatten() {
                reasons.extend(text(violation.get("quotaId")));
            }
        }
        let asked = details.iter().find_map(|detail| text(detail.get("retryDelay")));
        let spoken = || retry_after::duration(message.split_once("retry in ")?.1);
        Self {
            code: code.and_then(|code| u16::try_from(code).ok()),
            status: text(error.get("status")).unwrap_or_default(),
            retry_after_ms: asked.as_deref().and_then(retry_after::duration).or_else(spoken),
            message,
            reasons,
        }
    }

    fn failure(self, status: u16, retry_after_ms: Option<u64>) -> Failure {
        let class = self.class(status);
        let name = if self.status.is_empty() { "HTTP" } else { &self.status };
        let message = match self.message.trim() {
            "" => format!("{name} {status}"),
            message => format!("{name} {status}: {message}"),
        };
        let retry_after_ms = retry_after_ms.or(self.retry_after_ms);
        Failure { class, message: short(&message), retry_after_ms }
    }

    fn class(&self, status: u16) -> FailureClass {
        let message = self.message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let because = |words: &[&str]| {
            self.reasons.iter().any(|reason| words.iter().any(|word| reason.contains(word)))
        };
        let too_long = ["input token count", "maximum number of tokens", "payload size exceeds"];
        match status {
            400 | 413 if says(&too_long) => FailureClass::ContextOverflow,
            413 => FailureClass::ContextOverflow,
            // A bad key is an invalid argument here.
            400 if because(&["API_KEY"]) || says(&["api key"]) => FailureClass::Auth,
            400..=403 | 429
                if because(&["BILLING"]) || says(&["enable billing", "credits are"]) =>
            {
                FailureClass::Quota
            }
            400 if says(&["blocked by safety", "safety filter", "prohibited content"]) => {
                FailureClass::ContentFilter
            }
            401 | 403 => FailureClass::Auth,
            402 => FailureClass::Quota,
            // A day's allowance does not come back while we wait, and a limit of zero never does.
            429 if because(&["PerDay", "QUOTA_EXHAUSTED"])
                || says(&["limit: 0,", "limit: 0\n"]) =>
            {
                FailureClass::Quota
            }
            429 => FailureClass::RateLimited,
            503 | 529 => FailureClass::Overloaded,
            408 | 409 | 499 | 500..=599 => FailureClass::Server,
            400..=499 => FailureClass::InvalidRequest,
            _ => FailureClass::Unknown,
        }
    }
}

fn code_of(status: &str) -> u16 {
    match status {
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => 400,
        "UNAUTHENTICATED" => 401,
        "PERMISSION_DENIED" => 403,
        "NOT_FOUND" => 404,
        "ABORTED" => 409,
        "RESOURCE_EXHAUSTED" => 429,
        "CANCELLED" => 499,
        "UNAVAILABLE" => 503,
        "DEADLINE_EXCEEDED" => 504,
        // An error that says nothing of itself is the server's.
        _ => 500,
    }
}
