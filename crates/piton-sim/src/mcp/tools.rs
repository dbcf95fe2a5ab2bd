//! What the server can do. Every effect is a line in the ledger.

use std::time::Duration;

use serde_json::{Value, json};

use super::out::Out;
use super::pointer::at;
use super::seat::Seat;
use super::tasks::answer_of;

/// Steps of `slow` unless told otherwise.
const STEPS: u64 = 3;

/// How often to look for a file that is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Name, what it does, arguments, hints.
fn list() -> Vec<(&'static str, &'static str, Value, Value)> {
    let key = || json!({"key": {"type": "string"}});
    vec![
        (
            "echo",
            "Says the text again",
            json!({"text": {"type": "string"}}),
            json!({"readOnlyHint": true}),
        ),
        ("count", "Writes the key into the ledger, every time", key(), json!({})),
        ("put", "Writes the key; twice is like once", key(), json!({"idempotentHint": true})),
        ("look", "Looks, and notes that it did", key(), json!({"readOnlyHint": true})),
        (
            "slow",
            "Takes some steps, tells of each, and waits for a file",
            json!({"key": {"type": "string"}, "steps": {"type": "integer"}, "ms": {"type": "integer"}, "until": {"type": "string"}}),
            json!({}),
        ),
        ("hang", "Never answers", key(), json!({})),
        ("crash", "Complains, then ends the server", key(), json!({})),
        ("fail", "Says that it failed", json!({}), json!({})),
        (
            "structured",
            "Answers with structured content only",
            json!({}),
            json!({"readOnlyHint": true}),
        ),
        ("image", "Answers with a small image", json!({}), json!({"readOnlyHint": true})),
        (
            "big",
            "Answers at length",
            json!({"bytes": {"type": "integer"}}),
            json!({"readOnlyHint": true}),
        ),
        ("env", "Names the variables it has", json!({}), json!({"readOnlyHint": true})),
        ("news", "Tells what lies beside the ledger", json!({}), json!({"readOnlyHint": true})),
        ("elicit", "Asks the user for a name and a colour", key(), json!({})),
        ("elicit_url", "Sends the user to an address", key(), json!({})),
        ("ask_back", "Asks in its result, and goes on with the answer", key(), json!({})),
        ("ask_in_task", "Asks while it is a task", key(), json!({})),
        ("elicit_back", "Asks, takes the question back, and never answers", key(), json!({})),
    ]
}

/// The tools as a client is told of them.
pub(super) fn all(only: &[String]) -> Vec<Value> {
    let wanted = |name: &str| only.is_empty() || only.iter().any(|it| it == name);
    let tools = list().into_iter().filter(|(name, ..)| wanted(name));
    let tools = tools.map(|(name, description, properties, annotations)| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": {"type": "object", "properties": properties},
            "annotations": annotations,
        })
    });
    tools.collect()
}

/// Runs one; what it gives is the result of the call.
pub(super) async fn run(seat: &Seat, params: &Value, out: &Out) -> Value {
    let arguments = at(params, "/arguments");
    let key = at(arguments, "/key").as_str().unwrap_or_default();
    match at(params, "/name").as_str().unwrap_or_default() {
        "echo" => text(at(arguments, "/text").as_str().unwrap_or_default()),
        name @ ("count" | "put" | "look") => {
            seat.note(&format!("{name} {key}"));
            text(&format!("{name} {key}: done"))
        }
        "slow" => slow(seat, params, out).await,
        "hang" => {
            seat.note(&format!("hang {key}"));
            std::future::pending().await
        }
        "crash" => {
            seat.note(&format!("crash {key}"));
            complain_and_die().await
        }
        "fail" => {
            json!({"content": [{"type": "text", "text": "it cannot be done"}], "isError": true})
        }
        "structured" => json!({"content": [], "structuredContent": {"answer": 42}}),
        "image" => {
            json!({"content": [{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}]})
        }
        "big" => {
            let bytes = at(arguments, "/bytes").as_u64().unwrap_or(100_000);
            text(&"x".repeat(usize::try_from(bytes).unwrap_or_default()))
        }
        "env" => text(&variables()),
        "news" => text(&std::fs::read_to_string(seat.sign("news")).unwrap_or_default()),
        "elicit" => elicit(seat, key, out).await,
        "elicit_url" => elicit_url(seat, key, out).await,
        "ask_back" => {
            seat.note(&format!("ask_back {key} {}", answer_of(params)));
            text(&at(params, "/inputResponses/who").to_string())
        }
        "elicit_back" => elicit_back(seat, key, out).await,
        other => {
            json!({"content": [{"type": "text", "text": format!("no tool {other}")}], "isError": true})
        }
    }
}

