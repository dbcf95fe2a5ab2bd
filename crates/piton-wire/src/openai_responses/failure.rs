//! What an error means, from a status, headers and a body, or from an event of the stream.
//!
//! The code decides, then the words, then the status: gateways translate statuses and lose codes.
//! Messages are short and carry no secrets, because they end up in the journal.

use piton_core::event::FailureClass;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::said::{self, short};
use crate::{Failure, rejected, status, wait};

/// What a provider said about an error, wherever it put it.
#[derive(Debug, Default)]
struct Said {
    code: String,
    kind: String,
    message: String,
    resets_in_s: Option<u64>,
}

/// An answer with an error status.
pub(super) fn of_answer(
    status: u16,
    header: &dyn Fn(&str) -> Option<String>,
    body: &[u8],
) -> Failure {
    let said = read(body);
    let class =
        of_code(&said).or_else(|| of_words(&said.message)).unwrap_or_else(|| status::class(status));
    let class = status::obey(class, header);
    let retry_after_ms = wait::of_headers(header).or_else(|| hint(&said));
    let message = status::said(status, &said.message);
    let rejected = rejected::of(&said.code, &said.message);
    Failure { class, message: short(&message), retry_after_ms, rejected }
}

/// An error event.
pub(super) fn of_event(data: &str) -> Failure {
    of_value(&serde_json::from_str(data).unwrap_or_default())
}

/// The error of a failed response.
pub(super) fn of_error(error: Option<&RawValue>) -> Failure {
    let error = error.and_then(|raw| serde_json::from_str(raw.get()).ok());
    of_value(&error.unwrap_or_default())
}

fn of_value(value: &Value) -> Failure {
    let said = said(value);
    // What fails in the middle of an answer was accepted once: without a known reason, try again.
    let class = of_code(&said).or_else(|| of_words(&said.message)).unwrap_or(FailureClass::Server);
    let message = match (said.message.is_empty(), said.code.is_empty()) {
        (false, _) => said.message.clone(),
        (true, false) => said.code.clone(),
        (true, true) => "the provider gave up without a reason".into(),
    };
    let rejected = rejected::of(&said.code, &said.message);
    Failure { class, message: short(&message), retry_after_ms: hint(&said), rejected }
}

fn hint(said: &Said) -> Option<u64> {
    said.resets_in_s
        .map(|seconds| seconds.saturating_mul(1000))
        .or_else(|| wait::of_words(&said.message))
}

fn read(body: &[u8]) -> Said {
    if let Ok(value) = serde_json::from_slice::<Value>(body) {
        return said(&value);
    }
    Said { message: said::plain(&String::from_utf8_lossy(body)).to_owned(), ..Said::default() }
}

fn said(value: &Value) -> Said {
    let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
    let inner = ["error", "detail", "errors"].iter().find_map(|key| value.get(key));
    let inner = inner.filter(|inner| !inner.is_null()).unwrap_or(value);
    let inner = inner.as_array().and_then(|list| list.first()).unwrap_or(inner);
    let text = |key: &str| {
        let found = inner.get(key).or_else(|| value.get(key)).filter(|found| !found.is_null());
        found.map(|found| found.as_str().map_or_else(|| found.to_string(), str::to_owned))
    };
    let message = inner.as_str().map(str::to_owned).or_else(|| text("message"));
    Said {
        code: text("code").unwrap_or_default(),
        kind: text("type").unwrap_or_default(),
        message: message.or_else(|| text("msg")).unwrap_or_default(),
        resets_in_s: inner.get("resets_in_seconds").and_then(Value::as_u64),
    }
}

fn of_code(said: &Said) -> Option<FailureClass> {
    // A request that is over the limit on its own will be so for ever.
    if said.message.starts_with("Request too large") {
        return Some(FailureClass::ContextOverflow);
    }
    [&said.code, &said.kind].into_iter().find_map(|code| match code.as_str() {
        "insufficient_quota"
        | "usage_limit_reached"
        | "usage_not_included"
        | "quota_exceeded"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "insufficient_credits" => Some(FailureClass::Quota),
        "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" => {
            Some(FailureClass::RateLimited)
        }
        "server_is_overloaded" | "slow_down" | "overloaded_error" | "engine_overloaded" => {
            Some(FailureClass::Overloaded)
        }
        "server_error" | "internal_error" | "internal_server_error" | "vector_store_timeout" => {
            Some(FailureClass::Server)
        }
        "context_length_exceeded" | "string_above_max_length" if is_of_input(said) => {
            Some(FailureClass::ContextOverflow)
        }
        "bio_policy"
        | "cyber_policy"
        | "misalignment_policy_violation"
        | "content_filter"
        | "content_policy_violation" => Some(FailureClass::ContentFilter),
        "invalid_prompt" if is_flagged(&said.message) => Some(FailureClass::ContentFilter),
        "invalid_api_key"
        | "authentication_error"
        | "invalid_authentication"
        | "token_expired"
        | "permission_denied"
        | "permission_error" => Some(FailureClass::Auth),
        "invalid_prompt"
        | "invalid_encrypted_content"
        | "previous_response_not_found"
        | "model_not_found" => Some(FailureClass::InvalidRequest),
        _ => None,
    })
}

/// The same code is used for a short parameter that is too long.
fn is_of_input(said: &Said) -> bool {
    said.code == "context_length_exceeded" || said.message.contains("'input")
}

fn is_flagged(message: &str) -> bool {
    message.contains("policy") || message.contains("flagged")
}

fn of_words(message: &str) -> Option<FailureClass> {
    const WORDS: [(&str, FailureClass); 9] = [
        ("exceeds the context window", FailureClass::ContextOverflow),
        ("maximum context length", FailureClass::ContextOverflow),
        ("prompt is too long", FailureClass::ContextOverflow),
        ("api key", FailureClass::Auth),
        ("authentication token", FailureClass::Auth),
        ("exceeded your current quota", FailureClass::Quota),
        ("usage limit", FailureClass::Quota),
        ("rate limit", FailureClass::RateLimited),
        ("overloaded", FailureClass::Overloaded),
    ];
    let message = message.to_ascii_lowercase();
    WORDS.iter().find(|(words, _)| message.contains(words)).map(|(_, class)| *class)
}
