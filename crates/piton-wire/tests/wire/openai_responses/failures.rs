//! What error answers mean: status, headers and body in, class and wait out.

use expect_test::{Expect, expect};
use piton_wire::Dialect;
use piton_wire::openai_responses::OpenAiResponses;

fn failure(status: u16, headers: &[(&str, &str)], body: &str) -> String {
    let header = |name: &str| {
        let found = headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let failure = OpenAiResponses::Public.failure(status, &header, body.as_bytes());
    assert_eq!(OpenAiResponses::Codex.failure(status, &header, body.as_bytes()), failure);
    assert!(failure.message.chars().count() <= 300);
    let wait = failure.retry_after_ms.map(|ms| format!(" after {ms} ms")).unwrap_or_default();
    format!("{:?}{wait}: {}", failure.class, failure.message)
}

fn check(status: u16, headers: &[(&str, &str)], body: &str, expected: Expect) {
    expected.assert_eq(&failure(status, headers, body));
}

fn class(status: u16, body: &str) -> String {
    failure(status, &[], body).split([' ', ':']).next().unwrap().to_owned()
}

fn error(code: &str, message: &str) -> String {
    serde_json::json!({"error": {"code": code, "message": message, "type": "x"}}).to_string()
}

// K46, K47, J50
#[test]
fn codes_decide() {
    for (status, code, expected) in [
        (429, "rate_limit_exceeded", "RateLimited"),
        (429, "insufficient_quota", "Quota"),
        (429, "usage_limit_reached", "Quota"),
        (429, "usage_not_included", "Quota"),
        (400, "context_length_exceeded", "ContextOverflow"),
        (500, "server_is_overloaded", "Overloaded"),
        (503, "slow_down", "Overloaded"),
        (400, "server_error", "Server"),
        (400, "cyber_policy", "ContentFilter"),
        (400, "bio_policy", "ContentFilter"),
        (400, "misalignment_policy_violation", "ContentFilter"),
        (400, "invalid_prompt", "InvalidRequest"),
        (400, "invalid_encrypted_content", "InvalidRequest"),
        (404, "previous_response_not_found", "InvalidRequest"),
        (400, "model_not_found", "InvalidRequest"),
        (401, "invalid_api_key", "Auth"),
    ] {
        assert_eq!(class(status, &error(code, "Said so.")), expected, "{code}");
    }
    let flagged = error("invalid_prompt", "Your prompt was flagged.");
    assert_eq!(class(400, &flagged), "ContentFilter");
    assert_eq!(
        class(429, &error("rate_limit_exceeded", "Request too large for x")),
        "ContextOverflow"
    );
}

// K56: a wrong key is told apart from everything else
#[test]
fn statuses_decide_where_nothing_is_said() {
    for (status, expected) in [
        (400, "InvalidRequest"),
        (401, "Auth"),
        (402, "Quota"),
        (403, "Auth"),
        (404, "InvalidRequest"),
        (408, "Server"),
        (409, "Server"),
        (413, "ContextOverflow"),
        (422, "InvalidRequest"),
        (429, "RateLimited"),
        (500, "Server"),
        (502, "Server"),
        (503, "Overloaded"),
        (504, "Server"),
        (529, "Overloaded"),
        (302, "Unknown"),
    ] {
        assert_eq!(class(status, ""), expected, "{status}");
    }
}

#[test]
fn bodies_take_many_forms() {
    check(
        401,
        &[],
        r#"{"detail":"Could not parse your authentication token."}"#,
        expect!["Auth: status 401: Could not parse your authentication token."],
    );
    check(
        422,
        &[],
        r#"{"detail":[{"msg":"field required"}]}"#,
        expect!["InvalidRequest: status 422: field required"],
    );
    check(
        400,
        &[],
        r#"{"code":"invalid-argument","error":"Incorrect API key provided."}"#,
        expect!["Auth: status 400: Incorrect API key provided."],
    );
    check(
        500,
        &[],
        r#"[{"error":{"message":"In a list."}}]"#,
        expect!["Server: status 500: In a list."],
    );
    check(400, &[], r#"{"message":"Bare."}"#, expect!["InvalidRequest: status 400: Bare."]);
    check(400, &[], r#""Just text.""#, expect!["InvalidRequest: status 400: Just text."]);
    check(
        502,
        &[],
        "<html><title>Bad gateway</title></html>",
        expect!["Server: the provider answered with status 502"],
    );
    check(
        503,
        &[],
        "upstream connect\n error",
        expect!["Overloaded: status 503: upstream connect error"],
    );
    check(500, &[], r#"{"error":null}"#, expect!["Server: the provider answered with status 500"]);
}

// J49
#[test]
fn waits_are_read_from_headers_and_words() {
    let limited = error("rate_limit_exceeded", "Slow.");
    check(
        429,
        &[("retry-after-ms", "1500"), ("retry-after", "9")],
        &limited,
        expect!["RateLimited after 1500 ms: status 429: Slow."],
    );
    check(
        429,
        &[("retry-after", "2.5")],
        &limited,
        expect!["RateLimited after 2500 ms: status 429: Slow."],
    );
    let dates = [
        ("date", "Thu, 29 Feb 2024 23:59:50 GMT"),
        ("retry-after", "Fri, 01 Mar 2024 00:00:10 GMT"),
    ];
    check(
        503,
        &dates,
        "",
        expect!["Overloaded after 20000 ms: the provider answered with status 503"],
    );
    check(
        503,
        &[("retry-after", "Fri, 01 Mar 2024 00:00:10 GMT")],
        "",
        expect!["Overloaded: the provider answered with status 503"],
    );
    check(
        503,
        &[("retry-after", "soon"), ("retry-after-ms", "-1")],
        "",
        expect!["Overloaded: the provider answered with status 503"],
    );
    for (words, expected) in [
        ("Please try again in 11.054s. Visit", " after 11054 ms"),
        ("Please try again in 28ms.", " after 28 ms"),
        ("Please try again in 1m30.5s.", " after 90500 ms"),
        ("Please try again in 20 seconds.", " after 20000 ms"),
        ("Please try again in a while.", ""),
    ] {
        let said = failure(429, &[], &error("rate_limit_exceeded", words));
        assert!(said.starts_with(&format!("RateLimited{expected}: ")), "{said}");
    }
    let resets =
        r#"{"error":{"type":"usage_limit_reached","message":"Spent.","resets_in_seconds":60}}"#;
    check(429, &[], resets, expect!["Quota after 60000 ms: status 429: Spent."]);
}

#[test]
fn a_server_may_say_whether_to_try_again() {
    check(
        500,
        &[("x-should-retry", "false")],
        "",
        expect!["Unknown: the provider answered with status 500"],
    );
    check(
        429,
        &[("x-should-retry", "false")],
        "",
        expect!["Quota: the provider answered with status 429"],
    );
    check(
        400,
        &[("x-should-retry", "true")],
        "",
        expect!["Server: the provider answered with status 400"],
    );
}

#[test]
fn messages_are_short_and_keep_no_secrets() {
    let secrets = "Incorrect API key provided: sk-proj-abc123. Header Bearer abc, item \
        rs_68c42de022c881948db7ed1cc2529f2e0202c9ad459e0d23, content gAAAAABo=.";
    check(
        401,
        &[],
        &error("invalid_api_key", secrets),
        expect![
            "Auth: status 401: Incorrect API key provided: [hidden] Header Bearer [hidden] item [hidden], content [hidden]=."
        ],
    );
    let long = failure(400, &[], &"é ".repeat(5000));
    assert!(long.ends_with('…'));
}
