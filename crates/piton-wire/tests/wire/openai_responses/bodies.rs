//! Exact bodies.

use expect_test::{Expect, expect};
use piton_core::event::{
    AnswerPart, BlobRef, ConfigChange, EffectClass, Event, FinishReason, Native, Outcome,
    PartialKind, ToolSpec, TurnEnd, Usage, UserPart,
};
use piton_core::id::{Attempt, CallId, Digest, MessageId, TurnId};
use piton_wire::cache::Cache;
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::openai_responses::rules::{codex_violations, violations};
use piton_wire::{Ask, Dialect, Effort};
use serde_json::Value;

use super::frame;
use crate::transcripts::{Journal, ask};

const RAW: &str = r#"[{"call":0,"reasoning":[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"caf\u00e9"}],"encrypted_content":"gA\u002fA","status":"completed"}]},{"text":0,"phase":"commentary"}]"#;

fn encode(dialect: &dyn Dialect, journal: &Journal, ask: &Ask) -> Value {
    let body = dialect.encode(&journal.transcript(), ask, &mut Cache::default());
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(violations(&body), [""; 0]);
    body
}

/// Shows one item a line.
fn check(journal: &Journal, ask: &Ask, expected: Expect) {
    let body = encode(&OpenAiResponses::Public, journal, ask);
    expected.assert_eq(&lines(body["input"].as_array().unwrap().iter().map(Value::to_string)));
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn native(ask: &Ask) -> Native {
    let (provider, host) = (ask.provider.clone(), ask.host.clone());
    Native { provider, host, model: ask.model.clone(), raw: RAW.into() }
}

fn reasoned(ask: &Ask) -> Journal {
    let mut journal = Journal::new();
    journal.user("Look.");
    journal.answer("Looking.", &[("look", r#"{"path":"a"}"#, "call_x")], Some(native(ask)));
    journal.finish(0, Outcome::Ok, "1");
    journal
}

// K49: all items, nothing stored, a cache key per conversation
#[test]
fn a_plain_turn() {
    let mut journal = Journal::new();
    journal.user("Hi");
    let body =
        OpenAiResponses::Public.encode(&journal.transcript(), &frame(), &mut Cache::default());
    expect![[r#"{"model":"gpt-5","instructions":"Be brief.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}],"tools":[{"type":"function","name":"look","description":"Looks.","parameters":{"type":"object","properties":{"path":{"type":"string"}}},"strict":false}],"tool_choice":"auto","parallel_tool_calls":true,"max_output_tokens":4096,"store":false,"stream":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"conversation"}"#]]
    .assert_eq(&String::from_utf8(body).unwrap());
}

#[test]
fn a_plain_turn_for_codex() {
    let mut journal = Journal::new();
    journal.user("Hi");
    let ask = Ask { effort: Some(Effort::High), ..ask("codex", "gpt-5-codex") };
    let body = OpenAiResponses::Codex.encode(&journal.transcript(), &ask, &mut Cache::default());
    expect![[r#"{"model":"gpt-5-codex","instructions":"Be brief.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}],"tools":[{"type":"function","name":"look","description":"Looks.","parameters":{"type":"object","properties":{"path":{"type":"string"}}},"strict":false}],"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"high","summary":"auto"},"store":false,"stream":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"conversation"}"#]]
    .assert_eq(&String::from_utf8(body).unwrap());
}

#[test]
fn codex_insists_on_instructions() {
    let mut journal = Journal::new();
    let change = ConfigChange { system: Some(" ".into()), ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change }).user("Hi");
    let body = encode(&OpenAiResponses::Codex, &journal, &frame());
    assert_eq!(codex_violations(&body), [""; 0]);
    assert_eq!(encode(&OpenAiResponses::Public, &journal, &frame()).get("instructions"), None);
}

// K53, K54: calls and results as pairs, with their arguments
#[test]
fn a_tool_loop_with_an_error() {
    let mut journal = Journal::new();
    journal.user("Look.");
    journal.answer(
        "Looking.",
        &[("look", r#"{"path":"a"}"#, "same"), ("look", r#"{"path":"b"}"#, "same")],
        None,
    );
    journal.finish(0, Outcome::Ok, "1").finish(1, Outcome::Failed, "no such file");
    journal.answer("There is one.", &[], None).end().user("Thanks.");
    check(
        &journal,
        &frame(),
        expect![[r#"
            {"content":[{"text":"Look.","type":"input_text"}],"role":"user","type":"message"}
            {"content":[{"text":"Looking.","type":"output_text"}],"role":"assistant","type":"message"}
            {"arguments":"{\"path\":\"a\"}","call_id":"call_1_1_0","name":"look","type":"function_call"}
            {"arguments":"{\"path\":\"b\"}","call_id":"call_1_1_1","name":"look","type":"function_call"}
            {"call_id":"call_1_1_0","output":"1","type":"function_call_output"}
            {"call_id":"call_1_1_1","output":"Error: no such file","type":"function_call_output"}
            {"content":[{"text":"There is one.","type":"output_text"}],"role":"assistant","type":"message"}
            {"content":[{"text":"Thanks.","type":"input_text"}],"role":"user","type":"message"}"#]],
    );
}

#[test]
fn an_injected_message_stands_behind_the_results() {
    let mut journal = Journal::new();
    journal.user("Look.").answer("", &[("look", "{}", "")], None);
    journal.finish(0, Outcome::Ok, "1").inject("And hurry.");
    check(
        &journal,
        &frame(),
        expect![[r#"
            {"content":[{"text":"Look.","type":"input_text"}],"role":"user","type":"message"}
            {"arguments":"{}","call_id":"call_1_1_0","name":"look","type":"function_call"}
            {"call_id":"call_1_1_0","output":"1","type":"function_call_output"}
            {"content":[{"text":"And hurry.","type":"input_text"}],"role":"user","type":"message"}"#]],
    );
}

#[test]
fn what_was_never_finished_is_answered_truthfully() {
    let mut journal = Journal::new();
    journal.user("Look.").answer("", &[("look", "{}", "a"), ("look", "{}", "b")], None);
    journal.finish(0, Outcome::Unknown, " ");
    journal.push(Event::TurnEnded { turn: TurnId(1), end: TurnEnd::Stopped }).user("Go on.");
    check(
        &journal,
        &frame(),
        expect![[r#"
            {"content":[{"text":"Look.","type":"input_text"}],"role":"user","type":"message"}
            {"arguments":"{}","call_id":"call_1_1_0","name":"look","type":"function_call"}
            {"arguments":"{}","call_id":"call_1_1_1","name":"look","type":"function_call"}
            {"call_id":"call_1_1_0","output":"Error: (no output)","type":"function_call_output"}
            {"call_id":"call_1_1_1","output":"Error: Interrupted before it was run; it had no effect.","type":"function_call_output"}
            {"content":[{"text":"Go on.","type":"input_text"}],"role":"user","type":"message"}"#]],
    );
}

#[test]
fn a_cut_off_answer_says_so() {
    let mut journal = Journal::new();
    journal.user("Tell.");
    journal.push(Event::ModelAsked {
        step: 1,
        attempt: Attempt::FIRST,
        model: "script/one".parse().unwrap(),
        digest: Digest::new("0"),
        tokens_estimated: 0,
    });
    journal.push(Event::ModelPartial { kind: PartialKind::Text, text: "Once upon".into() });
    journal.push(Event::TurnEnded { turn: TurnId(1), end: TurnEnd::Stopped }).user("Go on.");
    check(
        &journal,
        &frame(),
        expect![[r#"
            {"content":[{"text":"Tell.","type":"input_text"}],"role":"user","type":"message"}
            {"content":[{"text":"Once upon\n\n[This answer was cut off here; it was never finished.]","type":"output_text"}],"role":"assistant","type":"message"}
            {"content":[{"text":"Go on.","type":"input_text"}],"role":"user","type":"message"}"#]],
    );
}

// X8, K14: replayed verbatim, without its id
#[test]
fn reasoning_goes_back_to_where_it_came_from() {
    let journal = reasoned(&frame());
    let body =
        OpenAiResponses::Public.encode(&journal.transcript(), &frame(), &mut Cache::default());
    let body = String::from_utf8(body).unwrap();
    let (_, input) = body.split_once("\"input\":").unwrap();
    let (input, _) = input.split_once(",\"tools\"").unwrap();
    expect![[r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}],"phase":"commentary"},{"type":"reasoning","summary":[{"type":"summary_text","text":"caf\u00e9"}],"encrypted_content":"gA\u002fA"},{"type":"function_call","call_id":"call_1_1_0","name":"look","arguments":"{\"path\":\"a\"}"},{"type":"function_call_output","call_id":"call_1_1_0","output":"1"}]"#]]
    .assert_eq(input);
}

// X8, K39, J52: another provider, host or model gets text and calls only
#[test]
fn reasoning_does_not_go_elsewhere() {
    let journal = reasoned(&frame());
    check(
        &journal,
        &ask("other", "gpt-5"),
        expect![[r#"
            {"content":[{"text":"Look.","type":"input_text"}],"role":"user","type":"message"}
            {"content":[{"text":"Looking.","type":"output_text"}],"role":"assistant","type":"message"}
            {"arguments":"{\"path\":\"a\"}","call_id":"call_1_1_0","name":"look","type":"function_call"}
            {"call_id":"call_1_1_0","output":"1","type":"function_call_output"}"#]],
    );
    let there = Ask { host: "elsewhere.invalid".into(), ..frame() };
    let newer = Ask { model: "gpt-6".into(), ..frame() };
    let other = encode(&OpenAiResponses::Public, &journal, &ask("other", "gpt-5"))["input"].clone();
    for ask in [there, newer] {
        assert_eq!(encode(&OpenAiResponses::Public, &journal, &ask)["input"], other);
    }
}

#[test]
fn natives_of_others_or_broken_ones_are_left_out() {
    let plain = encode(&OpenAiResponses::Public, &reasoned(&ask("other", "x")), &frame());
    for raw in [
        "",
        "no json",
        "{}",
        r#"[{"call":0,"reasoning":[{"summary":[]}]}]"#,
        r#"[{"call":0,"reasoning":[{"summary":[],"encrypted_content":null}]}]"#,
        r#"[{"call":5,"reasoning":[{"summary":[],"encrypted_content":"x"}]}]"#,
        r#"[{"text":0,"phase":"other"}]"#,
    ] {
        let mut journal = Journal::new();
        journal.user("Look.");
        let native = Native { raw: raw.into(), ..native(&frame()) };
        journal.answer("Looking.", &[("look", r#"{"path":"a"}"#, "call_x")], Some(native));
        journal.finish(0, Outcome::Ok, "1");
        assert_eq!(
            encode(&OpenAiResponses::Public, &journal, &frame())["input"],
            plain["input"],
            "{raw}"
        );
    }
}

#[test]
fn deepseek_gets_its_calls_in_a_row() {
    let ask = ask("deepseek", "deepseek-v4");
    check(
        &reasoned(&ask),
        &ask,
        expect![[r#"
            {"content":[{"text":"Look.","type":"input_text"}],"role":"user","type":"message"}
            {"encrypted_content":"gA/A","summary":[{"text":"café","type":"summary_text"}],"type":"reasoning"}
            {"content":[{"text":"Looking.","type":"output_text"}],"phase":"commentary","role":"assistant","type":"message"}
            {"arguments":"{\"path\":\"a\"}","call_id":"call_1_1_0","name":"look","type":"function_call"}
            {"call_id":"call_1_1_0","output":"1","type":"function_call_output"}"#]],
    );
}

// Pitfall 4: text may stand behind and between calls here
#[test]
fn an_answer_keeps_its_order_where_the_server_can_take_it() {
    let mut journal = Journal::new();
    journal.user("Look.");
    journal.push(Event::ModelAsked {
        step: 1,
        attempt: Attempt::FIRST,
        model: "script/one".parse().unwrap(),
        digest: Digest::new("0"),
        tokens_estimated: 0,
    });
    let call = |index| AnswerPart::Call {
        call: CallId { turn: TurnId(1), step: 1, index },
        provider_id: None,
        name: "look".into(),
        arguments: "{}".into(),
    };
    let reasoning = AnswerPart::Reasoning { text: "For people.".into() };
    let text = AnswerPart::Text { text: "Between.".into() };
    let parts = vec![reasoning, call(0), text, call(1)];
    let (finish, usage) = (FinishReason::ToolCalls, Usage::default());
    let (dropped, native) = (vec!["cut".into()], None);
    journal.push(Event::ModelAnswered { parts, finish, usage, dropped, native });
    check(
        &journal,
        &frame(),
        expect![[r#"
            {"content":[{"text":"Look.","type":"input_text"}],"role":"user","type":"message"}
            {"arguments":"{}","call_id":"call_1_1_0","name":"look","type":"function_call"}
            {"content":[{"text":"Between.","type":"output_text"}],"role":"assistant","type":"message"}
            {"arguments":"{}","call_id":"call_1_1_1","name":"look","type":"function_call"}
            {"call_id":"call_1_1_0","output":"Error: Interrupted before it was run; it had no effect.","type":"function_call_output"}
            {"call_id":"call_1_1_1","output":"Error: Interrupted before it was run; it had no effect.","type":"function_call_output"}
            {"content":[{"text":"These calls were cut off by the output limit and not run: cut. Repeat what is still needed, with shorter arguments.","type":"input_text"}],"role":"user","type":"message"}"#]],
    );
    check(
        &journal,
        &ask("deepseek", "deepseek-v4"),
        expect![[r#"
            {"content":[{"text":"Look.","type":"input_text"}],"role":"user","type":"message"}
            {"content":[{"text":"Between.","type":"output_text"}],"role":"assistant","type":"message"}
            {"arguments":"{}","call_id":"call_1_1_0","name":"look","type":"function_call"}
            {"arguments":"{}","call_id":"call_1_1_1","name":"look","type":"function_call"}
            {"call_id":"call_1_1_0","output":"Error: Interrupted before it was run; it had no effect.","type":"function_call_output"}
            {"call_id":"call_1_1_1","output":"Error: Interrupted before it was run; it had no effect.","type":"function_call_output"}
            {"content":[{"text":"These calls were cut off by the output limit and not run: cut. Repeat what is still needed, with shorter arguments.","type":"input_text"}],"role":"user","type":"message"}"#]],
    );
}

// K54: the model sees what it wrote
#[test]
fn arguments_are_always_an_object() {
    let mut journal = Journal::new();
    journal.user("Look.");
    let calls =
        [("look", "{\"a\":", ""), ("look", "[1]", ""), ("look", "", ""), ("look", " {} ", "")];
    journal.answer("", &calls, None);
    let body = encode(&OpenAiResponses::Public, &journal, &frame());
    let items = body["input"].as_array().unwrap().iter();
    let arguments: Vec<_> = items.filter_map(|item| item["arguments"].as_str()).collect();
    assert_eq!(
        arguments,
        [
            r#"{"invalid_arguments":"{\"a\":"}"#,
            r#"{"invalid_arguments":"[1]"}"#,
            r#"{"invalid_arguments":""}"#,
            " {} "
        ]
    );
}

#[test]
fn files_are_told_apart_from_what_was_typed() {
    let mut journal = Journal::new();
    journal.push(Event::TurnStarted { turn: TurnId(1), agent: None });
    let blob = BlobRef { digest: Digest::new("0"), bytes: 12 };
    let (name, media_type) = ("a.txt".to_owned(), "text/plain".to_owned());
    let parts = vec![
        UserPart::text("See."),
        UserPart::InlinedFile { name, media_type, text: "content".into() },
        UserPart::File { name: "b.png".into(), media_type: "image/png".into(), blob },
    ];
    let message = MessageId::new("m");
    journal.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST });
    check(
        &journal,
        &frame(),
        expect![[
            r#"{"content":[{"text":"See.","type":"input_text"},{"text":"Attached file: a.txt\nMIME: text/plain\ncontent","type":"input_text"},{"text":"Attached file: b.png\nMIME: image/png\n(Its content is lost.)","type":"input_text"}],"role":"user","type":"message"}"#
        ]],
    );
}

#[test]
fn tools_are_mended_where_a_server_would_reject_them() {
    let tool =
        |name: &str, parameters: &str| ToolSpec::new(name, "", parameters, EffectClass::ReadOnly);
    let long = "long".repeat(20);
    let tools = vec![
        tool("a", "{}"),
        tool("a", "{}"),
        tool("b", r#" {"properties":{"x":{}}} "#),
        tool("c", r#"{ "type": "object" }"#),
        tool("mcp/files.read", r#"{"type":"string"}"#),
        tool("mcp.files.read", "no schema"),
        tool("1st", "[]"),
        tool(&long, ""),
        tool("null", r#"{"type":null}"#),
        tool("none", r#"{"properties":null}"#),
    ];
    let mut journal = Journal::new();
    let change = ConfigChange { tools: Some(tools), ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change }).user("Hi");
    journal.answer("", &[("mcp/files.read", "{}", "")], None);
    let body = encode(&OpenAiResponses::Public, &journal, &frame());
    let tools = body["tools"].as_array().unwrap().iter();
    let tools = tools.map(|tool| format!("{} {}", tool["name"], tool["parameters"]));
    expect![[r#"
        "a" {"properties":{},"type":"object"}
        "b" {"properties":{"x":{}},"type":"object"}
        "c" {"properties":{},"type":"object"}
        "mcp_files_read_8bd3dc0b" {"properties":{},"type":"object"}
        "mcp_files_read_c439fe14" {"properties":{},"type":"object"}
        "_1st_176bc8cb" {"properties":{},"type":"object"}
        "longlonglonglonglonglonglonglonglonglonglonglonglonglon_db2456f5" {"properties":{},"type":"object"}
        "null" {"properties":{},"type":"object"}
        "none" {"properties":{},"type":"object"}"#]]
    .assert_eq(&lines(tools));
    assert_eq!(body["input"][1]["name"], body["tools"][3]["name"]);
}

#[test]
fn settings_follow_the_model() {
    let mut journal = Journal::new();
    journal.user("Hi");
    let effort = Some(Effort::Low);
    let small = Ask { max_tokens: Some(1), effort, ..frame() };
    let body = encode(&OpenAiResponses::Public, &journal, &small);
    assert_eq!(body["max_output_tokens"], 16);
    assert_eq!(body["reasoning"]["effort"], "low");
    for model in ["gpt-4o", "openai/gpt-4.1", "chatgpt-4o-latest", "gpt-5-chat-latest"] {
        let plain = Ask { max_tokens: None, effort, ..ask("openai", model) };
        let body = encode(&OpenAiResponses::Public, &journal, &plain);
        for key in ["include", "reasoning", "max_output_tokens"] {
            assert_eq!(body.get(key), None, "{model}");
        }
    }
}

#[test]
fn cache_keys_fit() {
    let mut journal = Journal::new();
    journal.user("Hi");
    let key = |cache_key: &str| {
        let ask = Ask { cache_key: cache_key.into(), ..frame() };
        encode(&OpenAiResponses::Public, &journal, &ask)["prompt_cache_key"].clone()
    };
    assert_eq!(key(""), Value::Null);
    assert_eq!(key(&"k".repeat(64)), "k".repeat(64));
    let (one, two) = (key(&"k".repeat(65)), key(&"k".repeat(66)));
    assert_eq!(one.as_str().unwrap().len(), 64);
    assert_ne!(one, two);
    assert!(key(&"ü ".repeat(65)).as_str().unwrap().len() <= 64);
}

#[test]
fn paths_and_headers() {
    let names = |dialect: &dyn Dialect| {
        assert_eq!(dialect.path(&frame()), "/responses");
        let headers = dialect.headers(&Ask { cache_key: "a\nb".into(), ..frame() });
        lines(headers.iter().map(|(name, value)| format!("{name}: {value}")))
    };
    expect![[r#"
        content-type: application/json
        accept: text/event-stream"#]]
    .assert_eq(&names(&OpenAiResponses::Public));
    expect![[r#"
        content-type: application/json
        accept: text/event-stream
        originator: piton
        openai-beta: responses=experimental
        session-id: ab
        thread-id: ab"#]]
    .assert_eq(&names(&OpenAiResponses::Codex));
}

#[test]
fn a_warm_cache_changes_nothing() {
    let mut cache = Cache::default();
    let mut journal = Journal::new();
    let mut same = |journal: &Journal, ask: &Ask| {
        let transcript = journal.transcript();
        let cold = OpenAiResponses::Public.encode(&transcript, ask, &mut Cache::default());
        assert_eq!(OpenAiResponses::Public.encode(&transcript, ask, &mut cache), cold);
    };
    same(journal.user("Look."), &frame());
    same(journal.answer("So", &[("look", "{}", "a")], Some(native(&frame()))), &frame());
    same(journal.finish(0, Outcome::Ok, "1"), &frame());
    same(journal.inject("Hurry."), &frame());
    same(&journal, &ask("other", "gpt-5"));
    same(journal.push(Event::TurnEnded { turn: TurnId(1), end: TurnEnd::Discarded }), &frame());
    same(journal.user("Again."), &frame());
}
