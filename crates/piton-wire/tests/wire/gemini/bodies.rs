//! Exact bodies. A line break is shown before every content; there is none on the wire.

use expect_test::{Expect, expect};
use piton_core::event::{
    AnswerPart, BlobRef, ConfigChange, EffectClass, Event, FinishReason, Native, Outcome,
    PartialKind, ToolSpec, TurnEnd, Usage, UserPart,
};
use piton_core::id::{Attempt, Digest, MessageId, TurnId};
use piton_wire::cache::Cache;
use piton_wire::gemini::Gemini;
use piton_wire::gemini::rules::violations_for;
use piton_wire::{Ask, Dialect, Effort};

use super::{gemini, json};
use crate::transcripts::Journal;

fn check_ask(journal: &Journal, ask: &Ask, expected: Expect) {
    let mut cache = Cache::default();
    let body = Gemini.encode(&journal.transcript(), ask, &mut cache);
    assert_eq!(Gemini.encode(&journal.transcript(), ask, &mut cache), body, "with a warm cache");
    assert_eq!(violations_for(&ask.model, &json(&body)), [""; 0]);
    let shown = String::from_utf8(body).unwrap().replace("{\"role\"", "\n{\"role\"");
    expected.assert_eq(&(shown + "\n"));
}

/// Only the contents; the head is the same everywhere.
fn check(journal: &Journal, model: &str, expected: Expect) {
    let ask = Ask { max_tokens: None, ..gemini(model) };
    let mut cache = Cache::default();
    let body = Gemini.encode(&journal.transcript(), &ask, &mut cache);
    assert_eq!(violations_for(model, &json(&body)), [""; 0]);
    let body = String::from_utf8(body).unwrap();
    let (_, contents) = body.split_once("\"contents\":[").unwrap();
    let shown = contents.strip_suffix("]}").unwrap().replace("{\"role\"", "\n{\"role\"");
    expected.assert_eq(&(shown.trim_start().to_owned() + "\n"));
}

fn native(model: &str, raw: &str) -> Native {
    let ask = gemini(model);
    Native { provider: ask.provider, host: ask.host, model: ask.model, raw: raw.into() }
}

#[test]
fn a_plain_turn() {
    let mut journal = Journal::new();
    journal.user("Hello.");
    check_ask(
        &journal,
        &gemini("gemini-2.0-flash"),
        expect![[r#"
        {"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"look","description":"Looks.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}],"generationConfig":{"maxOutputTokens":4096},"contents":[
        {"role":"user","parts":[{"text":"Hello."}]}]}
    "#]],
    );
}

