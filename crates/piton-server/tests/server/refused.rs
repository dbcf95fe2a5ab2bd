//! Requests that are refused: with a status, a kind, and without any effect. `docs/security.md` is made
//! of them.

use std::fmt::Write as _;

use axum::body::{Body, Bytes};
use axum::http::Request;
use expect_test::expect_file;
use futures_util::StreamExt as _;
use piton_core::id::Timestamp;
use piton_server::Bearer;
use serde_json::{Value, json};

use crate::doors::sign_in;
use crate::stage::{HOST, Stage, told};

const TALK: &str = r#"{"steps":[{"say":"one"},{"say":"two"}]}"#;

/// A request, what it is answered with, and why.
struct Try {
    what: &'static str,
    method: &'static str,
    path: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Body,
    status: u16,
    kind: &'static str,
}

fn attempt(what: &'static str, status: u16, kind: &'static str) -> Try {
    let headers = vec![("host", HOST.into()), ("content-type", "application/json".into())];
    let body = Body::from(r#"{"title":"made by an attack"}"#);
    let (method, path) = ("POST", "/api/v1/conversations");
    Try { what, method, path, headers, body, status, kind }
}

impl Try {
    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
        self
    }

    /// Once more, beside those of the same name.
    fn and(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn at(mut self, method: &'static str, path: &'static str) -> Self {
        (self.method, self.path) = (method, path);
        self
    }

    fn body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }
}

/// Secrets that are known, and one that was.
struct Secrets<'a> {
    token: &'a str,
    cookie: &'a str,
    revoked: &'a str,
}

fn tries(secrets: &Secrets<'_>) -> Vec<Try> {
    let mut tries = strangers(secrets);
    tries.extend(sites(secrets));
    tries.extend(paths(secrets));
    tries.extend(bodies(secrets));
    tries
}

fn signed(secrets: &Secrets<'_>) -> impl Fn(&'static str, u16, &'static str) -> Try {
    let bearer = format!("Bearer {}", secrets.token);
    move |what, status, kind| attempt(what, status, kind).with("authorization", &*bearer)
}

fn strangers(secrets: &Secrets<'_>) -> Vec<Try> {
    let revoked = format!("Bearer {}", secrets.revoked);
    let own = format!("http://{HOST}");
    vec![
        attempt("no token", 401, "no_token"),
        attempt("a wrong token", 401, "wrong_token").with("authorization", "Bearer abc"),
        attempt("an empty token", 401, "wrong_token").with("authorization", "Bearer "),
        attempt("another scheme", 401, "no_token").with("authorization", "Basic abc"),
        attempt("a token that was revoked", 401, "wrong_token").with("authorization", revoked),
        attempt("a wrong cookie", 401, "wrong_token")
            .with("cookie", "piton=abc")
            .with("origin", own),
        attempt("a token in the address", 401, "no_token").at("GET", "/api/v1/models?token=x"),
        attempt("a code that was never given", 401, "wrong_token").at("GET", "/sign-in?code=abc"),
        attempt("no such path without a token", 401, "no_token").at("GET", "/none"),
    ]
}

fn sites(secrets: &Secrets<'_>) -> Vec<Try> {
    let signed = signed(secrets);
    let (cookie, own) = (format!("other=1; piton={}", secrets.cookie), format!("http://{HOST}"));
    let browser = |what, status, kind| attempt(what, status, kind).with("cookie", &*cookie);
    vec![
        signed("a foreign origin", 403, "foreign_origin").with("origin", "https://evil.test"),
        signed("an origin without a name", 403, "foreign_origin").with("origin", "null"),
        signed("the same host at another port", 403, "foreign_origin")
            .with("origin", "http://localhost:1"),
        browser("a form of another site", 403, "foreign_origin")
            .with("sec-fetch-site", "cross-site")
            .with("content-type", "application/x-www-form-urlencoded"),
        browser("a form of another site, for the page", 403, "foreign_origin")
            .at("POST", "/c/ID/say")
            .with("sec-fetch-site", "cross-site")
            .with("content-type", "application/x-www-form-urlencoded")
            .body("text=made+by+an+attack"),
        browser("a browser that does not say where it is", 403, "foreign_origin"),
        browser("a form of our own page with the wrong type", 415, "wrong_type")
            .with("origin", &*own)
            .with("content-type", "text/plain"),
        browser("a page of another site that reads", 403, "foreign_origin")
            .at("GET", "/api/v1/conversations")
            .with("sec-fetch-site", "cross-site"),
        signed("a foreign host", 403, "foreign_host").with("host", "evil.test"),
        signed("a name that leads here (rebinding)", 403, "foreign_host")
            .with("host", "localhost.evil.test"),
        signed("a foreign host at our port", 403, "foreign_host").with("host", "evil.test:4000"),
        signed("no host", 403, "foreign_host").with("host", ""),
        signed("two hosts", 400, "bad_input").and("host", "evil.test"),
        signed("two hosts, the foreign one first", 400, "bad_input")
            .with("host", "evil.test")
            .and("host", HOST),
        signed("a whole address of another host", 403, "foreign_host")
            .at("POST", "http://evil.test/api/v1/conversations"),
        signed("a whole address of ours with a foreign host", 403, "foreign_host")
            .at("POST", "http://localhost:4000/api/v1/conversations")
            .with("host", "evil.test"),
        signed("two origins, one of them foreign", 403, "foreign_origin")
            .with("origin", &*own)
            .and("origin", "https://evil.test"),
        signed("two origins, the foreign one first", 403, "foreign_origin")
            .with("origin", "https://evil.test")
            .and("origin", &*own),
        signed("a websocket", 400, "upgrade")
            .at("GET", "/api/v1/events?list=1")
            .with("connection", "upgrade")
            .with("upgrade", "websocket"),
    ]
}

