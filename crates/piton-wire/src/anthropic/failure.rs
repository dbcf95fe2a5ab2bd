//! What an error means: from a status with a body, or from an error event inside a stream.
//!
//! The kind that the service names decides, then the status. A few sentences decide before both:
//! the service says "invalid request" also where the account is empty or the conversation too long,
//! and those are not the same for whoever has to act. Bodies are not trusted to be JSON.

mod message;
mod wait;

use piton_core::event::FailureClass;
use serde_json::Value;

use crate::Failure;

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
    let class = obey(class(&told, status), header("x-should-retry").as_deref(), status);
    let said = if told.message.is_empty() { message::plain(&text) } else { told.message };
    let retry_after_ms = wait::asked(header).or_else(|| wait::told(&said));
    let said = message::short(&said);
    let message = if said.is_empty() { format!("status {status}") } else { said };
    Failure { class, message, retry_after_ms }
}

/// From an error event.
pub(super) fn from_event(data: &str) -> Failure {
    let told = serde_json::from_str(data).map_or_else(|_| Told::default(), |body| told(&body));
    let class = class(&told, told.code.unwrap_or(0));
    let retry_after_ms = wait::told(&told.message);
    let said = message::short(&told.message);
    let message = if said.is_empty() { "the provider reported an error".into() } else { said };
    Failure { class, message, retry_after_ms }
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
        _ => by_status(status),
    }
}

fn by_status(status: u16) -> FailureClass {
    match status {
        401 | 403 | 407 => FailureClass::Auth,
        402 => FailureClass::Quota,
        // An error event without a kind, a busy service, two requests that met: the same request
        // may pass later.
        0 | 408 | 409 | 425 | 500..=502 | 504..=528 | 530..=599 => FailureClass::Server,
        413 => FailureClass::ContextOverflow,
        429 => FailureClass::RateLimited,
        400..=499 => FailureClass::InvalidRequest,
        503 | 529 => FailureClass::Overloaded,
        _ => FailureClass::Unknown,
    }
}

/// The service may say outright whether a retry is of use; it knows better than a status.
fn obey(class: FailureClass, should_retry: Option<&str>, status: u16) -> FailureClass {
    match should_retry.map(str::trim) {
        Some("true") if !class.is_transient() => FailureClass::Server,
        Some("false") if class.is_transient() && status == 429 => FailureClass::Quota,
        Some("false") if class.is_transient() => FailureClass::Unknown,
        Some(_) | None => class,
    }
}