#[test]
fn nothing_is_sent_that_is_not_set() {
    let mut journal = Journal::new();
    let change =
        ConfigChange { system: Some(" ".into()), tools: Some(vec![]), ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change }).user("Hello.");
    let ask = Ask { max_tokens: None, ..gemini("gemini-2.0-flash") };
    check_ask(
        &journal,
        &ask,
        expect![[r#"
        {"contents":[
        {"role":"user","parts":[{"text":"Hello."}]}]}
    "#]],
    );
}

#[test]
fn effort_is_said_in_the_words_of_the_model() {
    let mut journal = Journal::new();
    journal.user("Hello.");
    let mut shown = Vec::new();
    for model in ["gemini-2.0-flash", "gemini-2.5-flash", "gemini-3-pro"] {
        for effort in [Effort::Low, Effort::Medium, Effort::High] {
            let ask = Ask { effort: Some(effort), ..gemini(model) };
            let body = Gemini.encode(&journal.transcript(), &ask, &mut Cache::default());
            shown.push(format!("{model} {effort:?} {}\n", json(&body)["generationConfig"]));
        }
    }
    expect![[r#"
        gemini-2.0-flash Low {"maxOutputTokens":4096}
        gemini-2.0-flash Medium {"maxOutputTokens":4096}
        gemini-2.0-flash High {"maxOutputTokens":4096}
        gemini-2.5-flash Low {"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":512}}
        gemini-2.5-flash Medium {"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1}}
        gemini-2.5-flash High {"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":24576}}
        gemini-3-pro Low {"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"low"}}
        gemini-3-pro Medium {"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true}}
        gemini-3-pro High {"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"}}
    "#]].assert_eq(&shown.concat());
}

// K53, K54, K55, J58: results in call order, errors marked, our ids whatever came.
#[test]
fn a_tool_loop() {
    let mut journal = Journal::new();
    journal
        .user("Look.")
        .answer("I look.", &[("look", r#"{"path": "a"}"#, "x"), ("look", "{}", "x")], None)
        .finish(1, Outcome::Failed, "no such file")
        .finish(0, Outcome::Ok, "a \"quoted\"\nline")
        .answer("", &[("look", "{}", "")], None)
        .finish(0, Outcome::Ok, "");
    check(
        &journal,
        "gemini-2.5-flash",
        expect![[r#"
        {"role":"user","parts":[{"text":"Look."}]},
        {"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"call_1_1_0","name":"look","args":{"path": "a"}}},{"functionCall":{"id":"call_1_1_1","name":"look","args":{}}}]},
        {"role":"user","parts":[{"functionResponse":{"id":"call_1_1_0","name":"look","response":{"output":"a \"quoted\"\nline"}}},{"functionResponse":{"id":"call_1_1_1","name":"look","response":{"error":"no such file"}}}]},
        {"role":"model","parts":[{"functionCall":{"id":"call_1_2_0","name":"look","args":{}}}]},
        {"role":"user","parts":[{"functionResponse":{"id":"call_1_2_0","name":"look","response":{"output":"(no output)"}}}]}
    "#]],
    );
}

// G-SIG
#[test]
fn unsigned_calls_say_so_to_models_that_ask() {
    let mut journal = Journal::new();
    journal.user("Look.").answer("", &[("look", "{}", ""), ("look", "{}", "")], None).finish(
        0,
        Outcome::Ok,
        "a",
    );
    check(
        &journal,
        "gemini-3-pro",
        expect![[r#"
        {"role":"user","parts":[{"text":"Look."}]},
        {"role":"model","parts":[{"functionCall":{"id":"call_1_1_0","name":"look","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"call_1_1_1","name":"look","args":{}}}]},
        {"role":"user","parts":[{"functionResponse":{"id":"call_1_1_0","name":"look","response":{"output":"a"}}},{"functionResponse":{"id":"call_1_1_1","name":"look","response":{"error":"Interrupted before it was run; it had no effect."}}}]}
    "#]],
    );
}

#[test]
fn an_injected_message_follows_the_results() {
    let mut journal = Journal::new();
    journal
        .user("Look.")
        .answer("", &[("look", "{}", "")], None)
        .inject("Hurry.")
        .finish(0, Outcome::Ok, "a")
        .inject("Thanks.");
    check(
        &journal,
        "gemini-2.5-flash",
        expect![[r#"
        {"role":"user","parts":[{"text":"Look."}]},
        {"role":"model","parts":[{"functionCall":{"id":"call_1_1_0","name":"look","args":{}}}]},
        {"role":"user","parts":[{"functionResponse":{"id":"call_1_1_0","name":"look","response":{"output":"a"}}},{"text":"Hurry."},{"text":"Thanks."}]}
    "#]],
    );
}

// K51, O30: what is not an object is shown to the model in one.
#[test]
fn arguments_that_are_not_an_object() {
    let mut journal = Journal::new();
    let deep = format!("{}{}", r#"{"a":"#.repeat(70), "1") + &"}".repeat(70);
    let calls = [
        ("look", r#"{"path": "#, ""),
        ("look", "[1]", ""),
        ("look", "  ", ""),
        ("look", r#"{"a":"\ud800"}"#, ""),
        ("look", &deep, ""),
    ];
    journal.user("Look.").answer("", &calls, None);
    let body = Gemini.encode(&journal.transcript(), &gemini("gemini-3-pro"), &mut Cache::default());
    let body = json(&body);
    let shown = body["contents"][1]["parts"].as_array().unwrap().iter();
    let shown: Vec<_> = shown.map(|part| part["functionCall"]["args"].to_string()).collect();
    expect![[r#"
        {"unreadable":"{\"path\": "}
        {"unreadable":"[1]"}
        {}
        {"unreadable":"{\"a\":\"\\ud800\"}"}
        {"unreadable":"…"}
    "#]]
    .assert_eq(&(shown.join("\n").replace(&deep.replace('"', "\\\""), "…") + "\n"));
}

#[test]
fn names_are_mapped_and_declared_once() {
    let tool =
        |name: &str, parameters: &str| ToolSpec::new(name, "", parameters, EffectClass::ReadOnly);
    let tools = vec![
        tool("a b", "{}"),
        tool("a_b", r#"{"type":"string"}"#),
        tool("ünï", "not json"),
        tool("1", r#"{"anyOf":[]}"#),
        tool("1", "{}"),
        tool(&"x".repeat(70), "[]"),
        tool("", "{}"),
    ];
    let mut journal = Journal::new();
    let change = ConfigChange { tools: Some(tools), ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change });
    journal.user("Go.").answer("", &[("a b", "{}", ""), ("ünï", "{}", "")], None);
    check_ask(
        &journal,
        &gemini("gemini-3-pro"),
        expect![[r#"
            {"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"a_b_04833892","description":"","parametersJsonSchema":{}},{"name":"a_b","description":"","parametersJsonSchema":{"type":"object"}},{"name":"__n__fd5e4e56","description":"","parametersJsonSchema":{"type":"object"}},{"name":"_1_86019afc","description":"","parametersJsonSchema":{"type":"object","properties":{}}},{"name":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_9147a8dd","description":"","parametersJsonSchema":{"type":"object"}}]}],"generationConfig":{"maxOutputTokens":4096},"contents":[
            {"role":"user","parts":[{"text":"Go."}]},
            {"role":"model","parts":[{"functionCall":{"id":"call_1_1_0","name":"a_b_04833892","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"call_1_1_1","name":"__n__fd5e4e56","args":{}}}]},
            {"role":"user","parts":[{"functionResponse":{"id":"call_1_1_0","name":"a_b_04833892","response":{"error":"Interrupted before it was run; it had no effect."}}},{"functionResponse":{"id":"call_1_1_1","name":"__n__fd5e4e56","response":{"error":"Interrupted before it was run; it had no effect."}}}]}]}
        "#]],
    );
}

#[test]
fn files_are_texts() {
    let mut journal = Journal::new();
    journal.user("See:");
    let blob = BlobRef { digest: Digest::new("d"), bytes: 3 };
    let (name, media_type) = ("a.png".to_owned(), "image/png".to_owned());
    let parts = vec![
        UserPart::InlinedFile {
            name: "a.rs".into(),
            media_type: "text/x-rust".into(),
            text: "fn a() {}".into(),
        },
        UserPart::File { name, media_type, blob },
    ];
    let (message, attempt) = (MessageId::new("files"), Attempt::FIRST);
    journal.push(Event::UserMessage { message, parts, attempt });
    check(
        &journal,
        "gemini-2.5-flash",
        expect![[r#"
            {"role":"user","parts":[{"text":"See:"},{"text":"Attached file: a.rs\nMIME: text/x-rust\nfn a() {}"},{"text":"Attached file: a.png\nMIME: image/png\n(Its content is lost.)"}]}
        "#]],
    );
}

fn ask_model(journal: &mut Journal, step: u32) -> &mut Journal {
    journal.push(Event::ModelAsked {
        step,
        attempt: Attempt::FIRST,
        model: "script/one".parse().unwrap(),
        digest: Digest::new("0"),
        tokens_estimated: 0,
    })
}

// D56
#[test]
fn an_answer_that_was_cut_off_is_labelled() {
    let mut journal = Journal::new();
    journal.user("Tell.");
    ask_model(&mut journal, 1);
    journal.push(Event::ModelPartial { kind: PartialKind::Text, text: "Once upon".into() });
    journal.push(Event::TurnEnded { turn: TurnId(1), end: TurnEnd::Stopped });
    // Ends with the model, which some models refuse.
    check(
        &journal,
        "gemini-2.5-flash",
        expect![[r#"
        {"role":"user","parts":[{"text":"Tell."}]},
        {"role":"model","parts":[{"text":"Once upon\n\n[This answer was cut off here; it was never finished.]"}]},
        {"role":"user","parts":[{"text":"Continue."}]}
    "#]],
    );
    journal.user("Go on.");
    check(
        &journal,
        "gemini-2.5-flash",
        expect![[r#"
        {"role":"user","parts":[{"text":"Tell."}]},
        {"role":"model","parts":[{"text":"Once upon\n\n[This answer was cut off here; it was never finished.]"}]},
        {"role":"user","parts":[{"text":"Go on."}]}
    "#]],
    );
}

#[test]
fn an_empty_conversation_still_has_contents() {
    check(
        &Journal::new(),
        "gemini-2.5-flash",
        expect![[r#"
        {"role":"user","parts":[{"text":"Continue."}]}
    "#]],
    );
}

const SIGNED: &str = r#"[{ "text":"I look.", "thoughtSignature":"QUJD" },{"functionCall":{"name":"look","args":{ "b":1, "a":2 },"id":"p1"},"thoughtSignature":"RA=="},{"functionCall":{"name":"look"}}]"#;

fn signed_journal(raw: &str) -> Journal {
    let mut journal = Journal::new();
    let calls = [("look", r#"{"b":1,"a":2}"#, "p1"), ("look", "{}", "")];
    journal
        .user("Look.")
        .answer("I look.", &calls, Some(native("gemini-3-pro", raw)))
        .finish(0, Outcome::Ok, "a")
        .finish(1, Outcome::Ok, "b");
    journal
}

// K14, K48: byte for byte, and the results have the ids of the calls.
#[test]
fn signed_parts_go_back_verbatim_to_the_same_model() {
    check(
        &signed_journal(SIGNED),
        "gemini-3-pro",
        expect![[r#"
        {"role":"user","parts":[{"text":"Look."}]},
        {"role":"model","parts":[{ "text":"I look.", "thoughtSignature":"QUJD" },{"functionCall":{"name":"look","args":{ "b":1, "a":2 },"id":"p1"},"thoughtSignature":"RA=="},{"functionCall":{"name":"look"}}]},
        {"role":"user","parts":[{"functionResponse":{"id":"p1","name":"look","response":{"output":"a"}}},{"functionResponse":{"name":"look","response":{"output":"b"}}}]}
    "#]],
    );
}

// X8, K39, pitfall 11
#[test]
fn signed_parts_do_not_go_to_another_model_host_or_provider() {
    let journal = signed_journal(SIGNED);
    check(
        &journal,
        "gemini-3.1-pro",
        expect![[r#"
        {"role":"user","parts":[{"text":"Look."}]},
        {"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"call_1_1_0","name":"look","args":{"b":1,"a":2}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"call_1_1_1","name":"look","args":{}}}]},
        {"role":"user","parts":[{"functionResponse":{"id":"call_1_1_0","name":"look","response":{"output":"a"}}},{"functionResponse":{"id":"call_1_1_1","name":"look","response":{"output":"b"}}}]}
    "#]],
    );
    let ask = gemini("gemini-3-pro");
    for ask in [
        Ask { host: "other.invalid".into(), ..ask.clone() },
        Ask { provider: "other".into(), ..ask.clone() },
        Ask { model: "gemini-2.5-flash".into(), ..ask },
    ] {
        let body = Gemini.encode(&journal.transcript(), &ask, &mut Cache::default());
        let body = String::from_utf8(body).unwrap();
        assert!(!body.contains("QUJD") && !body.contains("p1"), "{body}");
    }
}

// X22: what does not say the same as the neutral form is not replayed.
#[test]
fn native_parts_that_do_not_fit_are_left_out() {
    for raw in [
        "",
        "{}",
        "[]",
        "[5]",
        r#"[{"text":"I look."}]"#,
        &SIGNED.replace(r#"{"name":"look"}"#, r#"{"name":"list"}"#),
        &SIGNED.replace("p1", "p2"),
        &SIGNED.replace(r#"{"name":"look"}"#, r#"{"name":"look","id":"p1"}"#),
        &SIGNED.replace("QUJD", "not base64!"),
        &SIGNED.replace(r#""args":{ "b":1, "a":2 }"#, r#""args":[]"#),
        &SIGNED.replace("I look.\", \"thoughtSignature\":\"QUJD\"", "\""),
        &SIGNED.replace(r#"{ "text""#, r#"{"functionResponse":{},"text""#),
        &SIGNED.replace(r#"{ "text":"I look.""#, r#"{"hologram":{}"#),
    ] {
        let body = Gemini.encode(
            &signed_journal(raw).transcript(),
            &gemini("gemini-3-pro"),
            &mut Cache::default(),
        );
        assert_eq!(violations_for("gemini-3-pro", &json(&body)), [""; 0]);
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains("call_1_1_0") && !body.contains("\"p1\""), "{raw}\n{body}");
    }
}

#[test]
fn a_replayed_call_without_a_signature_gets_the_stand_in() {
    let raw = SIGNED.replace(r#","thoughtSignature":"RA==""#, "");
    check(
        &signed_journal(&raw),
        "gemini-3-pro",
        expect![[r#"
        {"role":"user","parts":[{"text":"Look."}]},
        {"role":"model","parts":[{ "text":"I look.", "thoughtSignature":"QUJD" },{"thoughtSignature":"skip_thought_signature_validator","functionCall":{"name":"look","args":{ "b":1, "a":2 },"id":"p1"}},{"functionCall":{"name":"look"}}]},
        {"role":"user","parts":[{"functionResponse":{"id":"p1","name":"look","response":{"output":"a"}}},{"functionResponse":{"name":"look","response":{"output":"b"}}}]}
    "#]],
    );
}

#[test]
fn reasoning_is_never_sent_as_text() {
    let mut journal = Journal::new();
    journal.user("Think.");
    ask_model(&mut journal, 1);
    let parts = vec![AnswerPart::Reasoning { text: "secret".into() }];
    let (finish, usage) = (FinishReason::Stop, Usage::default());
    journal.push(Event::ModelAnswered { parts, finish, usage, dropped: vec![], native: None });
    journal.push(Event::TurnEnded { turn: TurnId(1), end: TurnEnd::Completed }).user("And?");
    check(
        &journal,
        "gemini-2.5-flash",
        expect![[r#"
        {"role":"user","parts":[{"text":"Think."},{"text":"And?"}]}
    "#]],
    );
}

#[test]
fn the_model_is_in_the_path() {
    let path = |model: &str| Gemini.path(&gemini(model));
    assert_eq!(path("gemini-3-pro"), "/models/gemini-3-pro:streamGenerateContent?alt=sse");
    assert_eq!(path("tunedModels/x"), "/tunedModels/x:streamGenerateContent?alt=sse");
}