fn paths(secrets: &Secrets<'_>) -> Vec<Try> {
    let signed = signed(secrets);
    vec![
        signed("a wrong method", 405, "wrong_method").at("PUT", "/api/v1/conversations"),
        signed("a method that shows headers", 405, "wrong_method").at("TRACE", "/healthz"),
        signed("no such path", 404, "unknown_path").at("GET", "/api/v1/none"),
        signed("no such verb", 404, "unknown_path")
            .at("POST", "/api/v1/conversations/ID/levitate")
            .body(""),
        signed("no such conversation", 404, "unknown_conversation")
            .at("POST", "/api/v1/conversations/abcdefghjk/prompt")
            .body(r#"{"text":"x"}"#),
        signed("a path that leads out", 404, "unknown_path").at("GET", "/api/v1/../../etc/passwd"),
        signed("the same, hidden", 404, "not_found")
            .at("GET", "/api/v1/blobs/..%2f..%2fetc%2fpasswd"),
        signed("the same, for a file of the page", 404, "not_found")
            .at("GET", "/assets/..%2f..%2fetc%2fpasswd"),
        signed("a directory that is not open", 403, "closed_directory")
            .body(r#"{"directory":"/etc"}"#),
        signed("a directory that is not open, hidden", 403, "closed_directory")
            .at("POST", "/api/v1/conversations/ID/commands")
            .body(
                r#"{"v":1,"id":"c1","command":{"kind":"configure","change":
                {"permissions":{"mode":"ask","directories":["/etc"]}}}}"#,
            ),
        signed("a cursor of the list that is none", 400, "bad_input")
            .at("GET", "/api/v1/conversations?after=xyz"),
    ]
}

