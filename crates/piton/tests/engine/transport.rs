//! Models over real HTTP on loopback: a server that answers as told, byte for byte.

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use piton::model::{ModelFailure, OneModel};
use piton::transport::{Auth, Endpoint, HttpModel, KeySource, Secret};
use piton::{Engine, NewMessage, OnIncomplete};
use piton_core::event::{BreakReason, Event, FailureClass, Limits, ModelRef};
use piton_core::outcome::{Cause, Ending};
use piton_core::state::Config;
use piton_proof::world::{World, world_tools};
use piton_store::{Journal, MemoryJournal};
use piton_wire::anthropic::Anthropic;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::{Ask, Dialect};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A server that gives each request the next answer, and keeps what it was sent.
pub(crate) struct Server {
    pub(crate) base_url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heard = seen.clone();
        tokio::spawn(async move {
            for answer in answers {
                let (mut socket, _) = listener.accept().await.unwrap();
                let request = read_request(&mut socket).await;
                heard.lock().unwrap().push(request);
                socket.write_all(answer.as_bytes()).await.unwrap();
                socket.shutdown().await.unwrap();
            }
        });
        Self { base_url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn read_request(socket: &mut tokio::net::TcpStream) -> String {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = socket.read(&mut piece).await.unwrap();
        request.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            line.to_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
        });
        if length.is_none_or(|length| length <= body.len()) || count == 0 {
            return text;
        }
    }
}

pub(crate) fn stream(chunks: &[&str]) -> String {
    let events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    let events = events.concat();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}"
    )
}

