//! A server over a store in memory, a home and a workspace of a test's own, and a client with a token.

use std::collections::VecDeque;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use piton::clock::{Clock as _, SystemClock};
use piton::store::{Journal, MemoryJournal};
use piton::{ConversationId, Engine, News, View, ViewChange};
use piton_agent::{
    Agent, AgentProfiles, AgentTools, Catalogue, EngineParts, Environment, Overrides, Settings,
};
use piton_core::id::Timestamp;
use piton_server::{Bearer, Opened, Parts, Server, Tokens};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

pub(crate) const HOST: &str = "localhost:4000";

pub(crate) struct Stage {
    pub(crate) dir: TempDir,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) engine: Engine,
    pub(crate) server: Server,
    pub(crate) token: String,
    /// Beside those of every test.
    variables: Vec<(String, String)>,
}

impl Stage {
    /// A server whose model follows a script.
    pub(crate) fn new(script: &str) -> Self {
        Self::with(script, "", Vec::new())
    }

    /// The same with settings, and variables of its environment.
    pub(crate) fn with(script: &str, settings: &str, variables: Vec<(String, String)>) -> Self {
        let dir = TempDir::new().unwrap();
        for name in ["work", "home", "closed"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("script.json"), script).unwrap();
        fs::write(dir.path().join("home/piton.toml"), settings).unwrap();
        let tokens = Tokens::of(&dir.path().join("home"));
        let token = tokens.add("test", Bearer::Program, Timestamp(0)).unwrap();
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
        let (engine, server) = start(&dir, &journal, &variables);
        Self { dir, journal, engine, server, token, variables }
    }

    /// The server dies in the middle of everything, and another one starts over the same store.
    pub(crate) async fn crash(&mut self) {
        self.engine.shutdown(Duration::ZERO).await;
        self.server.stop();
        (self.engine, self.server) = start(&self.dir, &self.journal, &self.variables);
    }

    /// Another process over the same store.
    pub(crate) fn another(&self) -> (Engine, Server) {
        start(&self.dir, &self.journal, &self.variables)
    }

    /// Another process over the same store, seen in another way.
    pub(crate) fn another_over(&self, journal: &Arc<dyn Journal>) -> (Engine, Server) {
        start(&self.dir, journal, &self.variables)
    }

    pub(crate) fn tokens(&self) -> Tokens {
        Tokens::of(&self.dir.path().join("home"))
    }

    /// A code for one browser.
    pub(crate) fn code(&self) -> String {
        self.tokens().code(SystemClock.now()).unwrap()
    }

    pub(crate) fn work(&self) -> String {
        self.dir.path().join("work").canonicalize().unwrap().to_str().unwrap().to_owned()
    }

    /// Sends a request as it is.
    pub(crate) async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.server.router().oneshot(request).await.unwrap()
    }

    /// A request of the client with the token.
    pub(crate) fn request(&self, method: &str, path: &str, body: Body) -> Request<Body> {
        Request::builder()
            .method(method)
            .uri(path)
            .header("host", HOST)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(body)
            .unwrap()
    }

    /// Asks the API; the status, and the body as data.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let request = self.request(method, &format!("/api/v1{path}"), body);
        told(self.send(request).await).await
    }

    /// Asks for something that is there.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    /// Sends something that is taken.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, told) = self.ask("POST", path, body).await;
        assert!(status.is_success(), "{path}: {status} {told}");
        told
    }

    /// Sends something that is not; its kind.
    pub(crate) async fn refused(&self, method: &str, path: &str, body: Value) -> (u16, String) {
        let (status, told) = self.ask(method, path, body).await;
        let kind = told["error"]["kind"].as_str().unwrap_or_else(|| panic!("{status} {told}"));
        assert!(told["error"]["id"].is_string() && told["error"]["message"].is_string(), "{told}");
        (status.as_u16(), kind.to_owned())
    }

    /// A new conversation.
    pub(crate) async fn begin(&self) -> String {
        let begun = self.post("/conversations", json!({ "directory": self.work() })).await;
        begun["conversation"].as_str().unwrap().to_owned()
    }

    /// A new conversation in which something was said and answered.
    pub(crate) async fn said(&self, text: &str) -> String {
        let id = self.begin().await;
        let path = format!("/conversations/{id}/prompt");
        self.post(&path, json!({ "text": text, "wait": true })).await;
        id
    }

    pub(crate) async fn view(&self, id: &str) -> View {
        self.engine.view(&ConversationId::new(id)).await.unwrap()
    }

    /// What a client knew that had read up to an entry.
    pub(crate) async fn view_at(&self, id: &str, at: u64) -> View {
        let conversation = self.engine.conversation(&ConversationId::new(id));
        let mut follow = conversation.follow_all().unwrap();
        let mut known = View::default();
        while known.cursor.0 < at {
            match follow.next().await.unwrap() {
                News::Snapshot(view) => known = *view,
                News::Change(change) => known.apply(&change).unwrap(),
                News::Live(_) | _ => {}
            }
        }
        known
    }

    /// Opens a stream for programs.
    pub(crate) async fn listen(&self, query: &str, last: Option<&str>) -> Listener {
        self.listen_at(&format!("/api/v1/events?{query}"), last).await
    }

    /// Opens a stream.
    pub(crate) async fn listen_at(&self, path: &str, last: Option<&str>) -> Listener {
        let mut request = self.request("GET", path, Body::empty());
        if let Some(last) = last {
            request.headers_mut().insert("last-event-id", last.parse().unwrap());
        }
        let answer = self.send(request).await;
        assert_eq!(answer.status(), StatusCode::OK);
        Listener { body: answer.into_body(), rest: Vec::new(), ready: VecDeque::new() }
    }
}

