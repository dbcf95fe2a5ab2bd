//! The doors: who is let in, and that a refused request has no effect.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

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

    fn at(mut self, method: &'static str, path: &'static str) -> Self {
        (self.method, self.path) = (method, path);
        self
    }

    fn body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }
}

fn tries(token: &str, cookie: &str) -> Vec<Try> {
    let bearer = format!("Bearer {token}");
    let (cookie, own) = (format!("other=1; piton={cookie}"), format!("http://{HOST}"));
    let signed = |what, status, kind| attempt(what, status, kind).with("authorization", &*bearer);
    let browser = |what, status, kind| attempt(what, status, kind).with("cookie", &*cookie);
    let large = "x".repeat(1024 * 1024 + 1);
    vec![
        attempt("no token", 401, "no_token"),
        attempt("a wrong token", 401, "wrong_token").with("authorization", "Bearer abc"),
        attempt("an empty token", 401, "wrong_token").with("authorization", "Bearer "),
        attempt("another scheme", 401, "no_token").with("authorization", "Basic abc"),
        attempt("a wrong cookie", 401, "wrong_token")
            .with("cookie", "piton=abc")
            .with("origin", &*own),
        attempt("a token in the address", 401, "no_token").at("GET", "/api/v1/models?token=x"),
        signed("a foreign origin", 403, "foreign_origin").with("origin", "https://evil.test"),
        signed("an origin without a name", 403, "foreign_origin").with("origin", "null"),
        signed("the same host at another port", 403, "foreign_origin")
            .with("origin", "http://localhost:1"),
        browser("a form of another site", 403, "foreign_origin")
            .with("sec-fetch-site", "cross-site")
            .with("content-type", "application/x-www-form-urlencoded"),
        browser("a browser that does not say where it is", 403, "foreign_origin"),
        browser("a form of our own page with the wrong type", 415, "wrong_type")
            .with("origin", &*own)
            .with("content-type", "text/plain"),
        browser("a page of another site that reads", 403, "foreign_origin")
            .at("GET", "/api/v1/conversations")
            .with("sec-fetch-site", "cross-site"),
        signed("a foreign host", 403, "foreign_host").with("host", "evil.test"),
        signed("a name that leads here", 403, "foreign_host").with("host", "localhost.evil.test"),
        signed("a foreign host at our port", 403, "foreign_host").with("host", "evil.test:4000"),
        signed("no host", 403, "foreign_host").with("host", ""),
        signed("a websocket", 400, "upgrade")
            .at("GET", "/api/v1/events?list=1")
            .with("connection", "upgrade")
            .with("upgrade", "websocket"),
        signed("a wrong method", 405, "wrong_method").at("PUT", "/api/v1/conversations"),
        signed("a method that shows headers", 405, "wrong_method").at("TRACE", "/healthz"),
        signed("no such path", 404, "unknown_path").at("GET", "/api/v1/none"),
        signed("a path that leads out", 404, "unknown_path").at("GET", "/api/v1/../../etc/passwd"),
        signed("the same, hidden", 404, "not_found")
            .at("GET", "/api/v1/blobs/..%2f..%2fetc%2fpasswd"),
        attempt("no such path without a token", 401, "no_token").at("GET", "/none"),
        signed("an oversized body", 413, "too_large").body(large),
        signed("no JSON", 400, "bad_input").body("{"),
        signed("no text", 400, "bad_input").body(vec![0xff, 0xfe]),
        signed("an unknown field", 400, "bad_input").body(r#"{"titel":"x"}"#),
        signed("a body that never ends", 408, "too_slow").body(Body::from_stream(
            futures_util::stream::pending::<Result<&[u8], std::io::Error>>(),
        )),
        signed("a body that breaks off", 400, "bad_input").body(broken()),
        signed("an upload that breaks off", 400, "bad_input")
            .at("POST", "/api/v1/blobs")
            .body(broken()),
        signed("an oversized upload", 413, "too_large")
            .at("POST", "/api/v1/blobs")
            .with("content-length", "99999999999"),
    ]
}

fn broken() -> Body {
    let begun = futures_util::stream::iter([Ok(br#"{"title":"#.as_slice())]);
    let end = futures_util::stream::iter([Err(std::io::Error::other("gone"))]);
    Body::from_stream(begun.chain(end))
}

// X1, X3, X9, X18: must show 5.
#[tokio::test(start_paused = true)]
async fn refused_requests_have_a_status_a_kind_and_no_effect() {
    let stage = Stage::new(TALK);
    let cookie = sign_in(&stage).await;
    for attempt in tries(&stage.token, &cookie) {
        let Try { what, method, path, headers, body, status, kind } = attempt;
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers.into_iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(name, value);
        }
        let answer = stage.send(request.body(body).unwrap()).await;
        assert!(answer.headers().contains_key("content-security-policy"), "{what}");
        let (found, body) = told(answer).await;
        assert_eq!(
            (found.as_u16(), &body["error"]["kind"]),
            (status, &json!(kind)),
            "{what}: {body}"
        );
    }
    assert_eq!(stage.get("/conversations").await["total"], 0);
    let tokens = stage.tokens().all().unwrap();
    assert_eq!(tokens.len(), 2, "{tokens:?}");
}

/// The secret in the cookie of a browser that used a code.
async fn sign_in(stage: &Stage) -> String {
    let code = stage.code();
    let get = |code: &str| {
        let path = format!("/sign-in?code={code}");
        Request::builder().uri(path).header("host", HOST).body(Body::empty()).unwrap()
    };
    let answer = stage.send(get(&code)).await;
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    // Once is once.
    let (status, _) = told(stage.send(get(&code)).await).await;
    assert_eq!(status.as_u16(), 401);
    cookie.strip_prefix("piton=").unwrap().split(';').next().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_browser_with_its_cookie_and_a_program_with_its_token_are_let_in() {
    let stage = Stage::new(TALK);
    let cookie = sign_in(&stage).await;
    for host in [HOST, "127.0.0.1:9", "[::1]:80", "LOCALHOST", "piton.test:443"] {
        let request = Request::builder()
            .method("POST")
            .uri("/api/v1/conversations")
            .header("host", host)
            .header("origin", format!("http://{host}"))
            .header("sec-fetch-site", "same-origin")
            .header("cookie", format!("piton={cookie}"))
            .body(Body::empty())
            .unwrap();
        let (status, body) = told(stage.send(request).await).await;
        assert_eq!(status.as_u16(), 201, "{host}: {body}");
    }
    // A revoked one is out at the next request.
    let name =
        stage.tokens().all().unwrap().into_iter().find(|row| row.name != "test").unwrap().name;
    stage.tokens().revoke(&name).unwrap();
    let request = Request::builder()
        .uri("/api/v1/conversations")
        .header("host", HOST)
        .header("cookie", format!("piton={cookie}"));
    let (status, _) = told(stage.send(request.body(Body::empty()).unwrap()).await).await;
    assert_eq!(status.as_u16(), 401);
}

#[tokio::test(start_paused = true)]
async fn health_needs_no_token_and_figures_do() {
    let stage = Stage::new(TALK);
    stage.said("go").await;
    let get = |path: &str| Request::builder().uri(path).header("host", HOST);
    let (status, body) = told(stage.send(get("/healthz").body(Body::empty()).unwrap()).await).await;
    assert_eq!((status.as_u16(), body), (200, json!({ "status": "ok" })));
    let (status, _) = told(stage.send(get("/metrics").body(Body::empty()).unwrap()).await).await;
    assert_eq!(status.as_u16(), 401);
    let request = stage.request("GET", "/metrics", Body::empty());
    let (_, Value::String(text)) = told(stage.send(request).await).await else { panic!() };
    assert!(text.contains("\npiton_commands_total 2\n"), "{text}");
    assert!(text.contains("# TYPE piton_streams_open gauge\n"), "{text}");
}

/// Everything that comes back on a connection until it is closed.
async fn spoken(address: std::net::SocketAddr, said: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(said).await.unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).await.unwrap();
    String::from_utf8_lossy(&heard).into_owned()
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_says_nothing_whole_is_closed() {
    let stage = Stage::new(TALK);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = stage.server.clone();
    let serving = tokio::spawn(async move { server.serve(listener).await });
    // The clock runs while nothing else does, so the limits are reached at once.
    let heard = spoken(address, b"GET /healthz HT").await;
    assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 408"), "{heard}");
    let heard = spoken(address, b"\x16\x03\x01 not HTTP\r\n\r\n").await;
    assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 400"), "{heard}");
    let whole = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(spoken(address, whole).await.starts_with("HTTP/1.1 200"));
    stage.server.stop();
    tokio::time::timeout(Duration::from_secs(10), serving).await.unwrap().unwrap();
}
