//! `piton serve`: the real binary over real connections, beside the real terminal.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr};

use serde_json::{Value, json};

use crate::world::{DEADLINE, World, wait_until};

const ASKS: &str = r#"{"steps":[
    {"calls":[{"tool":"ask_user","arguments":{"question":"Which colour?"}}]},
    {"say":"Blue it is."},
    {"say":"Two."}
]}"#;
/// The answer takes half a minute.
const SLOW: &str = r#"{"steps":[{"say":"abcdefghijklmnopqrstuvwxyz","chunk":1,"chunk_ms":1000}]}"#;
/// The answer takes longer than anybody waits.
const ENDLESS: &str = r#"{"steps":[{"say":"abcdefghijklmnopqrstuvwxyz","chunk":1,"chunk_ms":600000},
    {"say":"late"}]}"#;

/// A server that runs, and a client of it.
pub(crate) struct Serving {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    /// The path that signs a browser in.
    sign_in: String,
    pub(crate) token: String,
}

impl Serving {
    pub(crate) fn start(world: &World, model: &str, args: &[&str]) -> Self {
        let kept = fs::read_to_string(world.path("token"));
        let token = kept.unwrap_or_else(|_| {
            let ran = world.run(&["serve", "token", "test"]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            fs::write(world.path("token"), ran.stdout.trim()).unwrap();
            ran.stdout.trim().to_owned()
        });
        let mut command = world.command(&[&["serve"], args].concat());
        let mut child = command.env("PITON_MODEL", model).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let address = url.trim().strip_prefix("http://").unwrap().to_owned();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut sign_in = String::new();
        while !sign_in.contains("/sign-in?code=") {
            sign_in.clear();
            assert!(0 < stderr.read_line(&mut sign_in).unwrap());
        }
        let at = sign_in.find("/sign-in").unwrap();
        let sign_in = sign_in[at..].trim().to_owned();
        Self { child, stderr, address, sign_in, token }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    /// Sends a request; its status, its head and its body.
    fn raw(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String, String) {
        let mut stream = self.connect();
        let host = &self.address;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let headers =
            format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", self.token);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, _, body) = self.raw(method, &format!("/api/v1{path}"), &headers, &body);
        (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let (status, told) = self.ask("POST", path, body);
        assert!((200..300).contains(&status), "{path}: {status} {told}");
        told
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, told) = self.ask("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {told}");
        told
    }

    pub(crate) fn begin(&self) -> String {
        self.post("/conversations", &json!({}))["conversation"].as_str().unwrap().to_owned()
    }

    /// The events of a stream, as they come.
    fn events(&self, query: &str, last: Option<&str>) -> Events {
        let mut stream = self.connect();
        let last = last.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        let (host, token) = (&self.address, &self.token);
        // Of this version a body is not cut into chunks, which would part a line anywhere.
        write!(
            stream,
            "GET /api/v1/events?{query} HTTP/1.0\r\nhost: {host}\r\n{last}\
             authorization: Bearer {token}\r\n\r\n"
        )
        .unwrap();
        let mut events = Events { lines: BufReader::new(stream) };
        if last.is_empty() {
            // Nothing that is sent from here on is in what it begins with.
            events.until(|(name, ..)| name == "snapshot");
        }
        events
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Ends it politely; its exit code, and what it said.
    fn end(mut self, signal: rustix::process::Signal) -> (Option<i32>, String) {
        self.signal(signal);
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }

    pub(crate) fn kill_9(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // A test that failed before it came to the end must not leave it behind.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// A stream of events.
struct Events {
    lines: BufReader<TcpStream>,
}

/// The name of an event, its id and its data.
type Event = (String, Option<String>, Value);

impl Events {
    fn next(&mut self) -> Option<Event> {
        let (mut name, mut id) = (String::new(), None);
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(text) = line.strip_prefix("event: ") {
                text.trim().clone_into(&mut name);
            } else if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.trim().to_owned());
            } else if let Some(text) = line.strip_prefix("data: ") {
                return Some((name, id, serde_json::from_str(text).unwrap()));
            }
        }
    }

    /// Reads until an event tells something; the last cursor.
    fn until(&mut self, tells: impl Fn(&Event) -> bool) -> String {
        let mut cursor = String::new();
        loop {
            let event = self.next().expect("the stream ended");
            cursor = event.1.clone().unwrap_or(cursor);
            if tells(&event) {
                return cursor;
            }
        }
    }
}

fn completed(event: &Event) -> bool {
    event.0 == "change" && event.2.to_string().contains("\"end\":\"completed\"")
}

#[test]
fn a_first_prompt_over_http_is_answered_streamed_and_seen_by_the_terminal() {
    let world = World::new();
    fs::write(world.work("a.txt"), "hello\n").unwrap();
    let serving = Serving::start(&world, "demo", &[]);
    assert_eq!(serving.raw("GET", "/healthz", "", "").0, 200);
    let id = serving.begin();
    let mut events = serving.events(&format!("c={id}&list=1"), None);
    serving.post(&format!("/conversations/{id}/messages"), &json!({ "text": "what is in a.txt?" }));
    events.until(completed);
    let messages = serving.get(&format!("/conversations/{id}/messages"));
    let answer = messages["messages"][0]["answer"].as_str().unwrap();
    assert!(answer.contains("hello"), "{answer}");
    // The terminal reads it, and goes on with it while the server runs.
    let printed = world.run(&["print", &id]);
    assert!(printed.stdout.contains("what is in a.txt?"), "{}", printed.stdout);
    let query = world.run(&["query", "--id", &id, "list the files here"]);
    assert_eq!(query.code, 0, "{}", query.stderr);
    events.until(completed);
    let view = serving.get(&format!("/conversations/{id}"));
    assert_eq!(view["turns"].as_array().unwrap().len(), 2);
    let (code, said) = serving.end(rustix::process::Signal::INT);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Stopped. Turns that were running can be resumed."), "{said}");
}

#[test]
fn a_question_is_answered_over_http_and_by_the_terminal() {
    let world = World::new();
    let model = world.script(ASKS);
    let serving = Serving::start(&world, &model, &[]);
    let id = serving.begin();
    let path = format!("/conversations/{id}");
    let prompt = json!({ "text": "go", "wait": true });
    let said = serving.post(&format!("{path}/prompt"), &prompt);
    assert_eq!(said["ending"], "waiting_for_input", "{said}");
    let asked = serving.get(&format!("{path}/questions"));
    let question = asked["questions"][0]["question"]["id"].as_str().unwrap().to_owned();
    let mut events = serving.events(&format!("c={id}"), None);
    // The terminal answers, and the server goes on: both see one conversation.
    let answered = world.run(&["answer", "--id", &id, "--text", "blue"]);
    assert_eq!(answered.code, 0, "{}", answered.stderr);
    let late = json!({ "reply": { "kind": "text", "value": "red" } });
    let (status, told) = serving.ask("POST", &format!("{path}/questions/{question}/answer"), &late);
    assert_eq!((status, &told["error"]["kind"]), (409, &json!("refused")), "{told}");
    let (status, _) = serving.ask("POST", &format!("{path}/continue"), &Value::Null);
    // The answer may have set the turn going by itself.
    assert!(matches!(status, 200 | 202 | 409), "{status}");
    events.until(completed);
    assert_eq!(world.run(&["ls", "--json"]).code, 0);
}

// A server holds a turn that waits for a while without performing it. Whichever process takes the answer, the
// turn goes on.
#[test]
fn an_answer_that_is_to_go_on_does_so_beside_a_server() {
    let world = World::new();
    let model = world.script(ASKS);
    let serving = Serving::start(&world, &model, &[]);
    let id = serving.begin();
    let prompt = json!({ "text": "go", "wait": true });
    let said = serving.post(&format!("/conversations/{id}/prompt"), &prompt);
    assert_eq!(said["ending"], "waiting_for_input", "{said}");
    let mut events = serving.events(&format!("c={id}"), None);
    let answered = world.run(&["answer", "--id", &id, "--text", "blue", "--continue"]);
    assert_eq!(answered.code, 0, "{}", answered.stderr);
    events.until(completed);
}

// J97, C30: a server that was killed shows its turn as interrupted, and a reader goes on where it was.
#[test]
fn a_server_that_is_killed_in_mid_stream_loses_nothing() {
    let world = World::new();
    let model = world.script(SLOW);
    let serving = Serving::start(&world, &model, &[]);
    let id = serving.begin();
    let mut events = serving.events(&format!("c={id}"), None);
    serving.post(&format!("/conversations/{id}/messages"), &json!({ "text": "go", "id": "m1" }));
    // Behind the first piece of text.
    let cursor = events.until(|(name, _, data)| {
        let text = data["live"]["step"]["text"].as_str();
        name == "live" && text.is_some_and(|text| !text.is_empty())
    });
    serving.kill_9();
    fs::write(world.path("script.json"), r#"{"steps":[{"say":"whole"}]}"#).unwrap();
    let serving = Serving::start(&world, &model, &[]);
    let row = serving.get("/conversations")["conversations"][0].clone();
    assert_eq!(row["state"], "interrupted", "{row}");
    // The same message under the same name is the same message.
    let again = json!({ "text": "go", "id": "m1" });
    serving.post(&format!("/conversations/{id}/messages"), &again);
    let mut events = serving.events(&format!("c={id}"), Some(&cursor));
    serving.post(&format!("/conversations/{id}/continue"), &Value::Null);
    events.until(completed);
    let messages = serving.get(&format!("/conversations/{id}/messages"));
    let all = messages["messages"].as_array().unwrap();
    assert_eq!((all.len(), &all[0]["answer"]), (1, &json!("whole")), "{messages}");
}

#[test]
fn a_server_with_the_setting_goes_on_with_turns_that_were_left() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home").join("piton.toml"), "[serve]\nresume = true\n").unwrap();
    let model = world.script(ENDLESS);
    let serving = Serving::start(&world, &model, &[]);
    let id = serving.begin();
    serving.post(&format!("/conversations/{id}/messages"), &json!({ "text": "go" }));
    serving.kill_9();
    fs::write(world.path("script.json"), r#"{"steps":[{"say":"whole"}]}"#).unwrap();
    let serving = Serving::start(&world, &model, &[]);
    let view = |serving: &Serving| serving.get(&format!("/conversations/{id}")).to_string();
    wait_until(|| view(&serving).contains("\"text\":\"whole\""));
}

#[test]
fn a_polite_end_says_goodbye_and_leaves_the_turn_resumable() {
    let world = World::new();
    let model = world.script(ENDLESS);
    let serving = Serving::start(&world, &model, &[]);
    let id = serving.begin();
    let mut events = serving.events(&format!("c={id}"), None);
    serving.post(&format!("/conversations/{id}/messages"), &json!({ "text": "go" }));
    events.until(|(name, ..)| name == "live");
    let (code, said) = serving.end(rustix::process::Signal::TERM);
    assert_eq!(code, Some(0), "{said}");
    events.until(|(name, ..)| name == "bye");
    fs::write(world.path("script.json"), r#"{"steps":[{"say":"whole"}]}"#).unwrap();
    let ran = world.run(&["query", "--continue", "--id", &id]);
    assert_eq!((ran.code, ran.stdout.trim()), (0, "whole"), "{}", ran.stderr);
}

#[test]
fn the_printed_address_signs_a_browser_in_once_and_tokens_are_revoked() {
    let world = World::new();
    let serving = Serving::start(&world, "demo", &[]);
    let (status, head, _) = serving.raw("GET", &serving.sign_in, "", "");
    assert_eq!(status, 200, "{head}");
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(serving.raw("GET", &serving.sign_in, "", "").0, 401);
    let headers = format!("cookie: {cookie}\r\n");
    assert_eq!(serving.raw("GET", "/api/v1/models", &headers, "").0, 200);
    let (status, head, page) = serving.raw("GET", "/", &headers, "");
    assert_eq!(status, 200, "{head}");
    assert!(page.contains("New conversation") && head.contains("trusted-types piton"), "{head}");
    assert_eq!(serving.raw("GET", "/api/v1/models", "", "").0, 401);
    let listed = world.run(&["serve", "token", "--list"]).stdout;
    assert!(listed.contains("test") && listed.contains("browser-"), "{listed}");
    assert_eq!(world.run(&["serve", "token", "--revoke", "test"]).code, 0);
    assert_eq!(serving.ask("GET", "/models", &Value::Null).0, 401);
    // A line in the log for each request that was refused, without what was secret about it.
    let log = fs::read_to_string(world.path("home").join("log").join("piton.log")).unwrap();
    assert!(log.contains("request refused") && log.contains("/sign-in"), "{log}");
    assert!(!log.contains("code="), "{log}");
}

#[test]
fn a_server_goes_on_in_the_background_is_found_and_is_stopped() {
    let world = World::new();
    assert_eq!(world.run(&["serve", "status"]).code, 1);
    assert_eq!(world.run(&["serve", "stop"]).code, 1);
    let begun = world.run(&["serve", "--background"]);
    assert_eq!(begun.code, 0, "{}", begun.stderr);
    assert!(begun.stderr.contains("/sign-in?code="), "{}", begun.stderr);
    let status = world.run(&["serve", "status"]);
    assert_eq!((status.code, &status.stdout), (0, &begun.stdout), "{}", status.stderr);
    // It answers, and there is one of a home.
    let address = status.stdout.trim().strip_prefix("http://").unwrap().to_owned();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(get("/healthz").starts_with("HTTP/1.1 200"));
    // Each look at it signs another browser in, once.
    let ways = [&begun.stderr, &status.stderr].map(|said| {
        let sign_in = said.lines().find(|line| line.contains("/sign-in?code=")).unwrap();
        sign_in.split_once(&address).unwrap().1
    });
    assert_ne!(ways[0], ways[1]);
    for way in &ways {
        assert!(get(way).starts_with("HTTP/1.1 200"));
        assert!(get(way).starts_with("HTTP/1.1 401"));
    }
    // The server itself wrote no code down.
    let talk = fs::read_to_string(world.path("home").join("serve").join("talk")).unwrap();
    assert!(talk.contains("Serving on") && !talk.contains("code="), "{talk}");
    for args in [["serve"].as_slice(), &["serve", "--background"]] {
        let second = world.run(args);
        assert_eq!(second.code, 2, "{}", second.stderr);
        assert!(second.stderr.contains("runs already on http://"), "{}", second.stderr);
    }
    let stopped = world.run(&["serve", "stop"]);
    assert_eq!(stopped.code, 0, "{}", stopped.stderr);
    assert_eq!(world.run(&["serve", "status"]).code, 1);
}

#[test]
fn what_would_be_unsafe_or_makes_no_sense_is_refused() {
    let world = World::new();
    for (args, said) in [
        (["serve", "--listen", "0.0.0.0:0"].as_slice(), "can be reached by others"),
        (&["serve", "--open", "/none/such"], "cannot open /none/such"),
        (&["serve", "--listen", "nonsense"], "nonsense"),
        (&["serve", "token", "../up"], "a token's name has"),
        (&["serve", "token", "--revoke", "nobody"], "there is no token nobody"),
        (&["serve", "token"], "required"),
    ] {
        let ran = world.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = world.run(&["serve", "--listen", &address]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot listen on"), "{}", ran.stderr);
}

#[test]
fn a_command_that_runs_is_listed_read_while_it_prints_and_stopped() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[
            {"calls":[{"tool":"shell","arguments":{"command":"echo begun; sleep 600"}}]},
            {"say":"Over."}
        ]}"#,
    );
    let serving = Serving::start(&world, &model, &[]);
    let id = serving.begin();
    let path = format!("/conversations/{id}");
    let said = serving.post(&format!("{path}/prompt"), &json!({ "text": "go", "wait": true }));
    assert_eq!(said["ending"], "waiting_for_input", "{said}");
    let asked = serving.get(&format!("{path}/questions"));
    let question = asked["questions"][0]["question"]["id"].as_str().unwrap().to_owned();
    let mut events = serving.events(&format!("c={id}"), None);
    let allow = json!({ "reply": { "kind": "allow" } });
    serving.post(&format!("{path}/questions/{question}/answer"), &allow);
    wait_until(|| serving.get("/running")["commands"][0]["state"] == "running");
    let command = format!("/running/{id}/1.1.0");
    wait_until(|| serving.get(&format!("{command}/output"))["text"] == "begun\n");
    let read = serving.get(&format!("{command}/output?from=2"));
    assert_eq!((&read["text"], &read["next"]), (&json!("gun\n"), &json!(6)), "{read}");
    let stopped = serving.post(&format!("{command}/stop"), &Value::Null);
    assert_ne!(stopped["state"], "running", "{stopped}");
    events.until(completed);
    assert_eq!(serving.get("/running")["commands"], json!([]));
}
