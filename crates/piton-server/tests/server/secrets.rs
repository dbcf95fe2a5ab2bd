//! Secrets stay where they are: no answer and no line of the log has one.

use std::io::Write;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::doors::sign_in;
use crate::stage::{HOST, Stage};

const TALK: &str = r#"{"steps":[{"say":"one"},{"say":"two"}]}"#;
/// A key in the environment.
const KEY: &str = "sk-ant-api03-0123456789abcdefghijklmnop";
/// A key, a password and a query in the settings.
const SETTINGS: &str = r#"
[providers.work]
dialect = "openai-chat"
base_url = "https://person:hunter2hunter2@models.test/v1?key=querysecretquery"
headers = { "x-key" = "headersecretheader" }

[serve]
resume = false
"#;
const IN_SETTINGS: [&str; 3] = ["hunter2hunter2", "querysecretquery", "headersecretheader"];

/// The log, kept in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// Headers and body of the answer to a request.
async fn heard(stage: &Stage, request: Request<Body>) -> String {
    let answer = stage.send(request).await;
    let headers: HeaderMap = answer.headers().clone();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    format!("{headers:?}\n{}", String::from_utf8_lossy(&body))
}

/// Everything that the API and the page answer about one conversation, well or badly asked.
async fn everything(stage: &Stage, id: &str) -> Vec<(String, String)> {
    let mut heard_all = Vec::new();
    let request = stage.request("GET", "/api/openapi.json", Body::empty());
    let described = heard(stage, request).await;
    let api: Value = serde_json::from_str(described.split_once('\n').unwrap().1).unwrap();
    heard_all.push(("/api/openapi.json".to_owned(), described));
    let mut asked: Vec<(String, String, Body)> = Vec::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        if path.ends_with("/events") {
            continue;
        }
        let mut real = path.replace("{id}", id).replace("{conversation}", id);
        for part in ["{question}", "{message}", "{call}", "{blob}"] {
            real = real.replace(part, "1.1.0");
        }
        let real = real.replace("{verb}", "continue");
        let query = if path.ends_with("/search") { "?q=key" } else { "" };
        for method in methods.as_object().unwrap().keys() {
            asked.push((method.to_uppercase(), format!("{real}{query}"), Body::empty()));
            asked.push((method.to_uppercase(), real.clone(), Body::from("{\"no\":1}")));
        }
    }
    for path in ["/", "/new", "/search?q=key", "/metrics", "/healthz", "/none"] {
        asked.push(("GET".into(), path.into(), Body::empty()));
    }
    asked.push(("GET".into(), format!("/c/{id}"), Body::empty()));
    for (method, path, body) in asked {
        let answer = heard(stage, stage.request(&method, &path, body)).await;
        heard_all.push((format!("{method} {path}"), answer));
    }
    heard_all
}

/// Writes the log down as long as the guard lives.
fn watch(log: &Log, level: tracing::Level) -> tracing::subscriber::DefaultGuard {
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_default(subscriber)
}

#[tokio::test(start_paused = true)]
async fn each_refused_request_is_one_line_of_the_log_with_the_id_of_its_answer() {
    let log = Log::default();
    let _watched = watch(&log, tracing::Level::WARN);
    let stage = Stage::new(TALK);
    for (method, path, body, status) in [
        ("GET", "/conversations?limit=querysecretquery", "", 400),
        ("GET", "/none", "", 404),
        ("GET", "/conversations/abcdefghjk", "", 404),
        ("PUT", "/conversations", "", 405),
        ("POST", "/conversations", "{\"id\":\"ABC\"}", 400),
        ("POST", "/conversations", "{\"directory\":\"/etc\"}", 403),
    ] {
        let request = stage.request(method, &format!("/api/v1{path}"), Body::from(body));
        let (found, told) = crate::stage::told(stage.send(request).await).await;
        assert_eq!(found.as_u16(), status, "{method} {path}");
        let id = told["error"]["id"].as_str().unwrap();
        let text = log.text();
        let lines: Vec<_> = text.lines().filter(|line| line.contains(id)).collect();
        let [line] = lines.as_slice() else { panic!("{method} {path}: {lines:?}") };
        let path = path.split('?').next().unwrap();
        for part in [method, &format!("/api/v1{path}"), &format!("status={status}"), "kind="] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    assert!(!log.text().contains("querysecretquery"), "{}", log.text());
}

#[tokio::test(start_paused = true)]
async fn no_answer_and_no_line_of_the_log_has_a_secret() {
    let log = Log::default();
    let _watched = watch(&log, tracing::Level::TRACE);
    let stage = Stage::with(TALK, SETTINGS, vec![("ANTHROPIC_API_KEY".into(), KEY.into())]);
    let cookie = sign_in(&stage).await;
    let id = stage.said("go").await;
    let mut answers = everything(&stage, &id).await;
    let mut listener = stage.listen(&format!("c={id}&list=1"), None).await;
    for _ in 0..3 {
        let event = listener.next().await.unwrap();
        answers.push((event.name.clone(), event.data.to_string()));
    }
    // Requests whose secrets are refused are told about, without them.
    for (name, value) in [
        ("authorization", format!("Bearer {cookie}x")),
        ("cookie", format!("piton={}x", stage.token)),
    ] {
        let request = Request::builder().uri("/api/v1/models?token=querysecretquery");
        let request = request.header("host", HOST).header(name, value).body(Body::empty());
        answers.push((name.into(), heard(&stage, request.unwrap()).await));
    }
    let settings = stage.get("/settings").await.to_string();
    assert!(settings.contains("models.test"), "the settings are shown: {settings}");
    let models = stage.get("/models").await;
    let providers = models["providers"].as_array().unwrap();
    let ready = json!({ "name": "anthropic", "ready": true });
    assert!(providers.contains(&ready), "the key is in use: {models}");
    assert!(60 < answers.len(), "{}", answers.len());
    let told = log.text();
    assert!(told.contains("request refused"), "{told}");
    answers.push(("the log".into(), told));
    let tokens = [stage.token.as_str(), cookie.as_str(), KEY];
    for secret in tokens.into_iter().chain(IN_SETTINGS) {
        for (what, answer) in &answers {
            assert!(!answer.contains(secret), "{what} has {secret}");
        }
    }
}
