//! What an error means.
//!
//! Servers agree on `{"error":{"message","type","code"}}` and on little else: the error may be a
//! string, a list, text or a page; codes are words or numbers; a full context is a 400 here and a
//! 500 there. Words decide before the status does, because they are what the servers mean.

use std::borrow::Cow;

use piton_core::event::FailureClass;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::chunk::Text;
use super::resets;
use crate::said::short;
use crate::{Failure, rejected, status, wait};

/// What an answer with an error status means.
pub(super) fn of_answer(
    status: u16,
    header: &dyn Fn(&str) -> Option<String>,
    body: &[u8],
) -> Failure {
    let body = String::from_utf8_lossy(body);
    let said = Said::read(&body);
    let class = status::obey(class(Some(status), &said), header);
    let message = if said.message.trim().is_empty() {
        status::said(status, "")
    } else {
        short(&said.message)
    };
    let asked_ms = || {
        let told = wait::of_headers(header).or_else(|| wait::of_words(&said.message));
        told.or_else(|| resets::of_headers(header))
    };
    let retry_after_ms = if class.is_transient() { asked_ms() } else { None };
    let rejected = rejected::of(&said.code, &said.message);
    Failure { class, message, retry_after_ms, rejected }
}

/// What an error inside a stream means.
pub(super) fn of_event(event: &str) -> Failure {
    let said = Said::read(event);
    let status = said.code.parse().ok().filter(|status| (400..600).contains(status));
    let class = class(status, &said);
    let message = if said.message.trim().is_empty() {
        "the provider ended the stream with an error".into()
    } else {
        short(&said.message)
    };
    let rejected = rejected::of(&said.code, &said.message);
    Failure { class, message, retry_after_ms: wait::of_words(&said.message), rejected }
}

/// A finish reason that is an error.
pub(super) fn of_finish(class: FailureClass) -> Failure {
    Failure::new(class, "the provider could not finish the answer")
}

/// What a server said, in any of the forms that servers use.
#[derive(Debug, Default)]
struct Said<'a> {
    message: Cow<'a, str>,
    kind: Cow<'a, str>,
    code: Cow<'a, str>,
}

#[derive(Debug, Default, Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    detail: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Text<'a>,
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    code: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default)]
    metadata: Option<Metadata<'a>>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, default)]
    raw: Text<'a>,
}

impl<'a> Said<'a> {
    fn read(body: &'a str) -> Self {
        let text = body.trim();
        if let Some(list) = text.strip_prefix('[') {
            // One host wraps its error in a list.
            return Self::read(list.strip_suffix(']').unwrap_or(list));
        }
        if !text.starts_with('{') {
            // A page is for browsers; plain text is the message.
            let page = text.starts_with('<');
            return Self { message: if page { "".into() } else { text.into() }, ..Self::default() };
        }
        let Ok(body) = serde_json::from_str::<Body<'a>>(text) else {
            return Self { message: text.into(), ..Self::default() };
        };
        match body.error.map(RawValue::get) {
            Some(error) if error.starts_with('{') => Self::inner(error),
            Some(error) if error.starts_with('"') => {
                let message = serde_json::from_str::<Text<'_>>(error).unwrap_or_default().text;
                Self { message, kind: body.kind.text, code: body.code.text }
            }
            Some(_) | None => Self::flat(body),
        }
    }

    fn inner(error: &'a str) -> Self {
        serde_json::from_str::<Body<'a>>(error).map(Self::flat).unwrap_or_default()
    }

    fn flat(body: Body<'a>) -> Self {
        let detail = body.detail.map(RawValue::get).unwrap_or_default();
        let detail = if detail.starts_with('"') {
            serde_json::from_str::<Text<'_>>(detail).unwrap_or_default().text
        } else {
            detail.into()
        };
        // A router's own words say less than those that it passes on.
        let raw = body.metadata.unwrap_or_default().raw.text;
        let message = match (body.message.text, raw) {
            (message, raw) if raw.is_empty() => message,
            (message, raw) => format!("{message}: {raw}").into(),
        };
        let message = if message.is_empty() { detail } else { message };
        let kind = if body.kind.is_empty() { body.status.text } else { body.kind.text };
        Self { message, kind, code: body.code.text }
    }
}

/// Words, and what they mean. The first row that fits decides.
const WORDS: [(FailureClass, &[&str]); 7] = [
    (
        FailureClass::ContextOverflow,
        &[
            "context_length_exceeded",
            "exceed_context_size",
            "maximum context length",
            "context length exceeded",
            "context window",
            "available context size",
            "context size has been exceeded",
            "prompt is too long",
            "input is too long",
            "too large for model with",
            "exceeds the maximum number of tokens",
            "maximum prompt length",
            "reduce the length of the messages",
        ],
    ),
    (
        FailureClass::Quota,
        &[
            "insufficient_quota",
            "exceeded your current quota",
            "insufficient balance",
            "insufficient credits",
            "requires more credits",
            "billing_hard_limit",
            "billing_not_active",
            "credit balance",
        ],
    ),
    (
        FailureClass::ContentFilter,
        &[
            "content_filter",
            "content_policy_violation",
            "responsibleaipolicyviolation",
            "content management policy",
            "requires moderation",
            "flagged by",
            "content exists risk",
        ],
    ),
    (
        FailureClass::Auth,
        &[
            "invalid_api_key",
            "authentication_error",
            "incorrect api key",
            "invalid api key",
            "permission_denied",
        ],
    ),
    // A model that wrote a call nobody can read may write a better one next time.
    (FailureClass::Malformed, &["tool_use_failed"]),
    (FailureClass::RateLimited, &["rate_limit", "ratelimit", "rate limit", "too many requests"]),
    (
        FailureClass::Overloaded,
        &["overloaded", "service_unavailable", "no healthy upstream", "at capacity", "slow_down"],
    ),
];

fn class(status: Option<u16>, said: &Said<'_>) -> FailureClass {
    let words = format!("{} {} {}", said.code, said.kind, said.message).to_lowercase();
    let row = WORDS.iter().find(|(_, words_of)| words_of.iter().any(|word| words.contains(word)));
    let by_words = row.map(|(class, _)| *class);
    // What a status says for sure is not talked away by a word in the message.
    match (status, by_words) {
        (Some(401), _) | (Some(403), None) => FailureClass::Auth,
        (Some(402), _) => FailureClass::Quota,
        (_, Some(class)) => class,
        (Some(status), None) => status::class(status),
        // Inside a stream the request was taken already, so it is the server's trouble.
        (None, None) if words.contains("invalid_request") => FailureClass::InvalidRequest,
        (None, None) => FailureClass::Server,
    }
}
