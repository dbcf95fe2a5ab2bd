//! Reasoning goes back to where it came from, and nowhere else.

use piton_core::event::{Native, Outcome};
use piton_wire::Dialect as _;
use piton_wire::cache::Cache;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use serde_json::{Value, json};

use super::{deltas, read};
use crate::transcripts::{Journal, ask};

fn sidecar(flavour: Flavour, lines: &str) -> Option<Native> {
    let stream = format!("{}\ndata: [DONE]\n\n", deltas(lines));
    read(flavour, &stream).answer.unwrap().native
}

fn raw(flavour: Flavour, lines: &str) -> Option<String> {
    let native = sidecar(flavour, lines)?;
    assert_eq!((&*native.provider, &*native.host), ("script", "script.invalid"));
    Some(native.raw.to_string())
}

/// The assistant message of a tool loop whose answer carried `native`.
fn replayed(flavour: Flavour, provider: &str, native: Native) -> Value {
    let mut journal = Journal::new();
    journal.user("Look.").answer("", &[("look", "{}", "tool_1")], Some(native));
    journal.finish(0, Outcome::Ok, "seen");
    let body = OpenAiChat { flavour }.encode(
        &journal.transcript(),
        &ask(provider, "one"),
        &mut Cache::default(),
    );
    let body: Value = serde_json::from_slice(&body).unwrap();
    let id = body["messages"][2]["tool_calls"][0]["id"].clone();
    assert_eq!(body["messages"][3]["tool_call_id"], id);
    body["messages"][2].clone()
}

const THOUGHT: &str = r#"{"delta":{"reasoning_content":"I \"see\"\n"}}
    {"delta":{"reasoning_content":"🧗"}}
    {"delta":{"content":"Yes."},"finish_reason":"stop"}"#;

#[test]
fn each_flavour_keeps_what_it_wants_back() {
    let text = r#"{"reasoning_content":"I \"see\"\n🧗"}"#;
    assert_eq!(raw(Flavour::DeepSeek, THOUGHT).as_deref(), Some(text));
    assert_eq!(raw(Flavour::Local, THOUGHT).as_deref(), Some(text));
    let other = r#"{"delta":{"reasoning":"Hm"},"finish_reason":"stop"}"#;
    assert_eq!(raw(Flavour::Local, other).as_deref(), Some(r#"{"reasoning":"Hm"}"#));
    assert_eq!(raw(Flavour::DeepSeek, other).as_deref(), Some(r#"{"reasoning_content":"Hm"}"#));
    for flavour in [Flavour::OpenAi, Flavour::Mistral, Flavour::OpenRouter] {
        assert_eq!(raw(flavour, THOUGHT), None);
    }
    assert_eq!(
        raw(Flavour::DeepSeek, r#"{"delta":{"content":"Yes."},"finish_reason":"stop"}"#),
        None
    );
}

// X8, K14: signed and encrypted pieces keep every letter.
#[test]
fn reasoning_details_are_joined_and_copied() {
    let lines = r#"{"delta":{"reasoning":"I","reasoning_details":[{"type":"reasoning.text","text":"I ","format":"f","index":0}]}}
        {"delta":{"reasoning_details":[{"type":"reasoning.text","text":"see","format":"f","index":0}]}}
        {"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"A\/b+=","format":"f","index":0}]}}
        {"delta":{"reasoning_details":[{"data": "x\/y",  "type":"reasoning.encrypted","id":"tool_1","n":1.50}]}}
        {"delta":{"reasoning_details":[{"type":"reasoning.summary","summary":"Su","index":1},{"type":"reasoning.summary","summary":"m","index":1}]}}
        {"delta":{"reasoning_details":[]},"finish_reason":"stop"}"#;
    let expected = concat!(
        r#"{"reasoning_details":[{"type":"reasoning.text","text":"I see","signature":"A\/b+=","format":"f","index":0},"#,
        r#"{"data": "x\/y",  "type":"reasoning.encrypted","id":"tool_1","n":1.50},"#,
        r#"{"type":"reasoning.summary","summary":"Sum","index":1}]}"#
    );
    assert_eq!(raw(Flavour::OpenRouter, lines).as_deref(), Some(expected));
    let native = sidecar(Flavour::OpenRouter, lines).unwrap();
    let message = replayed(Flavour::OpenRouter, "script", native.clone());
    let kept: Value = serde_json::from_str(expected).unwrap();
    assert_eq!(message["reasoning_details"], kept["reasoning_details"]);
    // The encrypted piece speaks of its call by this id.
    assert_eq!(message["tool_calls"][0]["id"], "tool_1");
    assert_eq!(replayed(Flavour::OpenRouter, "else", native)["reasoning_details"], Value::Null);
}

// K39: another provider, host or model gets nothing of it, not even as text.
#[test]
fn a_switch_drops_the_sidecar() {
    let native = sidecar(Flavour::DeepSeek, THOUGHT).unwrap();
    let message = replayed(Flavour::DeepSeek, "script", native.clone());
    assert_eq!(message["reasoning_content"], "I \"see\"\n🧗");
    let moved = [
        Native { provider: "else".into(), ..native.clone() },
        Native { host: "else.invalid".into(), ..native.clone() },
        Native { model: "two".into(), ..native.clone() },
        // Blocks of another dialect of the same provider.
        Native { raw: r#"[{"type":"reasoning"}]"#.into(), ..native.clone() },
        Native { raw: r#"{"reasoning_content":"x","signature":"y"}"#.into(), ..native.clone() },
        Native { raw: r#"["x"]"#.into(), ..native.clone() },
        Native { raw: r#"{"reasoning_content":{"x":1}}"#.into(), ..native.clone() },
        Native { raw: "no JSON".into(), ..native.clone() },
    ];
    for native in moved {
        let message = replayed(Flavour::DeepSeek, "script", native.clone());
        assert_eq!(message["reasoning_content"], "", "{native:?}");
        let message = replayed(Flavour::Local, "script", native.clone());
        assert_eq!(message["reasoning_content"], Value::Null, "{native:?}");
    }
    for flavour in [Flavour::OpenAi, Flavour::Mistral, Flavour::OpenRouter] {
        let message = replayed(flavour, "script", native.clone());
        let keys: Vec<_> = message.as_object().unwrap().keys().cloned().collect();
        assert_eq!(json!(keys), json!(["content", "role", "tool_calls"]));
    }
}
