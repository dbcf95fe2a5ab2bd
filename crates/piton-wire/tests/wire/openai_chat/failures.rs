//! What error answers mean.

use piton_core::event::FailureClass;
use piton_wire::Dialect as _;
use piton_wire::openai_chat::{Flavour, OpenAiChat};

fn failure(
    status: u16,
    headers: &[(&str, &str)],
    body: &str,
) -> (FailureClass, String, Option<u64>) {
    let header = |name: &str| {
        let found = headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let failure = OpenAiChat { flavour: Flavour::OpenAi }.failure(status, &header, body.as_bytes());
    (failure.class, failure.message, failure.retry_after_ms)
}

/// Status, body, what it means, what is said of it.
const FORMS: &[(u16, &str, FailureClass, &str)] = {
    use FailureClass as C;
    &[
        (401, r#"{"error":{"message":"No key","code":"invalid_api_key"}}"#, C::Auth, "No key"),
        (401, r#"{"detail":"Invalid API Key"}"#, C::Auth, "Invalid API Key"),
        (403, r#"{"error":{"message":"Forbidden","code":"forbidden"}}"#, C::Auth, "Forbidden"),
        (
            403,
            r#"{"error":{"code":403,"message":"m requires moderation"}}"#,
            C::ContentFilter,
            "m requires moderation",
        ),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#, C::Quota, "Insufficient Balance"),
        (429, r#"{"error":{"message":"Out","type":"insufficient_quota"}}"#, C::Quota, "Out"),
        (
            429,
            r#"{"error":{"message":"Slow","code":"rate_limit_exceeded"}}"#,
            C::RateLimited,
            "Slow",
        ),
        (429, "slow down", C::RateLimited, "slow down"),
        (
            400,
            r#"{"error":{"message":"Long","code":"context_length_exceeded"}}"#,
            C::ContextOverflow,
            "Long",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"Long","type":"exceed_context_size_error"}}"#,
            C::ContextOverflow,
            "Long",
        ),
        (
            500,
            r#"{"error":"the request exceeds the available context size"}"#,
            C::ContextOverflow,
            "the request exceeds the available context size",
        ),
        (413, "", C::ContextOverflow, "the provider answered with status 413"),
        (
            400,
            r#"{"error":{"message":"Filtered","code":"content_filter"}}"#,
            C::ContentFilter,
            "Filtered",
        ),
        (
            400,
            r#"{"object":"error","message":"Bad id","type":"invalid_request_error","code":"3280"}"#,
            C::InvalidRequest,
            "Bad id",
        ),
        (400, r#"{"code":"Client error","error":"Bad model"}"#, C::InvalidRequest, "Bad model"),
        (
            404,
            r#"{"error":{"message":"No model","code":"model_not_found"}}"#,
            C::InvalidRequest,
            "No model",
        ),
        (422, r#"{"detail":[{"msg":"extra"}]}"#, C::InvalidRequest, r#"[{"msg":"extra"}]"#),
        (
            400,
            r#"[{"error":{"code":400,"message":"In a list","status":"INVALID_ARGUMENT"}}]"#,
            C::InvalidRequest,
            "In a list",
        ),
        (500, r#"{"error":{"message":"Oops","type":"server_error"}}"#, C::Server, "Oops"),
        (
            502,
            "<html><body>Bad gateway</body></html>",
            C::Server,
            "the provider answered with status 502",
        ),
        (503, "no healthy upstream", C::Overloaded, "no healthy upstream"),
        (529, "{\"error\":{}}", C::Overloaded, "the provider answered with status 529"),
        (408, "", C::Server, "the provider answered with status 408"),
        (500, "{\"broken", C::Server, "{\"broken"),
        (301, "", C::Unknown, "the provider answered with status 301"),
        (
            429,
            r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"busy","provider_name":"P"}},"user_id":"u"}"#,
            C::RateLimited,
            "Provider returned error: busy",
        ),
    ]
};

// K46, K47, J50
#[test]
fn forms_of_errors() {
    for (status, body, class, message) in FORMS {
        let expected = (*class, (*message).to_owned(), None);
        assert_eq!(failure(*status, &[], body), expected, "{status} {body}");
    }
}

// J49
#[test]
fn waits() {
    let slow =
        r#"{"error":{"message":"Slow. Please try again in 1.5s.","code":"rate_limit_exceeded"}}"#;
    assert_eq!(failure(429, &[("retry-after", "7")], slow).2, Some(7000));
    assert_eq!(failure(429, &[], slow).2, Some(1500));
    assert_eq!(failure(503, &[("retry-after-ms", "20")], "").2, Some(20));
    assert_eq!(failure(401, &[("retry-after", "7")], "").2, None);
}

#[test]
fn the_server_may_say_whether_to_ask_again() {
    let class = |status, value| failure(status, &[("x-should-retry", value)], "").0;
    assert_eq!(class(400, "true"), FailureClass::Server);
    assert_eq!(class(500, "false"), FailureClass::Unknown);
    assert_eq!(class(429, "false"), FailureClass::Quota);
    assert_eq!(class(401, "true"), FailureClass::Auth);
    assert_eq!(class(500, "perhaps"), FailureClass::Server);
}

#[test]
fn messages_are_short_and_hold_no_keys() {
    let message = |text: &str| failure(400, &[], text).1;
    assert_eq!(
        message("Incorrect key: sk-proj-abcdef123456. See (sk-abcdefgh1) docs"),
        "Incorrect key: [hidden] See ([hidden]) docs"
    );
    assert_eq!(message("Bearer abc123 was refused"), "Bearer [hidden] was refused");
    assert_eq!(message("token Zm9vYmFyYmF6cXV4Zm9vYmFyOTk="), "token [hidden]=");
    assert_eq!(
        message("the model grok-4-1-fast-non-reasoning"),
        "the model grok-4-1-fast-non-reasoning"
    );
    assert!(message(&"word ".repeat(500)).chars().count() <= 300);
    assert_eq!(message(&"ä".repeat(500)).chars().count(), 300);
}
