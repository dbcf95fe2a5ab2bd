//! Bodies, letter by letter.

use expect_test::{Expect, expect};
use piton_core::event::{
    BlobRef, ConfigChange, Event, FinishReason, Native, Outcome, PartialKind, TurnEnd, Usage,
    UserPart,
};
use piton_core::id::{Attempt, Digest, MessageId, TurnId};
use piton_wire::cache::Cache;
use piton_wire::openai_chat::rules::flavour_violations;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::{Ask, Dialect as _, Effort};

use crate::transcripts::{Journal, ask};

fn body(flavour: Flavour, journal: &Journal, ask: &Ask) -> String {
    let dialect = OpenAiChat { flavour };
    let body = dialect.encode(&journal.transcript(), ask, &mut Cache::default());
    let value = serde_json::from_slice(&body).unwrap();
    assert_eq!(flavour_violations(&value, flavour), [""; 0]);
    String::from_utf8(body).unwrap()
}

/// The message list, one message per line.
fn check(flavour: Flavour, journal: &Journal, expected: Expect) {
    let body = body(flavour, journal, &ask("script", "one"));
    let (_, messages) = body.split_once("\"messages\":[").unwrap();
    let messages = messages.strip_suffix("]}").unwrap();
    expected.assert_eq(&format!("{}\n", messages.replace("},{\"role\"", "}\n{\"role\"")));
}

fn plain() -> Journal {
    let mut journal = Journal::new();
    journal.user("Hello \"you\"\n");
    journal
}

