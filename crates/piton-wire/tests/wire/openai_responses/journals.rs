//! Bodies of arbitrary journals break no rule.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use piton_core::event::{Event, Native, Outcome, TurnEnd};
use piton_core::id::TurnId;
use piton_wire::cache::Cache;
use piton_wire::openai_responses::rules::{codex_violations, violations};
use piton_wire::openai_responses::{Codex, OpenAiResponses};
use piton_wire::{Ask, Dialect, Effort};
use proptest::prelude::*;
use serde_json::Value;

use super::frame;
use crate::transcripts::{Journal, ask};

#[derive(Clone, Debug)]
enum Act {
    User(String),
    Inject(String),
    Answer(String, Vec<(String, String, String)>, Option<Native>),
    Finish(u32, u8, String),
    End(u8),
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".into()),
        Just("Hi \"there\"\\ 🧗\u{0}\u{7f}".into()),
        "[ -~äß🧗]{0,20}",
    ]
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("look".to_owned()),
        1 => Just(String::new()),
        1 => Just("mcp/server.tool".to_owned()),
        1 => Just("ü".repeat(80)),
        1 => "[ -~]{1,90}",
    ]
}

fn any_arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{}".to_owned()),
        Just(r#"{"path":"a\u0000"}"#.to_owned()),
        Just(String::new()),
        Just("[1]".to_owned()),
        Just("{\"cut\":\"".to_owned()),
        Just("null".to_owned()),
        any_text(),
    ]
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just("call_0".to_owned()), Just("x".repeat(200)), any_text()]
}

fn any_native() -> impl Strategy<Value = Option<Native>> {
    let item = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#;
    let raw = prop_oneof![
        3 => Just(format!(r#"[{{"call":0,"reasoning":[{item}]}}]"#)),
        3 => Just(format!(r#"[{{"text":0,"reasoning":[{item},{item}],"phase":"final_answer"}}]"#)),
        3 => Just(format!(r#"[{{"call":1,"reasoning":[{item}]}},{{"text":1,"reasoning":[{item}]}}]"#)),
        1 => Just(r#"[{"call":0,"reasoning":[{"summary":{},"encrypted_content":"x"},5]}]"#.into()),
        1 => Just(r#"{"type":"thinking","signature":"x"}"#.to_owned()),
        1 => any_text(),
    ];
    let origin = prop_oneof![
        4 => Just(("openai", "gpt-5")),
        2 => Just(("deepseek", "deepseek-v4")),
        1 => Just(("openai", "gpt-6")),
        1 => Just(("anthropic", "gpt-5")),
    ];
    let native = (origin, raw).prop_map(|((provider, model), raw)| Native {
        provider: provider.into(),
        host: format!("{provider}.invalid"),
        model: model.into(),
        raw: raw.into(),
    });
    prop::option::weighted(0.8, native)
}

fn any_act() -> impl Strategy<Value = Act> {
    let calls = prop::collection::vec((any_name(), any_arguments(), any_id()), 0..4);
    prop_oneof![
        2 => any_text().prop_map(Act::User),
        1 => any_text().prop_map(Act::Inject),
        4 => (any_text(), calls, any_native()).prop_map(|(a, b, c)| Act::Answer(a, b, c)),
        4 => (0..4_u32, 0..5_u8, any_text()).prop_map(|(a, b, c)| Act::Finish(a, b, c)),
        1 => (0..3_u8).prop_map(Act::End),
    ]
}

fn journal(acts: &[Act]) -> Journal {
    let mut journal = Journal::new();
    journal.user("Begin.");
    let mut turn = 1;
    for act in acts {
        match act {
            Act::User(text) => {
                turn += 1;
                journal.user(text);
            }
            Act::Inject(text) => {
                journal.inject(text);
            }
            Act::Answer(text, calls, native) => {
                let calls: Vec<_> = calls.iter().map(|(a, b, c)| (&**a, &**b, &**c)).collect();
                journal.answer(text, &calls, native.clone());
            }
            Act::Finish(index, outcome, text) => {
                let outcome = match outcome {
                    0 => Outcome::Ok,
                    1 => Outcome::Failed,
                    2 => Outcome::Denied,
                    3 => Outcome::Cancelled,
                    _ => Outcome::Unknown,
                };
                journal.finish(*index, outcome, text);
            }
            Act::End(end) => {
                let end = match end {
                    0 => TurnEnd::Completed,
                    1 => TurnEnd::Stopped,
                    _ => TurnEnd::Discarded,
                };
                journal.push(Event::TurnEnded { turn: TurnId(turn), end });
            }
        }
    }
    journal
}

fn asks() -> [Ask; 3] {
    let effort = Some(Effort::Medium);
    [frame(), ask("deepseek", "deepseek-v4"), Ask { effort, ..ask("other", "gpt-4o") }]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(64),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    // K14, K49, K53, K54, X8
    #[test]
    fn bodies_break_no_rule(acts in prop::collection::vec(any_act(), 0..24)) {
        let mut warm = Cache::default();
        for ask in asks() {
            for end in [acts.len() / 2, acts.len()] {
                check(&journal(&acts[..end]), &ask, &mut warm)?;
            }
        }
    }
}

fn check(journal: &Journal, ask: &Ask, warm: &mut Cache) -> Result<(), TestCaseError> {
    let transcript = journal.transcript();
    let encode = |dialect: &dyn Dialect| dialect.encode(&transcript, ask, &mut Cache::default());
    let body = encode(&OpenAiResponses);
    prop_assert_eq!(&body, &OpenAiResponses.encode(&transcript, ask, warm));
    let body: Value = serde_json::from_slice(&body).unwrap();
    let codex: Value = serde_json::from_slice(&encode(&Codex)).unwrap();
    prop_assert_eq!(violations(&body), [""; 0]);
    prop_assert_eq!(codex_violations(&codex), [""; 0]);
    save(&body, &codex, ask);
    Ok(())
}

/// Keeps bodies for a validator of someone else, where a folder is named for them.
fn save(body: &Value, codex: &Value, ask: &Ask) {
    let Some(folder) = std::env::var_os("WIRE_BODIES") else { return };
    for (name, body) in [(ask.provider.as_str(), body), ("codex", codex)] {
        let path = Path::new(&folder).join(format!("{name}.jsonl"));
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{body}").unwrap();
    }
}