fn start(dir: &TempDir, journal: &Arc<dyn Journal>, more: &[(String, String)]) -> (Engine, Server) {
    let (home, work) = (dir.path().join("home"), dir.path().join("work"));
    let script = format!("script:{}", dir.path().join("script.json").display());
    let variables = [("PITON_HOME", home.to_str().unwrap()), ("PITON_MODEL", script.as_str())];
    let more = more.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let variables = variables.into_iter().chain(more);
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    let settings = Settings::resolve(Environment::new(work.clone(), variables)).unwrap();
    let agent = Arc::new(Agent::load(settings).unwrap());
    let models = Arc::new(Catalogue::new(agent.settings().environment.clone()));
    let overrides = Overrides::default();
    let commands = agent.plain_commands(&overrides);
    let tools = Arc::new(AgentTools::new(agent.clone(), &commands, &overrides));
    let loaded = agent.load_model(&agent.default_model().unwrap()).unwrap();
    tools.bring(loaded.tools);
    let profiles = Arc::new(AgentProfiles::new(agent.clone(), models.clone(), overrides));
    let parts = EngineParts {
        journal: journal.clone(),
        models,
        scratch: dir.path().join("home"),
        lock_wait: Duration::ZERO,
    };
    let engine = agent.engine(parts, tools, profiles);
    let server = Server::new(Parts {
        engine: engine.clone(),
        agent,
        tokens: Tokens::of(&home),
        opened: Opened::new([work]).unwrap(),
        names: vec!["piton.test".into()],
        clock: Arc::new(SystemClock),
    });
    (engine, server)
}

/// The status of an answer, and its body as data.
pub(crate) async fn told(answer: Response<Body>) -> (StatusCode, Value) {
    let status = answer.status();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes);
    (status, body.unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into()))
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl Event {
    fn read(text: &str) -> Self {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        Self {
            name: field("event: ").unwrap().to_owned(),
            id: field("id: ").map(ToOwned::to_owned),
            data: serde_json::from_str(field("data: ").unwrap()).unwrap(),
        }
    }
}

/// A client of a stream.
pub(crate) struct Listener {
    body: Body,
    rest: Vec<u8>,
    ready: VecDeque<Event>,
}

impl Listener {
    /// The next event; none at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let frame = self.body.frame().await?.unwrap();
            let bytes: Bytes = frame.into_data().unwrap();
            self.rest.extend_from_slice(&bytes);
            while let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
                let text: Vec<u8> = self.rest.drain(..end + 2).collect();
                self.ready.push_back(Event::read(std::str::from_utf8(&text).unwrap()));
            }
        }
    }

    /// The next event of a name; others in front of it are passed over.
    pub(crate) async fn until(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.expect("the stream ended");
            if event.name == name {
                return event;
            }
        }
    }
}

/// What a client knows of a conversation that it follows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) view: View,
    pub(crate) cursor: Option<String>,
    /// Events in the order in which they came.
    pub(crate) names: Vec<String>,
}

impl Known {
    pub(crate) fn take(&mut self, event: &Event) {
        self.names.push(event.name.clone());
        if let Some(id) = &event.id {
            self.cursor = Some(id.clone());
        }
        match event.name.as_str() {
            "snapshot" => self.view = serde_json::from_value(event.data["view"].clone()).unwrap(),
            "change" => {
                let change: ViewChange =
                    serde_json::from_value(event.data["change"].clone()).unwrap();
                // A gap or a duplicate would be refused.
                self.view.apply(&change).unwrap();
            }
            _ => {}
        }
    }

    /// Reads until the view is at an entry.
    pub(crate) async fn read_to(&mut self, listener: &mut Listener, end: u64) {
        while self.view.cursor.0 < end {
            self.take(&listener.next().await.expect("the stream ended"));
        }
    }
}