#[test]
fn a_plain_turn() {
    let frame = |flavour| body(flavour, &plain(), &ask("script", "one"));
    expect![[r#"{"model":"one","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":4096,"prompt_cache_key":"conversation","tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}],"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello \"you\"\n"}]}"#]].assert_eq(&frame(Flavour::OpenAi));
    expect![[r#"{"model":"one","stream":true,"max_tokens":4096,"tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}],"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello \"you\"\n"}]}"#]].assert_eq(&frame(Flavour::Mistral));
}

#[test]
fn limits_efforts_and_hints() {
    let mut journal = plain();
    let change = ConfigChange { tools: Some(Vec::new()), ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change });
    let ask = Ask { effort: Some(Effort::Low), ..ask("script", "anthropic/one") };
    let frame = |flavour| body(flavour, &journal, &ask);
    expect![[r#"{"model":"anthropic/one","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":4096,"reasoning_effort":"low","prompt_cache_key":"conversation","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello \"you\"\n"}]}"#]].assert_eq(&frame(Flavour::OpenAi));
    expect![[r#"{"model":"anthropic/one","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"reasoning_effort":"low","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello \"you\"\n"}]}"#]].assert_eq(&frame(Flavour::DeepSeek));
    expect![[r#"{"model":"anthropic/one","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"reasoning":{"effort":"low"},"messages":[{"role":"system","content":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":[{"type":"text","text":"Hello \"you\"\n","cache_control":{"type":"ephemeral"}}]}]}"#]].assert_eq(&frame(Flavour::OpenRouter));
    expect![[r#"{"model":"anthropic/one","stream":true,"max_tokens":4096,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello \"you\"\n"}]}"#]].assert_eq(&frame(Flavour::Mistral));
}

/// A loop with a good result, a failed one, one that never ran, and a message in between.
fn tool_loop() -> Journal {
    let mut journal = Journal::new();
    journal.user("Look.").answer(
        "I look.",
        &[("look", r#"{"path":"a"}"#, "p1"), ("see it", r#"{"path":"#, "p1"), ("look", "", "")],
        None,
    );
    journal.finish(0, Outcome::Ok, "seen").finish(1, Outcome::Failed, "no such tool");
    journal.inject("And quickly.");
    journal
}

// K53, K54, K55
#[test]
fn a_tool_loop() {
    check(
        Flavour::OpenAi,
        &tool_loop(),
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Look."}
        {"role":"assistant","content":"I look.","tool_calls":[{"id":"call_1_1_0","type":"function","function":{"name":"look","arguments":"{\"path\":\"a\"}"}},{"id":"call_1_1_1","type":"function","function":{"name":"see_it_8680a1cd","arguments":"{\"invalid_json\":\"{\\\"path\\\":\"}"}},{"id":"call_1_1_2","type":"function","function":{"name":"look","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"call_1_1_0","content":"seen"}
        {"role":"tool","tool_call_id":"call_1_1_1","content":"Error: no such tool"}
        {"role":"tool","tool_call_id":"call_1_1_2","content":"Error: Interrupted before it was run; it had no effect."}
        {"role":"user","content":"And quickly."}
    "#]],
    );
    check(
        Flavour::Mistral,
        &tool_loop(),
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Look."}
        {"role":"assistant","content":"I look.","tool_calls":[{"id":"58bH00000","type":"function","function":{"name":"look","arguments":"{\"path\":\"a\"}"}},{"id":"DaHr2q400","type":"function","function":{"name":"see_it_8680a1cd","arguments":"{\"invalid_json\":\"{\\\"path\\\":\"}"}},{"id":"L2yQ5g900","type":"function","function":{"name":"look","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"58bH00000","content":"seen"}
        {"role":"tool","tool_call_id":"DaHr2q400","content":"Error: no such tool"}
        {"role":"tool","tool_call_id":"L2yQ5g900","content":"Error: Interrupted before it was run; it had no effect."}
        {"role":"user","content":"And quickly."}
    "#]],
    );
}

#[test]
fn calls_without_words_have_the_content_that_their_server_takes() {
    let mut journal = Journal::new();
    journal.user("Look.").answer("", &[("look", "{}", "p1")], None).finish(0, Outcome::Ok, "seen");
    check(
        Flavour::OpenRouter,
        &journal,
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Look."}
        {"role":"assistant","content":null,"tool_calls":[{"id":"p1","type":"function","function":{"name":"look","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"p1","content":"seen"}
    "#]],
    );
    check(
        Flavour::Local,
        &journal,
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Look."}
        {"role":"assistant","content":"","tool_calls":[{"id":"call_1_1_0","type":"function","function":{"name":"look","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"call_1_1_0","content":"seen"}
    "#]],
    );
    check(
        Flavour::DeepSeek,
        &journal,
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Look."}
        {"role":"assistant","content":null,"reasoning_content":"","tool_calls":[{"id":"call_1_1_0","type":"function","function":{"name":"look","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"call_1_1_0","content":"seen"}
    "#]],
    );
}

#[test]
fn messages_in_a_row_become_one() {
    let mut journal = Journal::new();
    journal.user("One.").inject("Two.").answer("Three.", &[], None).end();
    journal.user("Four.").push(Event::TurnEnded { turn: TurnId(2), end: TurnEnd::Stopped });
    journal.user("Five.");
    check(
        Flavour::Local,
        &journal,
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"One.\n\nTwo."}
        {"role":"assistant","content":"Three."}
        {"role":"user","content":"Four.\n\nFive."}
    "#]],
    );
}

#[test]
fn an_answer_that_was_cut_off() {
    let mut journal = Journal::new();
    journal.user("Tell.");
    journal.push(Event::ModelAsked {
        step: 1,
        attempt: Attempt::FIRST,
        model: "script/one".parse().unwrap(),
        digest: Digest::new("0"),
        tokens_estimated: 0,
    });
    journal.push(Event::ModelPartial { kind: PartialKind::Text, text: "Once".into() });
    journal.push(Event::TurnEnded { turn: TurnId(1), end: TurnEnd::Stopped });
    journal.user("Go on.");
    check(
        Flavour::OpenAi,
        &journal,
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Tell."}
        {"role":"assistant","content":"Once\n\n[This answer was cut off here; it was never finished.]"}
        {"role":"user","content":"Go on."}
    "#]],
    );
}

// J54
#[test]
fn dropped_calls_are_named() {
    let mut journal = Journal::new();
    journal.user("Look.");
    journal.push(Event::ModelAsked {
        step: 1,
        attempt: Attempt::FIRST,
        model: "script/one".parse().unwrap(),
        digest: Digest::new("0"),
        tokens_estimated: 0,
    });
    journal.push(Event::ModelAnswered {
        parts: Vec::new(),
        finish: FinishReason::Length,
        usage: Usage::default(),
        dropped: vec!["look".into()],
        native: None,
    });
    check(
        Flavour::OpenAi,
        &journal,
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Look.\n\nThese calls were cut off by the output limit and not run: look. Repeat what is still needed, with shorter arguments."}
    "#]],
    );
}

#[test]
fn files() {
    let mut journal = Journal::new();
    journal.user("See.");
    let file = UserPart::InlinedFile {
        name: "a.txt".into(),
        media_type: "text/plain".into(),
        text: "A\n".into(),
    };
    let blob = BlobRef { digest: Digest::new("0"), bytes: 1 };
    let image = UserPart::File { name: "b.png".into(), media_type: "image/png".into(), blob };
    let (message, attempt) = (MessageId::new("f"), Attempt::FIRST);
    journal.push(Event::UserMessage { message, parts: vec![file, image], attempt });
    check(
        Flavour::OpenAi,
        &journal,
        expect![[r#"
            {"role":"system","content":"Be brief."}
            {"role":"user","content":"See.\n\nAttached file: a.txt\nMIME: text/plain\nA\n\n\nAttached file: b.png\nMIME: image/png\n(Its content is lost.)"}
        "#]],
    );
}

// X8, K39
#[test]
fn reasoning_goes_back_on_a_match_only() {
    let native = |provider: &str| Native {
        provider: provider.into(),
        host: "script.invalid".into(),
        model: "one".into(),
        raw: r#"{"reasoning_content":"I \u0073ee."}"#.into(),
    };
    let journal = |provider: &str| {
        let mut journal = Journal::new();
        journal.user("Look.").answer("", &[("look", "{}", "p1")], Some(native(provider)));
        journal.finish(0, Outcome::Ok, "seen");
        journal
    };
    check(
        Flavour::DeepSeek,
        &journal("script"),
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Look."}
        {"role":"assistant","content":null,"reasoning_content":"I \u0073ee.","tool_calls":[{"id":"call_1_1_0","type":"function","function":{"name":"look","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"call_1_1_0","content":"seen"}
    "#]],
    );
    check(
        Flavour::DeepSeek,
        &journal("else"),
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Look."}
        {"role":"assistant","content":null,"reasoning_content":"","tool_calls":[{"id":"call_1_1_0","type":"function","function":{"name":"look","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"call_1_1_0","content":"seen"}
    "#]],
    );
    check(
        Flavour::OpenAi,
        &journal("script"),
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Look."}
        {"role":"assistant","content":null,"tool_calls":[{"id":"call_1_1_0","type":"function","function":{"name":"look","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"call_1_1_0","content":"seen"}
    "#]],
    );
}

#[test]
fn the_models_words_are_never_at_the_end() {
    let mut journal = Journal::new();
    journal.user("Hi?").answer("Hi.", &[], None).end();
    check(
        Flavour::Mistral,
        &journal,
        expect![[r#"
            {"role":"system","content":"Be brief."}
            {"role":"user","content":"Hi?"}
            {"role":"assistant","content":"Hi."}
            {"role":"user","content":"Continue."}
        "#]],
    );
    check(
        Flavour::OpenAi,
        &Journal::new(),
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"Continue."}
    "#]],
    );
}

#[test]
fn a_warm_cache_changes_nothing() {
    let mut journal = tool_loop();
    for flavour in super::FLAVOURS {
        let dialect = OpenAiChat { flavour };
        let mut warm = Cache::default();
        let ask = ask("script", "one");
        for _ in 0..3 {
            journal.inject("More.");
            let kept = dialect.encode(&journal.transcript(), &ask, &mut warm);
            let fresh = dialect.encode(&journal.transcript(), &ask, &mut Cache::default());
            assert_eq!(kept, fresh);
        }
    }
}
