//! A server of a test's own that gives each request the next answer, and keeps what it was sent.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::world::{Ran, World};

/// A key that must not be seen anywhere.
pub(crate) const CANARY: &str = "sk-canary-0123456789";

pub(crate) struct Loopback {
    pub(crate) address: String,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    answers: VecDeque<Vec<u8>>,
    requests: Vec<String>,
    connections: usize,
}

/// Answers the requests of one connection, as long as there are answers.
fn serve(mut socket: TcpStream, seen: &Mutex<Seen>) {
    let mut is_new = true;
    while let Some(request) = read_request(&mut socket) {
        let answer = {
            let mut seen = seen.lock().unwrap();
            seen.connections += usize::from(std::mem::take(&mut is_new));
            seen.requests.push(request);
            seen.answers.pop_front()
        };
        let Some(answer) = answer else { return };
        // Whoever has gone away does not hear it.
        if socket.write_all(&answer).is_err() || contains(&answer, b"connection: close") {
            return;
        }
    }
}

impl Loopback {
    /// Serves until the last answer is given, or the test is over. Every connection is read at once: a
    /// client may open one that it does not need, and whoever waits for words on that one hears none of
    /// the others.
    pub(crate) fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Seen { answers: answers.into(), ..Seen::default() }));
        let heard = seen.clone();
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let heard = heard.clone();
                thread::spawn(move || serve(socket, &heard));
            }
        });
        Self { address, seen }
    }

    /// Connections over which something was asked.
    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    pub(crate) fn requests(&self) -> usize {
        self.seen.lock().unwrap().requests.len()
    }

    /// The head of a request in small letters, and its body.
    pub(crate) fn request(&self, number: usize) -> (String, Value) {
        let seen = self.seen.lock().unwrap();
        let (head, body) = seen.requests[number].split_once("\r\n\r\n").unwrap();
        (head.to_lowercase(), serde_json::from_str(body).unwrap_or_default())
    }
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|part| part == wanted)
}

/// The next request of a connection, if there is one.
pub(crate) fn read_request(socket: &mut impl Read) -> Option<String> {
    let (mut request, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let count = socket.read(&mut piece).ok().filter(|count| 0 < *count)?;
        request.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        if length.map_or(0, |length| length.trim().parse::<usize>().unwrap()) <= body.len() {
            return Some(text);
        }
    }
}

/// A whole answer with an error status; the connection is closed behind it.
pub(crate) fn refusal(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    head.into_bytes()
}

/// An answer that points to another server.
pub(crate) fn redirect(status: &str, to: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nlocation: {to}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
    head.into_bytes()
}

/// Events as they are streamed.
pub(crate) fn events(events: &[&str]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<Vec<_>>().concat()
}

/// A stream of events in one piece, on a connection that stays open.
pub(crate) fn stream(of: &[&str]) -> Vec<u8> {
    let body = events(of);
    let length = body.len();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
    format!("{head}\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n").into_bytes()
}

/// How a provider is called and answers "Yes.".
pub(crate) struct Provider {
    pub(crate) model: &'static str,
    pub(crate) address: &'static str,
    pub(crate) suffix: &'static str,
    pub(crate) key: &'static str,
    pub(crate) yes: &'static [&'static str],
}

pub(crate) const PROVIDERS: [Provider; 5] = [
    Provider {
        model: "anthropic/claude-sonnet-4-5",
        address: "ANTHROPIC_BASE_URL",
        suffix: "",
        key: "ANTHROPIC_API_KEY",
        yes: &[
            r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Yes."}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    },
    Provider {
        model: "openai/gpt-5",
        address: "OPENAI_BASE_URL",
        suffix: "/v1",
        key: "OPENAI_API_KEY",
        yes: RESPONSES,
    },
    Provider {
        model: "openai-chat/gpt-4o",
        address: "OPENAI_BASE_URL",
        suffix: "/v1",
        key: "OPENAI_API_KEY",
        yes: CHAT,
    },
    Provider {
        model: "codex/gpt-5-codex",
        address: "CODEX_BASE_URL",
        suffix: "/backend-api/codex",
        key: "CODEX_ACCESS_TOKEN",
        yes: RESPONSES,
    },
    Provider {
        model: "gemini/gemini-2.5-flash",
        address: "GOOGLE_GEMINI_BASE_URL",
        suffix: "",
        key: "GEMINI_API_KEY",
        yes: &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Yes."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":7}}"#,
        ],
    },
];

const RESPONSES: &[&str] = &[
    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}"#,
    r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Yes."}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}}"#,
    r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":7}}}"#,
];
const CHAT: &[&str] = &[
    r#"{"choices":[{"index":0,"delta":{"content":"Yes."}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "[DONE]",
];

/// Any of them, for what does not depend on the provider.
pub(crate) fn chat() -> &'static Provider {
    &PROVIDERS[2]
}

impl Provider {
    /// A command with this provider at the server's address.
    pub(crate) fn command(&self, world: &World, server: &Loopback, args: &[&str]) -> Command {
        let mut command = world.command(args);
        command
            .env(self.address, format!("http://{}{}", server.address, self.suffix))
            .env(self.key, CANARY)
            .env("NO_PROXY", "127.0.0.1");
        command
    }

    pub(crate) fn run(&self, world: &World, server: &Loopback, args: &[&str]) -> Ran {
        world.ran(self.command(world, server, args).output().unwrap())
    }
}
