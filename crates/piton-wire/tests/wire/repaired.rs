//! A refused native block, in each dialect: the error is understood, and the repaired history is
//! sent without it, breaks no rule, and is the same every time (J51, J52).

use piton_core::event::{Event, FailureClass, Native, Outcome, Rejected};
use piton_core::id::{StepId, TurnId};
use piton_wire::anthropic::{self, Anthropic};
use piton_wire::cache::Cache;
use piton_wire::gemini::{self, Gemini};
use piton_wire::openai_chat::{self, Flavour, OpenAiChat};
use piton_wire::openai_responses::{self, OpenAiResponses};
use piton_wire::{Ask, Dialect};
use serde_json::Value;

use crate::recorded::read_all_ways;
use crate::transcripts::{Journal, ask};

struct Case {
    dialect: Box<dyn Dialect>,
    ask: Ask,
    /// What the dialect kept of an answer with one call of `look`.
    native: &'static str,
    status: u16,
    error: &'static str,
    rejected: Rejected,
    violations: fn(&Value) -> Vec<String>,
}

fn cases() -> [Case; 4] {
    [
        Case {
            dialect: Box::new(Anthropic),
            ask: ask("test", "claude-opus-4-7"),
            native: r#"[{"before":0,"block":{"type":"thinking","thinking":"Hm.","signature":"SECRETSIGN"}}]"#,
            status: 400,
            error: r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#,
            rejected: Rejected::LatestMessage,
            violations: anthropic::rules::violations,
        },
        Case {
            dialect: Box::new(OpenAiResponses::Public),
            ask: ask("test", "gpt-5"),
            native: r#"[{"call":0,"reasoning":[{"type":"reasoning","summary":[],"encrypted_content":"gAAAAABSECRETSIGN"}]}]"#,
            status: 400,
            error: r#"{"error":{"code":"invalid_encrypted_content","message":"The encrypted content gAAA...AABSECRETSIGN could not be verified."}}"#,
            rejected: Rejected::Named { excerpt: "AABSECRETSIGN".into() },
            violations: openai_responses::rules::violations,
        },
        Case {
            dialect: Box::new(Gemini),
            ask: ask("test", "gemini-3-pro"),
            native: r#"[{"functionCall":{"name":"look","args":{}},"thoughtSignature":"SECRETSIGN"}]"#,
            status: 400,
            error: r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Thought signature is not valid"}}"#,
            rejected: Rejected::OpenTurn,
            violations: gemini::rules::violations,
        },
        Case {
            dialect: Box::new(OpenAiChat { flavour: Flavour::OpenRouter }),
            ask: ask("test", "anthropic/claude-opus-4.7"),
            native: r#"{"reasoning_details":[{"type":"reasoning.text","text":"Hm.","signature":"SECRETSIGN"}]}"#,
            status: 400,
            error: r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"messages.1.content.0: Invalid `signature` in `thinking` block"}}}"#,
            rejected: Rejected::LatestMessage,
            violations: openai_chat::rules::violations,
        },
    ]
}

fn body(case: &Case, journal: &Journal, cache: &mut Cache) -> String {
    let body = case.dialect.encode(&journal.transcript(), &case.ask, cache);
    let json: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((case.violations)(&json), [""; 0], "{:?}", case.dialect);
    String::from_utf8(body).unwrap()
}

#[test]
fn a_refused_block_is_named_and_left_out() {
    for case in cases() {
        let Ask { provider, host, model, .. } = case.ask.clone();
        let native = Native { provider, host, model, raw: case.native.into() };
        let mut journal = Journal::new();
        journal.user("go").answer("", &[("look", "{}", "")], Some(native));
        journal.finish(0, Outcome::Ok, "seen");
        let mut cache = Cache::default();
        let before = body(&case, &journal, &mut cache);
        assert!(before.contains("SECRETSIGN"), "{:?}: {before}", case.dialect);

        let failure = case.dialect.failure(case.status, &|_| None, case.error.as_bytes());
        assert_eq!(failure.class, FailureClass::InvalidRequest, "{:?}", case.dialect);
        assert_eq!(failure.rejected, Some(case.rejected.clone()), "{:?}", case.dialect);

        journal.push(Event::HistoryRepaired { steps: vec![StepId { turn: TurnId(1), step: 1 }] });
        let warm = body(&case, &journal, &mut cache);
        assert!(!warm.contains("SECRETSIGN"), "{:?}: {warm}", case.dialect);
        assert!(warm.contains("look") && warm.contains("seen"), "the work itself stays");
        assert_eq!(warm, body(&case, &journal, &mut Cache::default()), "{:?}", case.dialect);
    }
}

#[test]
fn a_stream_may_say_it_too() {
    let refused = |dialect: &dyn Dialect, event: &str| {
        let body = format!("data: {event}\n\n");
        read_all_ways(dialect, &ask("test", "m"), body.as_bytes()).failure.unwrap().rejected
    };
    let event = r#"{"type":"error","code":"invalid_encrypted_content","message":"The encrypted content could not be verified."}"#;
    assert_eq!(
        refused(&OpenAiResponses::Public, event),
        Some(Rejected::Named { excerpt: String::new() })
    );
    let event = r#"{"candidates":[{"finishReason":"MISSING_THOUGHT_SIGNATURE"}]}"#;
    assert_eq!(refused(&Gemini, event), Some(Rejected::OpenTurn));
    let event = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Invalid `signature` in `thinking` block"}}"#;
    assert_eq!(refused(&Anthropic, event), Some(Rejected::LatestMessage));
    let event = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(refused(&Anthropic, event), None);
}
