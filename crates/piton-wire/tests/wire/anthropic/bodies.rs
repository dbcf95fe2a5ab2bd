//! What is sent, byte for byte.

use expect_test::{Expect, expect};
use piton_core::event::{
    AnswerPart, BlobRef, ConfigChange, Event, FinishReason, Native, Outcome, PartialKind, TurnEnd,
    Usage, UserPart,
};
use piton_core::id::{Attempt, CallId, Digest, MessageId, TurnId};
use piton_wire::anthropic::{Anthropic, rules};
use piton_wire::cache::Cache;
use piton_wire::{Ask, Dialect as _, Effort};

use crate::transcripts::{self, Journal};

const OPUS: &str = "claude-opus-4-7";
const SONNET: &str = "claude-sonnet-4-5";

fn ask(model: &str, effort: Option<Effort>) -> Ask {
    Ask { effort, ..transcripts::ask("anthropic", model) }
}

fn encode(journal: &Journal, ask: &Ask) -> String {
    let body = Anthropic.encode(&journal.transcript(), ask, &mut Cache::default());
    let body = String::from_utf8(body).unwrap();
    let value = serde_json::from_str(&body).unwrap();
    assert_eq!(rules::violations(&value), [""; 0], "{body}");
    body
}

/// Compares the body, with a line break before each message and each tool.
fn check(journal: &Journal, ask: &Ask, expected: Expect) {
    let body = encode(journal, ask);
    expected
        .assert_eq(&body.replace("{\"role\"", "\n{\"role\"").replace("{\"name\"", "\n{\"name\""));
}

/// Compares the messages only.
fn check_messages(journal: &Journal, ask: &Ask, expected: Expect) {
    let body = encode(journal, ask);
    let (_, messages) = body.split_once(",\"messages\":[").unwrap();
    let messages = messages.strip_suffix("]}").unwrap();
    expected.assert_eq(&messages.replace(",{\"role\"", "\n{\"role\""));
}

fn native(model: &str, raw: &str) -> Native {
    let Ask { provider, host, model, .. } = transcripts::ask("anthropic", model);
    Native { provider, host, model, raw: raw.into() }
}

const THOUGHT: &str = r#"[{"before":0,"block":{"type":"thinking","thinking":"Hm. \u00e4","signature":"c2ln"}},{"before":1,"block":{"type":"redacted_thinking", "data":"eA=="}}]"#;

