//! The doors: who is let in, and what a connection may do.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::stage::{HOST, Stage, told};

const TALK: &str = r#"{"steps":[{"say":"one"},{"say":"two"}]}"#;

/// The secret in the cookie of a browser that used a code.
pub(crate) async fn sign_in(stage: &Stage) -> String {
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
async fn who_only_looks_at_the_address_does_not_use_its_code_up() {
    let stage = Stage::new(TALK);
    let path = format!("/sign-in?code={}", stage.code());
    let ask = |method: &str| {
        let request = Request::builder().method(method).uri(&path).header("host", HOST);
        request.body(Body::empty()).unwrap()
    };
    let looked = stage.send(ask("HEAD")).await;
    assert_eq!(looked.status().as_u16(), 200);
    assert!(!looked.headers().contains_key("set-cookie"));
    assert!(stage.send(ask("GET")).await.headers().contains_key("set-cookie"));
}

#[tokio::test(start_paused = true)]
async fn the_address_that_is_listened_on_is_a_name_of_the_server_and_no_other_address_is() {
    let stage = Stage::new(TALK);
    let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = stage.server.clone();
    let serving = tokio::spawn(async move { server.serve(listener).await });
    for (host, status) in [
        (address.to_string(), "200"),
        ("127.0.0.2".into(), "200"),
        ("localhost".into(), "200"),
        ("127.0.0.3".into(), "403"),
    ] {
        let whole = format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let heard = spoken(address, whole.as_bytes()).await;
        assert!(heard.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {heard}");
    }
    stage.server.stop();
    tokio::time::timeout(Duration::from_secs(10), serving).await.unwrap().unwrap();
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