/// Runs one as a task; what it gives is the result of the task.
pub(super) async fn run_task(seat: &Seat, task: &str, params: &Value) -> Value {
    if at(params, "/name") != "ask_in_task" {
        return run(seat, params, &Out::Nowhere).await;
    }
    let answer = seat.tasks.ask(task).await;
    let key = at(params, "/arguments/key").as_str().unwrap_or_default();
    seat.note(&format!("ask_in_task {key} {}", at(&answer, "/action").as_str().unwrap_or("error")));
    text(&answer.to_string())
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

async fn slow(seat: &Seat, params: &Value, out: &Out) -> Value {
    let arguments = at(params, "/arguments");
    let steps = at(arguments, "/steps").as_u64().unwrap_or(STEPS);
    let pause = Duration::from_millis(at(arguments, "/ms").as_u64().unwrap_or_default());
    let token = at(params, "/_meta/progressToken");
    for step in 1..=steps {
        let message = format!("step {step}");
        let params = json!({
            "progressToken": token, "progress": step, "total": steps, "message": message,
        });
        let note = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        out.write(&note).await;
        tokio::time::sleep(pause).await;
    }
    if let Some(file) = at(arguments, "/until").as_str() {
        while !std::path::Path::new(file).exists() {
            // wait: the test that makes the file gives no other sign
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    let key = at(arguments, "/key").as_str().unwrap_or_default();
    seat.note(&format!("slow {key}"));
    text(&format!("{steps} steps"))
}

/// The names only: what they hold is nobody's business, also here.
fn variables() -> String {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.join("\n")
}

async fn complain_and_die() -> Value {
    use rustix::process::{Signal, getpid, kill_process};
    use tokio::io::AsyncWriteExt as _;
    let mut stderr = tokio::io::stderr();
    stderr.write_all(b"boom: the simulated server gives up\n").await.unwrap_or_default();
    stderr.flush().await.unwrap_or_default();
    kill_process(getpid(), Signal::KILL).unwrap_or_default();
    std::future::pending().await
}

async fn elicit(seat: &Seat, key: &str, out: &Out) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "colour": {"type": "string", "enum": ["red", "green"], "description": "Which one?"},
            "count": {"type": "integer", "minimum": 1, "default": 3},
            "sure": {"type": "boolean"},
        },
        "required": ["name", "colour"],
    });
    let params = json!({"mode": "form", "message": "Who are you?", "requestedSchema": schema});
    let answer = seat.ask("elicitation/create", params, out).await;
    seat.note(&format!("elicit {key} {}", at(&answer, "/action").as_str().unwrap_or("error")));
    text(&answer.to_string())
}

/// Takes the question back as soon as a file says so: `<ledger>.back`.
async fn elicit_back(seat: &Seat, key: &str, out: &Out) -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let params = json!({"mode": "form", "message": "Who?", "requestedSchema": schema});
    let asked = seat.ask("elicitation/create", params, out);
    let back = seat.sign("back");
    let sign = async {
        while !back.exists() {
            // wait: the test that makes the file gives no other sign
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::select! {
        _ = asked => seat.note(&format!("elicit_back {key} answered")),
        () = sign => {
            let params = json!({"requestId": "ask-0", "reason": "not needed"});
            let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            out.write(&note).await;
        }
    }
    std::future::pending().await
}

async fn elicit_url(seat: &Seat, key: &str, out: &Out) -> Value {
    let params = json!({
        "mode": "url", "message": "Please sign in", "url": "https://sign-in.example.invalid/x",
        "elicitationId": "e1",
    });
    let answer = seat.ask("elicitation/create", params, out).await;
    seat.note(&format!("elicit_url {key} {}", at(&answer, "/action").as_str().unwrap_or("error")));
    text(&answer.to_string())
}
