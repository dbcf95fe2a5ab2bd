//! What an error answer means.
//!
//! Google says it in a body, `{"error":{"code","message","status","details"}}`, sometimes inside
//! an array; gateways say it in every other way. The words that are passed on are short and hold no
//! key.

use piton_core::event::FailureClass;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::said::short;
use crate::{Failure, rejected, status, wait};

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
    said.failure(status, wait::of_headers(header))
}

/// An error inside a stream: its value under `error`.
pub(super) fn of_event(error: &RawValue) -> Failure {
    let error = serde_json::from_str(error.get()).unwrap_or(Value::Null);
    let said = Said::of(&serde_json::json!({ "error": error }));
    let status = said.code.unwrap_or_else(|| code_of(&said.status));
    said.failure(status, None)
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
        let spoken = || wait::of_words(&message);
        Self {
            code: code.and_then(|code| u16::try_from(code).ok()),
            status: text(error.get("status")).unwrap_or_default(),
            retry_after_ms: asked.as_deref().and_then(wait::duration).or_else(spoken),
            message,
            reasons,
        }
    }

    fn failure(self, status: u16, retry_after_ms: Option<u64>) -> Failure {
        let class = self.class(status);
        let message = match (&*self.status, self.message.trim()) {
            ("", message) => status::said(status, message),
            (name, "") => format!("{name} {status}"),
            (name, message) => format!("{name} {status}: {message}"),
        };
        let retry_after_ms = retry_after_ms.or(self.retry_after_ms);
        let rejected = rejected::of("", &self.message);
        Failure { class, message: short(&message), retry_after_ms, rejected }
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
            // A day's allowance does not come back while we wait, and a limit of zero never does.
            429 if because(&["PerDay", "QUOTA_EXHAUSTED"])
                || says(&["limit: 0,", "limit: 0\n"]) =>
            {
                FailureClass::Quota
            }
            status => status::class(status),
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
