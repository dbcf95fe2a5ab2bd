//! What error answers mean.

use piton_core::event::FailureClass;
use piton_wire::anthropic::Anthropic;
use piton_wire::{Dialect as _, Failure};

fn failure(status: u16, headers: &[(&str, &str)], body: &str) -> Failure {
    let header = |name: &str| {
        let found = headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Anthropic.failure(status, &header, body.as_bytes())
}

fn error(kind: &str, message: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
}

// K46, K47, K56, J50
#[test]
fn kinds_and_statuses_have_their_class() {
    use FailureClass::{
        Auth, ContentFilter, ContextOverflow, InvalidRequest, Overloaded, Quota, RateLimited,
        Server, Unknown,
    };
    for (status, kind, message, expected) in [
        (400, "invalid_request_error", "messages: roles must alternate", InvalidRequest),
        (400, "invalid_request_error", "prompt is too long: 3 tokens > 2 maximum", ContextOverflow),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 1",
            ContextOverflow,
        ),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", Quota),
        (400, "invalid_request_error", "You have reached your specified API usage limits", Quota),
        (400, "invalid_request_error", "Output blocked by content filtering policy", ContentFilter),
        (401, "authentication_error", "invalid x-api-key", Auth),
        (402, "billing_error", "no", Quota),
        (403, "permission_error", "no", Auth),
        (404, "not_found_error", "model: x", InvalidRequest),
        (413, "request_too_large", "Request exceeds the maximum size", ContextOverflow),
        (429, "rate_limit_error", "This request would exceed the rate limit", RateLimited),
        (500, "api_error", "Internal server error", Server),
        (504, "timeout_error", "timed out", Server),
        (529, "overloaded_error", "Overloaded", Overloaded),
        // The kind knows better than the status.
        (200, "overloaded_error", "Overloaded", Overloaded),
        (500, "rate_limit_error", "slow down", RateLimited),
        // Kinds that nobody knows.
        (400, "new_error", "x", InvalidRequest),
        (408, "", "x", Server),
        (409, "", "x", Server),
        (422, "", "x", InvalidRequest),
        (503, "", "x", Overloaded),
        (599, "", "x", Server),
        (302, "", "x", Unknown),
    ] {
        let found = failure(status, &[], &error(kind, message));
        assert_eq!((found.class, &*found.message), (expected, message), "{status} {kind}");
    }
}

#[test]
fn bodies_need_not_be_the_documented_ones() {
    for (status, body, class, message) in [
        (
            502,
            "<html><title>Bad gateway</title></html>",
            FailureClass::Server,
            "the provider answered with status 502",
        ),
        (429, "", FailureClass::RateLimited, "the provider answered with status 429"),
        (429, "slow\r\n  down", FailureClass::RateLimited, "slow down"),
        (401, r#"{"detail":"no key"}"#, FailureClass::Auth, "no key"),
        (400, r#"{"error":"bad"}"#, FailureClass::InvalidRequest, "bad"),
        (400, r#"{"message":"bad"}"#, FailureClass::InvalidRequest, "bad"),
        (500, r#"[{"error":{"message":"list"}}]"#, FailureClass::Server, "list"),
        (500, r#"{"error":null}"#, FailureClass::Server, "the provider answered with status 500"),
        (500, "{\"cut", FailureClass::Server, "the provider answered with status 500"),
        (500, "\u{fffd}\u{0}", FailureClass::Server, "\u{fffd}"),
    ] {
        let found = failure(status, &[], body);
        assert_eq!((found.class, &*found.message), (class, message), "{body}");
        assert_eq!(found.retry_after_ms, None, "{body}");
    }
    let header = |_: &str| None;
    assert_eq!(Anthropic.failure(500, &header, &[0xff, 0xfe]).class, FailureClass::Server);
}

// J49
#[test]
fn the_wait_is_read_from_headers_dates_and_words() {
    let date = ("date", "Sun, 15 Nov 2026 10:00:00 GMT");
    for (headers, message, expected) in [
        (vec![("retry-after-ms", "1500.5"), ("retry-after", "9")], "", Some(1501)),
        (vec![("retry-after", "2")], "", Some(2000)),
        (vec![("retry-after", "0.25")], "", Some(250)),
        (vec![("retry-after", "Sun, 15 Nov 2026 10:01:05 GMT"), date], "", Some(65_000)),
        (vec![("retry-after", "Sun, 15 Nov 2026 09:00:00 GMT"), date], "", Some(0)),
        (vec![("retry-after", "Sun, 15 Nov 2026 10:01:05 GMT")], "", None),
        (vec![("retry-after", "-5")], "", None),
        (vec![("retry-after", "NaN")], "", None),
        (vec![("retry-after", "1e300")], "", Some(31_536_000_000)),
        (vec![], "Please try again in 20 seconds.", Some(20_000)),
        (vec![], "Please try again.", None),
    ] {
        let found = failure(429, &headers, &error("rate_limit_error", message));
        assert_eq!(found.retry_after_ms, expected, "{headers:?} {message}");
    }
}

#[test]
fn the_service_may_say_whether_to_retry() {
    let told =
        |status, answer| failure(status, &[("x-should-retry", answer)], &error("", "x")).class;
    assert_eq!(told(400, "true"), FailureClass::Server);
    assert_eq!(told(400, "false"), FailureClass::InvalidRequest);
    assert_eq!(told(429, "false"), FailureClass::Quota);
    assert_eq!(told(500, "false"), FailureClass::Unknown);
    assert_eq!(told(500, "true"), FailureClass::Server);
    assert_eq!(told(500, "perhaps"), FailureClass::Server);
}

#[test]
fn messages_are_short_and_hold_no_keys() {
    let long = "ä ".repeat(1000);
    let found = failure(400, &[], &error("invalid_request_error", &long));
    assert_eq!(found.message.chars().count(), 300);
    assert!(found.message.ends_with('…'));
    for (said, kept) in [
        ("key sk-ant-api03-abcdef is wrong", "key [hidden] is wrong"),
        ("key 'sk-ant-api03-abcdef', sorry", "key '[hidden]', sorry"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [hidden]"),
        ("x-api-key: abcdef refused", "x-api-key: [hidden] refused"),
        ("task-force sk- stays", "task-force sk- stays"),
    ] {
        assert_eq!(failure(401, &[], &error("authentication_error", said)).message, kept);
        assert_eq!(failure(401, &[], said).message, kept);
    }
}
