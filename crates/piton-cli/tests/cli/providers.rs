//! Providers over real HTTP on loopback: one tool-using turn each, and a change of provider in the
//! middle of a turn.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::world::World;

/// A server that gives each request the next answer.
struct Server {
    address: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heard = seen.clone();
        // Ends with its last answer, or with the test.
        thread::spawn(move || {
            for answer in answers {
                let (mut socket, _) = listener.accept().unwrap();
                let request = read_request(&mut socket);
                heard.lock().unwrap().push(request);
                socket.write_all(answer.as_bytes()).unwrap();
            }
        });
        Self { address, seen }
    }

    fn request(&self, number: usize) -> (String, Value) {
        let seen = self.seen.lock().unwrap();
        let (head, body) = seen[number].split_once("\r\n\r\n").unwrap();
        (head.to_lowercase(), serde_json::from_str(body).unwrap())
    }
}

fn read_request(socket: &mut std::net::TcpStream) -> String {
    let (mut request, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let count = socket.read(&mut piece).unwrap();
        request.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        if length.unwrap().trim().parse::<usize>().unwrap() <= body.len() {
            return text;
        }
    }
}

fn stream(events: &[&str]) -> String {
    let events: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    format!("{head}{}", events.concat())
}

/// A call of `read_file`, then a closing word, in one provider's words.
struct Words {
    model: &'static str,
    address: &'static str,
    suffix: &'static str,
    key: &'static str,
    path: &'static str,
    shown_key: &'static str,
    call: &'static [&'static str],
    close: &'static [&'static str],
}

const ALL: [Words; 4] = [
    Words {
        model: "anthropic/claude-sonnet-4-5",
        address: "ANTHROPIC_BASE_URL",
        suffix: "",
        key: "ANTHROPIC_API_KEY",
        path: "post /v1/messages http/1.1",
        shown_key: "x-api-key: k3y",
        call: &[
            r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"read_file","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"a.txt\"}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        close: &[
            r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It says hi."}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    },
    Words {
        model: "openai/gpt-5",
        address: "OPENAI_BASE_URL",
        suffix: "/v1",
        key: "OPENAI_API_KEY",
        path: "post /v1/responses http/1.1",
        shown_key: "authorization: bearer k3y",
        call: &[
            r#"{"type":"response.created","response":{"id":"r"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"c","name":"read_file","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"path\":\"a.txt\"}"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"c","name":"read_file","arguments":"{\"path\":\"a.txt\"}","status":"completed"}}"#,
            r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":7}}}"#,
        ],
        close: &[
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"It says hi."}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"It says hi."}]}}"#,
            r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":7}}}"#,
        ],
    },
    Words {
        model: "openai-chat/gpt-4o",
        address: "OPENAI_BASE_URL",
        suffix: "/v1",
        key: "OPENAI_API_KEY",
        path: "post /v1/chat/completions http/1.1",
        shown_key: "authorization: bearer k3y",
        call: &[
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ],
        close: &[
            r#"{"choices":[{"index":0,"delta":{"content":"It says hi."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
    },
    Words {
        model: "gemini/gemini-2.5-pro",
        address: "GOOGLE_GEMINI_BASE_URL",
        suffix: "",
        key: "GEMINI_API_KEY",
        path: "post /v1beta/models/gemini-2.5-pro:streamgeneratecontent?alt=sse http/1.1",
        shown_key: "x-goog-api-key: k3y",
        call: &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"read_file","args":{"path":"a.txt"}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":7}}"#,
        ],
        close: &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"It says hi."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":7}}"#,
        ],
    },
];

fn world() -> World {
    let world = World::new();
    std::fs::write(world.work("a.txt"), "hi\n").unwrap();
    world
}

/// Runs a query against a server as the provider of `words`.
fn query(world: &World, words: &Words, server: &Server, args: &[&str]) -> (i32, String, String) {
    let mut command = world.command(args);
    command
        .env(words.address, format!("http://{}{}", server.address, words.suffix))
        .env(words.key, "k3y")
        .env("NO_PROXY", "127.0.0.1");
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_provider_is_spoken_to_in_its_own_words() {
    for words in &ALL {
        let world = world();
        let server = Server::start(vec![stream(words.call), stream(words.close)]);
        let args = ["query", "what does a.txt say?", "--model", words.model];
        let (code, stdout, stderr) = query(&world, words, &server, &args);
        assert_eq!((code, stdout.as_str()), (0, "It says hi.\n"), "{}: {stderr}", words.model);
        let (head, _) = server.request(0);
        assert!(head.starts_with(words.path), "{head}");
        assert!(head.contains(words.shown_key), "{head}");
        let (_, body) = server.request(1);
        assert!(body.to_string().contains("hi\\n"), "the result goes back: {body}");
        let journal = world.run(&["print", "--json"]).stdout;
        assert!(!journal.contains("k3y"), "a key is never recorded");
    }
}

// X8, K40: the work of one provider goes on with another
#[test]
fn a_turn_changes_its_provider_in_the_middle() {
    for from in &ALL {
        for to in ALL.iter().filter(|to| to.model != from.model) {
            let world = world();
            let broken =
                "HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            let server = Server::start(vec![stream(from.call), broken.into()]);
            let args = ["query", "what does a.txt say?", "--model", from.model];
            let (code, _, stderr) = query(&world, from, &server, &args);
            assert_eq!(code, 1, "{stderr}");
            let server = Server::start(vec![stream(to.close)]);
            let args = ["query", "--continue", "--model", to.model];
            let (code, stdout, stderr) = query(&world, to, &server, &args);
            let pair = format!("{} to {}: {stderr}", from.model, to.model);
            assert_eq!((code, stdout.as_str()), (0, "It says hi.\n"), "{pair}");
            let (_, body) = server.request(0);
            let body = body.to_string();
            assert!(body.contains("hi\\n") && body.contains("read_file"), "{pair}: {body}");
            let finished = world.events();
            let finished = finished.iter().filter(|event| event["type"] == "ToolFinished").count();
            assert_eq!(finished, 1, "the tool is not run again");
        }
    }
}

#[test]
fn providers_say_what_they_lack() {
    let ran = world().run(&["models"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("ready: no key, no network, no language model"), "{}", ran.stdout);
    assert!(ran.stdout.contains("no key: set ANTHROPIC_API_KEY"), "{}", ran.stdout);
}