#[test]
fn a_plain_turn() {
    let mut journal = Journal::new();
    journal.user("Hello \"you\"\n");
    check(
        &journal,
        &ask(OPUS, None),
        expect![[r#"
        {"model":"claude-opus-4-7","max_tokens":4096,"stream":true,"tools":[
        {"name":"look","description":"Looks.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
        {"role":"user","content":[{"type":"text","text":"Hello \"you\"\n","cache_control":{"type":"ephemeral"}}]}]}"#]],
    );
    assert_eq!(Anthropic.path(&ask(OPUS, None)), "/v1/messages");
}

// K53, K54, K55
#[test]
fn a_tool_loop() {
    let mut journal = Journal::new();
    journal.user("Look.").answer(
        "I look.",
        &[("look", r#"{"path": "a"}"#, "toolu_1"), ("look", r#"{"path":"b"}"#, "toolu_1")],
        None,
    );
    journal.finish(1, Outcome::Failed, "no such file").finish(0, Outcome::Ok, "  ");
    journal.answer("Found.", &[], None).end().user("Thanks.");
    check_messages(
        &journal,
        &ask(OPUS, None),
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Look."}]}
        {"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"call_1_1_0","name":"look","input":{"path": "a"}},{"type":"tool_use","id":"call_1_1_1","name":"look","input":{"path":"b"}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_1_0","content":"(no output)"},{"type":"tool_result","tool_use_id":"call_1_1_1","content":"no such file","is_error":true,"cache_control":{"type":"ephemeral"}}]}
        {"role":"assistant","content":[{"type":"text","text":"Found."}]}
        {"role":"user","content":[{"type":"text","text":"Thanks.","cache_control":{"type":"ephemeral"}}]}"#]],
    );
}

// An open call gets a truthful result before what the user says behind it; results come first.
#[test]
fn an_injected_message_stands_behind_the_results() {
    let mut journal = Journal::new();
    journal.user("Look.").answer("", &[("look", "{}", "")], None);
    journal.finish(0, Outcome::Denied, "The user said no.").inject("Never mind.");
    check_messages(
        &journal,
        &ask(OPUS, None),
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Look.","cache_control":{"type":"ephemeral"}}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"call_1_1_0","name":"look","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_1_0","content":"The user said no.","is_error":true},{"type":"text","text":"Never mind.","cache_control":{"type":"ephemeral"}}]}"#]],
    );
}

#[test]
fn an_answer_that_was_cut_off() {
    let mut journal = Journal::new();
    journal.user("Tell me.");
    journal.push(Event::ModelAsked {
        step: 1,
        attempt: Attempt::FIRST,
        model: "script/one".parse().unwrap(),
        digest: Digest::new("0"),
        tokens_estimated: 0,
    });
    let text = "Once upon".into();
    journal.push(Event::ModelPartial { kind: PartialKind::Text, text });
    journal.push(Event::TurnEnded { turn: TurnId(1), end: TurnEnd::Stopped });
    check_messages(
        &journal,
        &ask(OPUS, None),
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Tell me.","cache_control":{"type":"ephemeral"}}]}
        {"role":"assistant","content":[{"type":"text","text":"Once upon\n\n[This answer was cut off here; it was never finished.]"}]}
        {"role":"user","content":[{"type":"text","text":"Continue.","cache_control":{"type":"ephemeral"}}]}"#]],
    );
    journal.user("Go on.");
    check_messages(
        &journal,
        &ask(OPUS, None),
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Tell me.","cache_control":{"type":"ephemeral"}}]}
        {"role":"assistant","content":[{"type":"text","text":"Once upon\n\n[This answer was cut off here; it was never finished.]"}]}
        {"role":"user","content":[{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}"#]],
    );
}

// Pitfall 4: legal elsewhere, fatal here.
#[test]
fn text_behind_a_call_moves_before_it() {
    let mut journal = Journal::new();
    journal.user("Look.").push(Event::ModelAsked {
        step: 1,
        attempt: Attempt::FIRST,
        model: "script/one".parse().unwrap(),
        digest: Digest::new("0"),
        tokens_estimated: 0,
    });
    let call = CallId { turn: TurnId(1), step: 1, index: 0 };
    let parts = vec![
        AnswerPart::Reasoning { text: "private".into() },
        AnswerPart::Text { text: "Before.".into() },
        AnswerPart::Call {
            call,
            provider_id: Some("functions.look:0".into()),
            name: "look".into(),
            arguments: "{}".into(),
        },
        AnswerPart::Text { text: "After.".into() },
    ];
    let (finish, usage, dropped) = (FinishReason::ToolCalls, Usage::default(), Vec::new());
    journal.push(Event::ModelAnswered { parts, finish, usage, dropped, native: None });
    check_messages(
        &journal,
        &ask(OPUS, None),
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Look.","cache_control":{"type":"ephemeral"}}]}
        {"role":"assistant","content":[{"type":"text","text":"Before."},{"type":"text","text":"After."},{"type":"tool_use","id":"call_1_1_0","name":"look","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_1_0","content":"Interrupted before it was run; it had no effect.","is_error":true,"cache_control":{"type":"ephemeral"}}]}"#]],
    );
}

// K51, K54, O30: the model sees what it wrote, in a form that the service takes.
#[test]
fn odd_names_and_arguments_are_mended() {
    let mut journal = Journal::new();
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(90), "]".repeat(90));
    journal.user("Look.").answer(
        "",
        &[
            ("mcp.files/read", "", "x"),
            ("", "[1, 2]", "x"),
            ("look", "{\"path\": \"a", "x"),
            ("look", "{\"a\": 1e999}", "x"),
            ("look", "{\"a\": \"\\ud800\"}", "x"),
            ("look", &deep, "x"),
            ("look", " {\"a\" : 1.0} ", "x"),
        ],
        None,
    );
    check_messages(
        &journal,
        &ask(OPUS, None),
        expect![[r#"
            {"role":"user","content":[{"type":"text","text":"Look.","cache_control":{"type":"ephemeral"}}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"call_1_1_0","name":"mcp_files_read_26ba0aa7","input":{}},{"type":"tool_use","id":"call_1_1_2","name":"look","input":{"unreadable_arguments":"{\"path\": \"a"}},{"type":"tool_use","id":"call_1_1_3","name":"look","input":{"unreadable_arguments":"{\"a\": 1e999}"}},{"type":"tool_use","id":"call_1_1_4","name":"look","input":{"unreadable_arguments":"{\"a\": \"\\ud800\"}"}},{"type":"tool_use","id":"call_1_1_5","name":"look","input":{"unreadable_arguments":"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}"}},{"type":"tool_use","id":"call_1_1_6","name":"look","input":{"a" : 1.0}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_1_0","content":"Interrupted before it was run; it had no effect.","is_error":true},{"type":"tool_result","tool_use_id":"call_1_1_2","content":"Interrupted before it was run; it had no effect.","is_error":true},{"type":"tool_result","tool_use_id":"call_1_1_3","content":"Interrupted before it was run; it had no effect.","is_error":true},{"type":"tool_result","tool_use_id":"call_1_1_4","content":"Interrupted before it was run; it had no effect.","is_error":true},{"type":"tool_result","tool_use_id":"call_1_1_5","content":"Interrupted before it was run; it had no effect.","is_error":true},{"type":"tool_result","tool_use_id":"call_1_1_6","content":"Interrupted before it was run; it had no effect.","is_error":true,"cache_control":{"type":"ephemeral"}}]}"#]],
    );
}

#[test]
fn files_are_named() {
    let mut journal = Journal::new();
    let parts = vec![
        UserPart::text("See:"),
        UserPart::InlinedFile {
            name: "a.txt".into(),
            media_type: "text/plain".into(),
            text: "one\ntwo".into(),
        },
        UserPart::File {
            name: "b.png".into(),
            media_type: "image/png".into(),
            blob: BlobRef { digest: Digest::new("00"), bytes: 12 },
        },
    ];
    journal.user("Hello.").push(Event::UserMessage {
        message: MessageId::new("files"),
        parts,
        attempt: Attempt::FIRST,
    });
    check_messages(
        &journal,
        &ask(OPUS, None),
        expect![[
            r#"{"role":"user","content":[{"type":"text","text":"Hello."},{"type":"text","text":"See:"},{"type":"text","text":"Attached file: a.txt\nMIME: text/plain\none\ntwo"},{"type":"text","text":"Attached file: b.png\nMIME: image/png\n(Its content is lost.)","cache_control":{"type":"ephemeral"}}]}"#
        ]],
    );
}

// K14, K48, X8
#[test]
fn thoughts_go_back_to_where_they_came_from_and_nowhere_else() {
    let mut journal = Journal::new();
    journal.user("Look.").answer("I look.", &[("look", "{}", "")], Some(native(OPUS, THOUGHT)));
    journal.finish(0, Outcome::Ok, "a");
    check_messages(
        &journal,
        &ask(OPUS, Some(Effort::High)),
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Look.","cache_control":{"type":"ephemeral"}}]}
        {"role":"assistant","content":[{"type":"thinking","thinking":"Hm. \u00e4","signature":"c2ln"},{"type":"text","text":"I look."},{"type":"redacted_thinking", "data":"eA=="},{"type":"tool_use","id":"call_1_1_0","name":"look","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_1_0","content":"a","cache_control":{"type":"ephemeral"}}]}"#]],
    );
    let bare = encode(&journal, &ask("claude-opus-4-8", None));
    assert!(!bare.contains("Hm.") && !bare.contains("redacted"), "{bare}");
    let other_host = Ask { host: "gateway.invalid".into(), ..ask(OPUS, Some(Effort::High)) };
    assert!(!encode(&journal, &other_host).contains("Hm."));
    let other_provider = Ask { provider: "bedrock".into(), ..ask(OPUS, Some(Effort::High)) };
    assert!(!encode(&journal, &other_provider).contains("Hm."));
}

// J52: all thoughts of a message, or none.
#[test]
fn thoughts_that_cannot_be_proved_are_dropped_together() {
    for raw in [
        "",
        "null",
        "[{\"before\":0,\"block\":{\"type\":\"thinking\",\"thinking\":\"Hm.\",\"signature\":\"\"}}]",
        "[{\"before\":0,\"block\":{\"type\":\"text\",\"text\":\"Hm.\"}}]",
        "[{\"before\":0,\"block\":{\"type\":\"thinking\",\"thinking\":\"Hm.\",\"signature\":\"s\"}},{\"before\":0,\"block\":{}}]",
    ] {
        let mut journal = Journal::new();
        journal.user("Look.").answer("I look.", &[("look", "{}", "")], Some(native(OPUS, raw)));
        assert!(!encode(&journal, &ask(OPUS, Some(Effort::High))).contains("Hm."), "{raw}");
    }
}

#[test]
fn effort_is_asked_for_in_the_form_that_the_model_takes() {
    let mut journal = Journal::new();
    journal.user("Hello.");
    let head = |ask: &Ask| {
        let body = encode(&journal, ask);
        body.split_once(",\"tools\"").unwrap().0.to_owned()
    };
    let heads = [
        head(&ask(OPUS, Some(Effort::Low))),
        head(&ask(SONNET, Some(Effort::High))),
        head(&ask("claude-3-5-haiku-latest", Some(Effort::High))),
        head(&Ask { max_tokens: Some(1000), ..ask(SONNET, Some(Effort::High)) }),
        head(&Ask { max_tokens: None, ..ask(SONNET, Some(Effort::Medium)) }),
    ];
    expect![[r#"
        {"model":"claude-opus-4-7","max_tokens":4096,"stream":true,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}
        {"model":"claude-sonnet-4-5","max_tokens":4096,"stream":true,"thinking":{"type":"enabled","budget_tokens":3072}
        {"model":"claude-3-5-haiku-latest","max_tokens":4096,"stream":true
        {"model":"claude-sonnet-4-5","max_tokens":1000,"stream":true
        {"model":"claude-sonnet-4-5","max_tokens":32000,"stream":true,"thinking":{"type":"enabled","budget_tokens":8192}"#]].assert_eq(&heads.join("\n"));
}

// With a budget, an open loop must begin with a thought: after a switch, the rest of the loop goes
// on without thinking, and the next turn thinks again.
#[test]
fn a_loop_that_another_model_began_goes_on_without_thinking() {
    let thinks = |journal: &Journal| {
        encode(journal, &ask(SONNET, Some(Effort::High))).contains("\"thinking\":{")
    };
    let mut journal = Journal::new();
    journal.user("Look.").answer("", &[("look", "{}", "")], Some(native(OPUS, THOUGHT)));
    journal.finish(0, Outcome::Ok, "a");
    assert!(!thinks(&journal));
    journal.answer("", &[("look", "{}", "")], Some(native(SONNET, THOUGHT)));
    journal.finish(0, Outcome::Ok, "a").inject("And?");
    assert!(!thinks(&journal));
    journal.answer("Done.", &[], None).end().user("Again.");
    assert!(thinks(&journal));
    journal.answer("", &[("look", "{}", "")], Some(native(SONNET, THOUGHT)));
    journal.finish(0, Outcome::Ok, "a");
    assert!(thinks(&journal));
    // A thought behind a text is not at the beginning.
    let late = THOUGHT.replace("\"before\":0", "\"before\":1");
    let mut other = Journal::new();
    other.user("Look.").answer("I look.", &[("look", "{}", "")], Some(native(SONNET, &late)));
    assert!(!thinks(&other));
    // Asked for nothing, such a model is not shown its old thoughts either.
    assert!(!encode(&journal, &ask(SONNET, None)).contains("Hm."));
}

#[test]
fn what_would_end_with_the_model_asks_it_to_go_on() {
    let mut journal = Journal::new();
    check_messages(
        &journal,
        &ask(OPUS, None),
        expect![[
            r#"{"role":"user","content":[{"type":"text","text":"Continue.","cache_control":{"type":"ephemeral"}}]}"#
        ]],
    );
    journal.user("Hello.").answer("Hi. ", &[], None).end();
    check_messages(
        &journal,
        &ask(OPUS, None),
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Hello.","cache_control":{"type":"ephemeral"}}]}
        {"role":"assistant","content":[{"type":"text","text":"Hi. "}]}
        {"role":"user","content":[{"type":"text","text":"Continue.","cache_control":{"type":"ephemeral"}}]}"#]],
    );
}

// The service takes control characters for nothing. The message keeps its place all the same: the request
// that ended with it was answered.
#[test]
fn a_message_of_blanks_keeps_its_place_between_two_answers() {
    let mut journal = Journal::new();
    journal.user("Hello.").answer("Hi.", &[], None).end();
    journal.user("\u{1c}").answer("Yes?", &[], None).end();
    journal.user("On.");
    check_messages(
        &journal,
        &ask(OPUS, None),
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Hello."}]}
        {"role":"assistant","content":[{"type":"text","text":"Hi."}]}
        {"role":"user","content":[{"type":"text","text":"Continue.","cache_control":{"type":"ephemeral"}}]}
        {"role":"assistant","content":[{"type":"text","text":"Yes?"}]}
        {"role":"user","content":[{"type":"text","text":"On.","cache_control":{"type":"ephemeral"}}]}"#]],
    );
}

#[test]
fn schemas_describe_objects_and_names_are_unique() {
    let mut journal = Journal::new();
    journal.user("Hello.");
    let mut tools = journal.transcript().tools().to_vec();
    for (name, schema) in [
        ("look", "{\"type\":\"object\"}"),
        ("spaced", " {\"type\" : \"object\" } "),
        ("bare", "{ }"),
        ("untyped", "{\"properties\":{}}"),
        ("list", "[\"object\"]"),
        ("text", "{\"type\":\"string\"}"),
        ("broken", "{"),
        ("a.b", "{}"),
    ] {
        let mut tool = tools[0].clone();
        (tool.name, tool.parameters, tool.description) = (name.into(), schema.into(), "".into());
        tools.push(tool);
    }
    let system = Some(" ".into());
    let change = ConfigChange { tools: Some(tools), system, ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change });
    check(
        &journal,
        &ask(OPUS, None),
        expect![[r#"
            {"model":"claude-opus-4-7","max_tokens":4096,"stream":true,"tools":[
            {"name":"look","description":"Looks.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},
            {"name":"spaced","input_schema":{"type" : "object" }},
            {"name":"bare","input_schema":{"type":"object" }},
            {"name":"untyped","input_schema":{"type":"object","properties":{}}},
            {"name":"list","input_schema":{"type":"object"}},
            {"name":"text","input_schema":{"type":"object"}},
            {"name":"broken","input_schema":{"type":"object"}},
            {"name":"a_b_0466522c","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"messages":[
            {"role":"user","content":[{"type":"text","text":"Hello.","cache_control":{"type":"ephemeral"}}]}]}"#]],
    );
}