pub(crate) fn refusal(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-type: application/json\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

const HELLO: &[&str] = &[
    r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"lo"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "[DONE]",
];
const CALL: &[&str] = &[
    r#"{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"look","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    "[DONE]",
];

struct Ran {
    ending: Ending,
    events: Vec<Event>,
}

impl Ran {
    fn failures(&self) -> Vec<FailureClass> {
        let mut classes = Vec::new();
        for event in &self.events {
            if let Event::ModelFailed { class, .. } = event {
                classes.push(*class);
            }
        }
        classes
    }
}

async fn run(server: &Server, auth: Auth) -> Ran {
    run_with(server, auth, |model| model).await
}

async fn run_with(server: &Server, auth: Auth, change: fn(HttpModel) -> HttpModel) -> Ran {
    run_in(server, auth, Arc::new(OpenAiChat { flavour: Flavour::OpenAi }), change).await
}

async fn run_in(
    server: &Server,
    auth: Auth,
    dialect: Arc<dyn Dialect>,
    change: fn(HttpModel) -> HttpModel,
) -> Ran {
    let endpoint = Endpoint {
        base_url: server.base_url.clone(),
        auth,
        headers: vec![("x-a".into(), "b".into())],
    };
    let ask = Ask {
        provider: "test".into(),
        host: "127.0.0.1".into(),
        model: "m".into(),
        max_tokens: Some(100),
        effort: None,
        cache_key: "c".into(),
    };
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let model = Arc::new(change(HttpModel::new(client, dialect, endpoint, ask)));
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let world = World::default();
    let id = piton_core::id::ConversationId::new("http");
    let mut builder = Engine::builder(journal.clone(), Arc::new(OneModel(model)));
    for tool in world_tools(&world, &journal) {
        builder = builder.tool(tool);
    }
    let engine = builder.build();
    let mut session = engine.create_as(id.clone(), Path::new("/")).await.unwrap();
    let mut config = Config {
        model: Some(ModelRef { provider: "test".into(), model: "m".into() }),
        limits: Limits { backoff_ms: 0, backoff_ms_max: 1, ..Limits::default() },
        ..Config::default()
    };
    engine.offer_tools(&mut config);
    session.configure(&config);
    let ending = session.send(NewMessage::text("go"), OnIncomplete::Ask).await.unwrap();
    let records = journal.read(&id, piton_core::id::Seq(0), 1_000).await.unwrap();
    let events = records.iter().map(|it| Event::from_stored(it.format, &it.body)).collect();
    Ran { ending, events }
}

#[tokio::test]
async fn a_turn_with_a_tool_goes_over_http() {
    let server = Server::start(vec![stream(CALL), stream(HELLO)]).await;
    let ran = run(&server, Auth::Bearer(Arc::new(Secret::new("k3y")))).await;
    assert_eq!(ran.ending, Ending::Done);
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    let head = seen[0].to_lowercase();
    assert!(head.starts_with("post /chat/completions http/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: bearer k3y\r\n") && head.contains("x-a: b\r\n"));
    assert_eq!(head.matches("content-type:").count(), 1);
    assert!(seen[1].contains(r#""role":"tool""#), "{}", seen[1]);
}

// J45, J46: cut in the middle, cut behind the end mark
#[tokio::test]
async fn a_cut_stream_is_asked_for_again() {
    let server = Server::start(vec![stream(&HELLO[..2]), stream(&HELLO[..3])]).await;
    let ran = run(&server, Auth::None).await;
    assert_eq!(ran.ending, Ending::Done);
    assert_eq!(ran.failures(), [FailureClass::StreamBroke]);
    let seen = server.seen();
    let body = |request: &str| request.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(body(&seen[0]), body(&seen[1]), "the same request, byte for byte");
}

// J44, J46: the text and the error come with the same bytes
#[tokio::test]
async fn text_in_front_of_an_error_is_kept() {
    let error = r#"{"error":{"code":"server_error","message":"Something broke."}}"#;
    let broken = [HELLO[0], HELLO[1], error];
    let server = Server::start(vec![stream(&broken), stream(HELLO)]).await;
    let ran = run(&server, Auth::None).await;
    assert_eq!((&ran.ending, ran.failures()), (&Ending::Done, vec![FailureClass::Server]));
    let partials = ran.events.iter().filter_map(|event| {
        if let Event::ModelPartial { text, .. } = event { Some(&**text) } else { None }
    });
    assert_eq!(partials.collect::<String>(), "Hello");
    let failed = ran.events.iter().find_map(|event| {
        if let Event::ModelFailed { bytes_received, .. } = event {
            Some(*bytes_received)
        } else {
            None
        }
    });
    assert_eq!(failed, Some(5), "the failure says how much had come");
}

// D71, J49, J50
#[tokio::test]
async fn refusals_are_told_apart() {
    let busy = refusal(
        "429 Too Many Requests",
        "retry-after-ms: 1\r\n",
        r#"{"error":{"message":"slow down"}}"#,
    );
    let down = refusal("503 Service Unavailable", "", "<html>down</html>");
    let server = Server::start(vec![busy, down, stream(HELLO)]).await;
    let ran = run(&server, Auth::None).await;
    assert_eq!(ran.ending, Ending::Done);
    assert_eq!(ran.failures().len(), 2);
    assert_eq!(ran.failures()[0], FailureClass::RateLimited);

    let wrong = refusal(
        "401 Unauthorized",
        "",
        r#"{"error":{"message":"wrong key","code":"invalid_api_key"}}"#,
    );
    let server = Server::start(vec![wrong]).await;
    let ran = run(&server, Auth::Bearer(Arc::new(Secret::new("k3y")))).await;
    let Ending::Error(Cause { reason, message, .. }) = &ran.ending else {
        panic!("{:?}", ran.ending)
    };
    assert_eq!((*reason, message.contains("wrong key")), (Some(BreakReason::ApiError), true));
    assert_eq!(ran.failures(), [FailureClass::Auth]);
    assert!(!format!("{:?}", ran.events).contains("k3y"), "a key is never recorded");
}

/// Gives a new key when the old one is refused.
#[derive(Debug)]
struct Helper;

impl KeySource for Helper {
    fn key(&self, refresh: bool) -> BoxFuture<'_, Result<Secret, ModelFailure>> {
        let key = if refresh { "new" } else { "old" };
        Box::pin(std::future::ready(Ok(Secret::new(key))))
    }

    fn can_refresh(&self) -> bool {
        true
    }
}

// J60: also bytes that mean nothing come to an end
#[tokio::test]
async fn an_endless_body_is_left() {
    let pings = ": ping\n\n".repeat(2_000);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let server = Server::start(vec![format!("{head}{pings}")]).await;
    let ran = run_with(&server, Auth::None, |model| model.body_bytes_max(10_000)).await;
    assert_eq!(ran.failures(), [FailureClass::TooLarge]);
}

// K56
#[tokio::test]
async fn a_refused_key_is_asked_for_anew_once() {
    let wrong = || refusal("401 Unauthorized", "", "{}");
    let server = Server::start(vec![wrong(), stream(HELLO)]).await;
    let ran = run(&server, Auth::Bearer(Arc::new(Helper))).await;
    assert_eq!((ran.ending.clone(), ran.failures()), (Ending::Done, vec![]));
    let keys: Vec<bool> = server.seen().iter().map(|it| it.contains("Bearer new")).collect();
    assert_eq!(keys, [false, true]);

    let server = Server::start(vec![wrong(), wrong()]).await;
    let ran = run(&server, Auth::Bearer(Arc::new(Helper))).await;
    assert_eq!(ran.failures(), [FailureClass::Auth]);
}

#[tokio::test]
async fn nobody_there_is_a_network_failure() {
    let server = Server::start(vec![]).await;
    let gone = Server { base_url: "http://127.0.0.1:9".into(), seen: server.seen.clone() };
    let ran = run(&gone, Auth::None).await;
    assert!(ran.failures().iter().all(|class| *class == FailureClass::Network));
    assert_eq!(ran.failures().len(), 5);
}

fn failed(ran: &Ran) -> &str {
    let message = ran.events.iter().find_map(|event| {
        if let Event::ModelFailed { message, .. } = event { Some(&**message) } else { None }
    });
    message.unwrap()
}

#[tokio::test]
async fn a_web_page_is_no_answer_and_is_not_asked_for_again() {
    let page = "<!doctype html><title>Log in</title>";
    let html = |body: &str| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: Text/HTML; charset=utf-8\r\n";
        format!("{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let nothing = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_owned();
    // A captive portal may call its page whatever was asked for.
    let disguised = html(page).replace("Text/HTML; charset=utf-8", "text/event-stream");
    for (answer, with) in [
        (html(page), "text/html"),
        (html(""), "text/html"),
        (nothing, "nothing (status 204)"),
        (disguised, "a web page"),
    ] {
        let server = Server::start(vec![answer]).await;
        let ran = run(&server, Auth::None).await;
        assert_eq!(ran.failures(), [FailureClass::InvalidRequest]);
        let host = server.base_url.trim_start_matches("http://");
        let told = format!("{host} answered with {with}, not with a stream of events: ");
        assert!(failed(&ran).starts_with(&told), "{}", failed(&ran));
        assert!(failed(&ran).contains("base_url"), "{}", failed(&ran));
    }
}

// A proxy, a login page, a wrong address: whatever the dialect, it is told who answered and what to
// look at, and nothing of the page but its title. What may pass is asked for again as before.
#[tokio::test]
async fn a_page_with_an_error_status_names_the_host_in_every_dialect() {
    let page = "<!doctype html><head><title>Sign\n in</title></head>quota exceeded: sk-k3y";
    let dialects: [(&str, Arc<dyn Dialect>); 4] = [
        ("chat", Arc::new(OpenAiChat { flavour: Flavour::OpenAi })),
        ("responses", Arc::new(OpenAiResponses::Public)),
        ("anthropic", Arc::new(Anthropic)),
        ("gemini", Arc::new(Gemini)),
    ];
    let statuses = [
        ("403 Forbidden", FailureClass::Auth),
        ("404 Not Found", FailureClass::InvalidRequest),
        ("511 Network Authentication Required", FailureClass::InvalidRequest),
        ("502 Bad Gateway", FailureClass::Server),
    ];
    for (name, dialect) in dialects {
        for (status, class) in statuses {
            let tries = if class == FailureClass::Server { 5 } else { 1 };
            let server = Server::start(vec![refusal(status, "", page); tries]).await;
            let ran = run_in(&server, Auth::None, dialect.clone(), |model| model).await;
            assert_eq!(ran.failures(), vec![class; tries], "{name} {status}");
            let host = server.base_url.trim_start_matches("http://");
            let code = &status[..3];
            let told = format!("{host} answered with status {code} and a web page (\"Sign in\"), ");
            assert!(failed(&ran).starts_with(&told), "{name}: {}", failed(&ran));
            assert!(failed(&ran).contains("base_url"), "{name}: {}", failed(&ran));
            assert!(!failed(&ran).contains("k3y"), "{name}: {}", failed(&ran));
        }
    }
}

#[tokio::test]
async fn a_stream_may_be_called_anything() {
    let called = "content-type: text/event-stream\r\n";
    for other in ["text/plain", "application/json", "application/x-ndjson", "text/html", ""] {
        let header = if other.is_empty() { "" } else { &format!("content-type: {other}\r\n") };
        let server = Server::start(vec![stream(HELLO).replace(called, header)]).await;
        let ran = run(&server, Auth::None).await;
        assert_eq!((ran.ending.clone(), ran.failures()), (Ending::Done, vec![]), "{other}");
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_asked_is_not_asked_again() {
    let server = Server { base_url: "ftp://h".into(), seen: Arc::default() };
    let ran = run(&server, Auth::None).await;
    assert_eq!(ran.failures(), [FailureClass::InvalidRequest]);
    assert_eq!(failed(&ran), "the request to h cannot be sent: is its address right?");
}

#[tokio::test]
async fn a_host_that_is_not_there_is_named_without_its_password() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server { base_url: format!("http://me:pa55@{gone}"), seen: Arc::default() };
    let ran = run(&server, Auth::None).await;
    assert!(ran.failures().iter().all(|class| *class == FailureClass::Network));
    let said = failed(&ran);
    assert_eq!(said, format!("cannot reach {gone}: connection refused"));
}
