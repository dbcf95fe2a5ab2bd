//! What an error means: from a status with a body, or from an error event inside a stream.
//!
//! The kind that the service names decides, then the status. A few sentences decide before both:
//! the service says "invalid request" also where the account is empty or the conversation too long,
//! and these need different actions. Bodies are not trusted to be JSON.

use piton_core::event::FailureClass;
use serde_json::Value;

use crate::{Failure, rejected, said, status, wait};

/// Sentences that say more than the kind, in lower case.
const OVERFLOW: [&str; 5] = [
    "prompt is too long",
    "exceed context limit",
    "context window",
    "context length",
    "request exceeds the maximum size",
];
const QUOTA: [&str; 4] =
    ["credit balance is too low", "usage limits", "insufficient credits", "quota exceeded"];
const FILTER: [&str; 2] = ["content filtering policy", "blocked by content"];

/// What an error says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    kind: String,
    /// A status that stands in the body, as gateways write it.
    code: Option<u16>,
    message: String,
}

/// From an answer with an error status.
pub(super) fn from_http(
    status: u16,
    header: &dyn Fn(&str) -> Option<String>,
    body: &[u8],
) -> Failure {
    let text = String::from_utf8_lossy(body);
    let told = serde_json::from_str(&text).map_or_else(|_| Told::default(), |body| told(&body));
    let class = status::obey(class(&told, status), header);
    let rejected = rejected::of("", &told.message);
    let said = if told.message.is_empty() { said::plain(&text) } else { &told.message };
    let retry_after_ms = wait::of_headers(header).or_else(|| wait::of_words(said));
    let said = said::short(said);
    let message = if said.is_empty() { status::said(status, "") } else { said };
    Failure { class, message, retry_after_ms, rejected }
}

/// From an error event.
pub(super) fn from_event(data: &str) -> Failure {
    let told = serde_json::from_str(data).map_or_else(|_| Told::default(), |body| told(&body));
    let class = class(&told, told.code.unwrap_or(0));
    let retry_after_ms = wait::of_words(&told.message);
    let said = said::short(&told.message);
    let message = if said.is_empty() { "the provider reported an error".into() } else { said };
    let rejected = rejected::of("", &told.message);
    Failure { class, message, retry_after_ms, rejected }
}

fn told(body: &Value) -> Told {
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let detail = error.get("detail");
    let message = text(Some(error))
        .or_else(|| text(error.get("message")))
        .or_else(|| text(detail))
        .or_else(|| text(detail.and_then(|detail| detail.get("message"))))
        .or_else(|| text(body.get("message")));
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    Told {
        kind: text(error.get("type")).or_else(|| text(error.get("code"))).unwrap_or_default(),
        code,
        message: message.unwrap_or_default(),
    }
}

fn class(told: &Told, status: u16) -> FailureClass {
    let said = told.message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(phrase));
    match &*told.kind {
        "authentication_error" | "permission_error" => FailureClass::Auth,
        "billing_error" => FailureClass::Quota,
        "rate_limit_error" => FailureClass::RateLimited,
        "overloaded_error" => FailureClass::Overloaded,
        "api_error" | "timeout_error" => FailureClass::Server,
        "request_too_large" => FailureClass::ContextOverflow,
        _ if says(&OVERFLOW) => FailureClass::ContextOverflow,
        _ if says(&QUOTA) => FailureClass::Quota,
        _ if says(&FILTER) => FailureClass::ContentFilter,
        "invalid_request_error" | "not_found_error" => FailureClass::InvalidRequest,
        // An error event without a kind: the request had been taken.
        _ if status == 0 => FailureClass::Server,
        _ => status::class(status),
    }
}
