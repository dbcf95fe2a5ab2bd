//! What error answers mean.

use expect_test::{Expect, expect};
use piton_wire::Dialect;
use piton_wire::gemini::Gemini;

fn check(status: u16, headers: &[(&str, &str)], body: &str, expected: Expect) {
    let header = |name: &str| {
        headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let failure = Gemini.failure(status, &header, body.as_bytes());
    assert!(failure.message.chars().count() <= 300);
    let wait = failure.retry_after_ms.map(|wait| format!(" after {wait} ms")).unwrap_or_default();
    expected.assert_eq(&format!("{:?}{wait}: {}\n", failure.class, failure.message));
}

fn error(code: u16, status: &str, message: &str, details: &str) -> String {
    format!(
        r#"{{"error":{{"code":{code},"message":"{message}","status":"{status}","details":[{details}]}}}}"#
    )
}

// K47, J50
#[test]
fn requests_that_will_never_pass() {
    check(
        400,
        &[],
        &error(400, "INVALID_ARGUMENT", "Please use a valid role: user, model.", ""),
        expect![[r#"
            InvalidRequest: INVALID_ARGUMENT 400: Please use a valid role: user, model.
        "#]],
    );
    check(
        404,
        &[],
        &error(404, "NOT_FOUND", "models/x is not found", ""),
        expect![[r#"
            InvalidRequest: NOT_FOUND 404: models/x is not found
        "#]],
    );
    check(
        400,
        &[],
        &error(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).",
            "",
        ),
        expect![[r#"
            ContextOverflow: INVALID_ARGUMENT 400: The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).
        "#]],
    );
    check(
        413,
        &[],
        "",
        expect![[r#"
        ContextOverflow: the provider answered with status 413
    "#]],
    );
    check(
        400,
        &[],
        &error(400, "INVALID_ARGUMENT", "The prompt was blocked by safety settings.", ""),
        expect![[r#"
            ContentFilter: INVALID_ARGUMENT 400: The prompt was blocked by safety settings.
        "#]],
    );
}

// K56
#[test]
fn keys_that_do_not_open() {
    check(
        400,
        &[],
        &error(
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}"#,
        ),
        expect![[r#"
            Auth: INVALID_ARGUMENT 400: API key not valid. Please pass a valid API key.
        "#]],
    );
    check(
        401,
        &[],
        &error(401, "UNAUTHENTICATED", "no", ""),
        expect!["Auth: UNAUTHENTICATED 401: no\n"],
    );
    check(
        403,
        &[],
        &error(403, "PERMISSION_DENIED", "no", ""),
        expect!["Auth: PERMISSION_DENIED 403: no\n"],
    );
}

// J49, J50: the wait stands in the body here; a day's quota is not waited for.
#[test]
fn limits_for_now_and_for_good() {
    check(
        429,
        &[],
        &error(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota. Please retry in 48.93s.",
            r#"{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]},{"retryDelay":"34.4s"}"#,
        ),
        expect![[r#"
            RateLimited after 34400 ms: RESOURCE_EXHAUSTED 429: You exceeded your current quota. Please retry in 48.93s.
        "#]],
    );
    check(
        429,
        &[],
        &error(429, "RESOURCE_EXHAUSTED", "Please retry in 48.93s.", ""),
        expect![[r#"
            RateLimited after 48930 ms: RESOURCE_EXHAUSTED 429: Please retry in 48.93s.
        "#]],
    );
    check(
        429,
        &[],
        &error(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota.",
            r#"{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}"#,
        ),
        expect![[r#"
            Quota: RESOURCE_EXHAUSTED 429: You exceeded your current quota.
        "#]],
    );
    check(
        403,
        &[],
        &error(403, "PERMISSION_DENIED", "Billing is off.", r#"{"reason":"BILLING_DISABLED"}"#),
        expect![[r#"
            Quota: PERMISSION_DENIED 403: Billing is off.
        "#]],
    );
}

#[test]
fn headers_say_how_long() {
    let body = error(503, "UNAVAILABLE", "The model is overloaded.", "");
    for headers in
        [&[("retry-after-ms", "1500"), ("retry-after", "9")][..], &[("retry-after", "1.5")]]
    {
        check(
            503,
            headers,
            &body,
            expect![[r#"
                Overloaded after 1500 ms: UNAVAILABLE 503: The model is overloaded.
            "#]],
        );
    }
    check(
        503,
        &[
            ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("date", "Sun, 06 Nov 1994 08:49:07 GMT"),
        ],
        &body,
        expect![[r#"
            Overloaded after 30000 ms: UNAVAILABLE 503: The model is overloaded.
        "#]],
    );
    check(
        503,
        &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
        &body,
        expect![[r#"
            Overloaded: UNAVAILABLE 503: The model is overloaded.
        "#]],
    );
}

// K46
#[test]
fn servers_that_fail() {
    check(500, &[], &error(500, "INTERNAL", "x", ""), expect!["Server: INTERNAL 500: x\n"]);
    check(
        504,
        &[],
        &error(504, "DEADLINE_EXCEEDED", "x", ""),
        expect!["Server: DEADLINE_EXCEEDED 504: x\n"],
    );
    check(
        408,
        &[],
        "",
        expect![[r#"
        Server: the provider answered with status 408
    "#]],
    );
    check(
        529,
        &[],
        "",
        expect![[r#"
        Overloaded: the provider answered with status 529
    "#]],
    );
    check(
        302,
        &[],
        "",
        expect![[r#"
        Unknown: the provider answered with status 302
    "#]],
    );
}

#[test]
fn bodies_of_every_shape() {
    let array = format!("[{}]", error(503, "UNAVAILABLE", "busy", ""));
    check(503, &[], &array, expect!["Overloaded: UNAVAILABLE 503: busy\n"]);
    check(
        502,
        &[],
        "<html>\n  <b>Bad Gateway</b>",
        expect![[r#"
            Server: status 502: <html> <b>Bad Gateway</b>
        "#]],
    );
    check(
        400,
        &[],
        r#"{"error":"bad"}"#,
        expect![[r#"
        InvalidRequest: status 400: bad
    "#]],
    );
    check(
        400,
        &[],
        r#"{"detail":"bad"}"#,
        expect![[r#"
        InvalidRequest: status 400: bad
    "#]],
    );
    check(
        400,
        &[],
        r#"{"message":"bad"}"#,
        expect![[r#"
        InvalidRequest: status 400: bad
    "#]],
    );
    check(
        400,
        &[],
        r#"{"odd":1}"#,
        expect![[r#"
            InvalidRequest: status 400: {"odd":1}
        "#]],
    );
    check(
        400,
        &[],
        "[]",
        expect![[r#"
        InvalidRequest: status 400: []
    "#]],
    );
}

#[test]
fn messages_are_short_and_hold_no_key() {
    let key = "AIzaSyNotARealKeyButAsLongAsOne";
    check(
        403,
        &[],
        &format!("GET /v1beta/models?key={key}&x=1 denied for {key}, asked by sk-0123456789"),
        expect![[r#"
            Auth: status 403: GET /v1beta/models?key=[hidden]&x=1 denied for [hidden], asked by [hidden]
        "#]],
    );
    let long = Gemini.failure(500, &|_| None, "ä ".repeat(5000).as_bytes()).message;
    assert_eq!(long.chars().count(), 300);
    assert!(long.ends_with('…'));
}
