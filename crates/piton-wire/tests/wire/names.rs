//! Tools of any name: each has a name of its own on the wire, and comes back under its real one.

use piton_core::answer::{Answer, Partial};
use piton_core::event::{AnswerPart, ConfigChange, EffectClass, Event, Outcome, ToolSpec};
use piton_core::id::TurnId;
use piton_wire::Dialect;
use piton_wire::anthropic::{self, Anthropic};
use piton_wire::cache::Cache;
use piton_wire::gemini::{self, Gemini};
use piton_wire::openai_chat::{self, Flavour, OpenAiChat};
use piton_wire::openai_responses::{self, OpenAiResponses};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::transcripts::{Journal, ask};

/// A dialect, where its bodies name the tools, and how it streams a call.
struct Case {
    dialect: Box<dyn Dialect>,
    tools: fn(&Value) -> Vec<&Value>,
    call: fn(&str) -> Vec<Value>,
    violations: fn(&Value) -> Vec<String>,
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn flat_names(body: &Value) -> Vec<&Value> {
    list(&body["tools"]).iter().map(|tool| &tool["name"]).collect()
}

fn cases() -> Vec<Case> {
    let item = |name: &str| {
        let item = json!({"type": "function_call", "id": "f", "call_id": "c", "name": name,
            "arguments": "{}"});
        vec![
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ]
    };
    vec![
        Case {
            dialect: Box::new(Anthropic),
            tools: flat_names,
            call: |name| {
                let block = json!({"type": "tool_use", "id": "c", "name": name, "input": {}});
                vec![
                    json!({"type": "message_start", "message": {"id": "m"}}),
                    json!({"type": "content_block_start", "index": 0, "content_block": block}),
                    json!({"type": "content_block_stop", "index": 0}),
                    json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
                    json!({"type": "message_stop"}),
                ]
            },
            violations: anthropic::rules::violations,
        },
        Case {
            dialect: Box::new(OpenAiChat { flavour: Flavour::OpenAi }),
            tools: |body| list(&body["tools"]).iter().map(|it| &it["function"]["name"]).collect(),
            call: |name| {
                let function = json!({"name": name, "arguments": "{}"});
                let calls = json!([{"index": 0, "id": "c", "function": function}]);
                vec![
                    json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}),
                    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
                ]
            },
            violations: openai_chat::rules::violations,
        },
        Case {
            dialect: Box::new(OpenAiResponses::Public),
            tools: flat_names,
            call: item,
            violations: openai_responses::rules::violations,
        },
        Case {
            dialect: Box::new(OpenAiResponses::Codex),
            tools: flat_names,
            call: item,
            violations: openai_responses::rules::codex_violations,
        },
        Case {
            dialect: Box::new(Gemini),
            tools: |body| {
                let declared = list(&body["tools"][0]["functionDeclarations"]);
                declared.iter().map(|tool| &tool["name"]).collect()
            },
            call: |name| {
                let call = json!({"functionCall": {"name": name, "args": {}},
                    "thoughtSignature": "c2ln"});
                vec![json!({"candidates": [{"content": {"parts": [call]},
                    "finishReason": "STOP"}]})]
            },
            violations: gemini::rules::violations,
        },
    ]
}

fn offer(names: &[String]) -> Vec<ToolSpec> {
    let tool = |name: &String| {
        ToolSpec::new(name.clone(), "Does.", r#"{"type":"object"}"#, EffectClass::Once)
    };
    names.iter().map(tool).collect()
}

fn answer(case: &Case, tools: &[ToolSpec], wire: &str) -> Answer {
    let mut decoder = case.dialect.decoder(tools, &ask("test", "gemini-3-pro"));
    let (mut deltas, mut partial) = (Vec::new(), Partial::default());
    for event in (case.call)(wire) {
        decoder.push(format!("data: {event}\n\n").as_bytes(), &mut deltas).unwrap();
    }
    decoder.end(&mut deltas).unwrap();
    for delta in deltas {
        partial.push(delta);
    }
    partial.finish(TurnId(1), 1).unwrap()
}

fn check(case: &Case, names: &[String]) {
    let tools = offer(names);
    let mut distinct: Vec<&String> = Vec::new();
    for name in names {
        if !name.is_empty() && !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    let mut journal = Journal::new();
    let change = ConfigChange { tools: Some(tools.clone()), ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change }).user("go");
    let ask = ask("test", "gemini-3-pro");
    let body = case.dialect.encode(&journal.transcript(), &ask, &mut Cache::default());
    let json: Value = serde_json::from_slice(&body).unwrap();
    let wire: Vec<&str> = (case.tools)(&json).iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(wire.len(), distinct.len(), "{:?}: {wire:?}", case.dialect);
    for (real, wire) in distinct.iter().zip(wire) {
        let answer = answer(case, &tools, wire);
        let [AnswerPart::Call { name, .. }] = &*answer.parts else { panic!("{answer:?}") };
        assert_eq!(name, *real, "{:?}", case.dialect);
        // And out again, with whatever native blocks came along.
        let mut journal = Journal::new();
        let change = ConfigChange { tools: Some(tools.clone()), ..ConfigChange::default() };
        journal.push(Event::ConfigChanged { change }).user("go");
        journal.answer("", &[(name, "{}", "")], answer.native).finish(0, Outcome::Ok, "done");
        let body = case.dialect.encode(&journal.transcript(), &ask, &mut Cache::default());
        let json: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((case.violations)(&json), [""; 0], "{:?}", case.dialect);
        let sent = String::from_utf8(body).unwrap();
        let quoted = format!("\"{wire}\"");
        // Declared, called and, where results have names, answered.
        let times = if sent.contains("functionResponse") { 3 } else { 2 };
        assert_eq!(sent.matches(&quoted).count(), times, "{:?}: {sent}", case.dialect);
        assert_eq!(sent.contains("c2ln"), sent.contains("functionResponse"), "replayed as it came");
    }
}

#[test]
fn any_registry_name_works_in_each_dialect() {
    let names = ["look", "server.tool/x", "server.tool.x", "日本語", "", "9lives", "a b", "a_b"];
    let mut names: Vec<String> = names.map(String::from).to_vec();
    names.push("mcp__a_long_server_name__".repeat(4));
    for case in cases() {
        check(&case, &names);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn names_have_a_way_back(names in prop::collection::vec(
        prop_oneof![any::<String>(), "[a-b./ -]{0,2}", "[a-z0-9_-]{1,9}", "[a-z.]{60,70}"], 1..6,
    )) {
        for case in cases() {
            check(&case, &names);
        }
    }
}