fn bodies(secrets: &Secrets<'_>) -> Vec<Try> {
    let signed = signed(secrets);
    let upload = |what, status, kind| signed(what, status, kind).at("POST", "/api/v1/blobs");
    let large = "x".repeat(1024 * 1024 + 1);
    vec![
        signed("an oversized body", 413, "too_large").body(large),
        signed("no JSON", 400, "bad_input").body("{"),
        signed("no text", 400, "bad_input").body(vec![0xff, 0xfe]),
        signed("an unknown field", 400, "bad_input").body(r#"{"titel":"x"}"#),
        signed("a body that never ends", 408, "too_slow").body(endless()),
        signed("a body that breaks off", 400, "bad_input").body(broken()),
        upload("an upload that never ends", 408, "too_slow").body(endless()),
        upload("an upload that breaks off", 400, "bad_input").body(broken()),
        upload("an upload of nothing", 400, "bad_input").body(""),
        upload("an oversized upload", 413, "too_large").with("content-length", "99999999999"),
        upload("an oversized upload that does not say so", 413, "too_large")
            .body(Body::from_stream(flood())),
    ]
}

/// A body of which nothing comes.
fn endless() -> Body {
    Body::from_stream(futures_util::stream::pending::<Result<&[u8], std::io::Error>>())
}

/// More than a file may have, piece by piece.
fn flood() -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> {
    const PIECE: &[u8] = &[b'x'; 64 * 1024];
    futures_util::stream::iter((0..225).map(|_| Ok(Bytes::from_static(PIECE))))
}

fn broken() -> Body {
    let begun = futures_util::stream::iter([Ok(br#"{"title":"#.as_slice())]);
    let end = futures_util::stream::iter([Err(std::io::Error::other("gone"))]);
    Body::from_stream(begun.chain(end))
}

/// What a request could have changed.
async fn effects(stage: &Stage, id: &str) -> Value {
    let conversation = stage.get(&format!("/conversations/{id}")).await;
    let list = stage.get("/conversations").await;
    let tokens: Vec<_> = stage.tokens().all().unwrap().into_iter().map(|row| row.name).collect();
    json!([conversation, list, tokens])
}

// X1, X3, X9, X18: must show 5.
#[tokio::test(start_paused = true)]
async fn refused_requests_have_a_status_a_kind_and_no_effect() {
    let stage = Stage::new(TALK);
    let cookie = sign_in(&stage).await;
    let revoked = stage.tokens().add("gone", Bearer::Program, Timestamp(0)).unwrap();
    stage.tokens().revoke("gone").unwrap();
    let id = stage.said("go").await;
    let before = effects(&stage, &id).await;
    let mut rows = String::new();
    for attempt in tries(&Secrets { token: &stage.token, cookie: &cookie, revoked: &revoked }) {
        let Try { what, method, path, headers, body, status, kind } = attempt;
        let mut request = Request::builder().method(method).uri(path.replace("ID", &id));
        for (name, value) in headers.into_iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(name, value);
        }
        let answer = stage.send(request.body(body).unwrap()).await;
        assert!(answer.headers().contains_key("content-security-policy"), "{what}");
        let (found, body) = told(answer).await;
        let found = (found.as_u16(), &body["error"]["kind"]);
        assert_eq!(found, (status, &json!(kind)), "{what}: {body}");
        assert_eq!(effects(&stage, &id).await, before, "{what}");
        writeln!(rows, "| {what} | `{method} {path}` | {status} `{kind}` |").unwrap();
    }
    let page = stage.send(stage.request("GET", "/", Body::empty())).await;
    let mut headers = String::new();
    for (name, value) in page.headers().iter().filter(|(name, _)| *name != "content-length") {
        writeln!(headers, "| `{name}` | `{}` |", value.to_str().unwrap()).unwrap();
    }
    expect_file!["../../../../docs/security.md"].assert_eq(&document(&rows, &headers));
}

/// The page about it.
fn document(rows: &str, headers: &str) -> String {
    format!(
        "# What `piton serve` refuses\n\n\
         Each row is a request that a test sends, with the answer that it gets. After each of them \
         the test compares the\nconversation, the list and the tokens with what they were before: \
         no request of this table has any effect.\nThis page is made by that test \
         (`crates/piton-server/tests/server/refused.rs`); who is let in is told by \
         [serve.md](serve.md).\n\n\
         | request | sent as | answer |\n|---|---|---|\n{rows}\n\
         A head that is not whole after 10 s closes its connection. A file name is taken without \
         the path in it:\n`../../etc/passwd` is kept as `passwd`. A cursor of events from the \
         future is answered with `reset` and everything anew.\n\n\
         ## Headers of the page\n\n| header | value |\n|---|---|\n{headers}"
    )
}

/// What is taken although it looks odd, and what comes of it.
#[tokio::test(start_paused = true)]
async fn odd_names_and_cursors_are_harmless() {
    let stage = Stage::new(TALK);
    let id = stage.begin().await;
    let request = stage.request("POST", "/api/v1/blobs", Body::from("root:x"));
    let (_, kept) = told(stage.send(request).await).await;
    let file = json!({ "blob": kept["blob"], "name": "../../etc/passwd" });
    let message = json!({ "text": "look", "files": [file], "wait": true });
    stage.post(&format!("/conversations/{id}/prompt"), message).await;
    let said = stage.get(&format!("/conversations/{id}/messages")).await;
    assert_eq!(said["messages"][0]["message"]["parts"][1]["name"], "passwd", "{said}");
    // A cursor from the future is no cursor of this store: everything is told anew.
    let query = format!("c={id}&list=1&after=list:99999999;{id}:99999999");
    let mut listener = stage.listen(&query, None).await;
    let names = ["hello", "reset", "list", "reset", "snapshot"];
    for name in names {
        assert_eq!(listener.next().await.unwrap().name, name);
    }
}
