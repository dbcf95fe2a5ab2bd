//! Whatever a journal holds, its body breaks no rule of the service.

use piton_core::event::{Event, Native, Outcome, PartialKind, TurnEnd};
use piton_core::id::{Attempt, Digest, TurnId};
use piton_wire::Dialect;
use piton_wire::cache::Cache;
use piton_wire::gemini::Gemini;
use piton_wire::gemini::rules::violations_for;
use proptest::prelude::*;

use super::gemini;
use crate::transcripts::Journal;

const MODELS: [&str; 3] = ["gemini-2.0-flash", "gemini-2.5-flash", "gemini-3-pro"];

#[derive(Clone, Debug)]
enum Op {
    User(String),
    Inject(String),
    Answer { text: String, calls: Vec<(String, String, String)>, native: Sidecar },
    Finish { index: u32, outcome: Outcome, text: String },
    Partial(String),
    End(TurnEnd),
    Driver,
    Compact(String),
}

/// What comes with an answer.
#[derive(Clone, Debug)]
enum Sidecar {
    None,
    /// What this dialect would have kept of the answer.
    Own(usize),
    /// The same, from somewhere else.
    Foreign,
    /// Anything, under our name.
    Odd(String),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-zäß🧗\"\\\\\n ]{1,12}",
        1 => Just(String::new()),
        1 => Just(" \n".to_owned()),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => Just("look".to_owned()),
        1 => "[a-zA-Z0-9_.:/ -]{0,8}",
        1 => "[äß1-9 ]{1,3}",
        1 => Just("very_long_name_".repeat(6)),
    ]
}

fn arguments() -> impl Strategy<Value = String> {
    let odd = prop_oneof![
        Just(String::new()),
        Just(r#"{"path":"#.to_owned()),
        Just("[1,2]".to_owned()),
        Just("null".to_owned()),
        Just(r#"{"a":1e999}"#.to_owned()),
        Just(r#"{"a":"\ud800"}"#.to_owned()),
        (1..200_usize).prop_map(|deep| {
            let (open, close) = (r#"{"a":"#.repeat(deep), "}".repeat(deep));
            format!("{open}1{close}")
        }),
        "[ -~]{0,10}",
    ];
    prop_oneof![
        3 => Just(r#"{"path":"a"}"#.to_owned()),
        1 => Just("{}".to_owned()),
        2 => odd,
    ]
}

fn sidecar() -> impl Strategy<Value = Sidecar> {
    prop_oneof![
        3 => Just(Sidecar::None),
        4 => (0..4_usize).prop_map(Sidecar::Own),
        1 => Just(Sidecar::Foreign),
        1 => prop_oneof![
            "[\\[\\]{}\"a:,]{0,12}",
            Just(r#"[{"text":""}]"#.to_owned()),
            Just(r#"[{"functionCall":{"name":"look","args":{}}}]"#.to_owned()),
            Just(r#"[{"text":"a","inlineData":{}}]"#.to_owned()),
            Just(r#"[{"functionResponse":{"name":"look","response":{}}}]"#.to_owned()),
        ].prop_map(Sidecar::Odd),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let outcome = prop_oneof![
        Just(Outcome::Ok),
        Just(Outcome::Failed),
        Just(Outcome::Denied),
        Just(Outcome::Unknown),
    ];
    let end = prop_oneof![
        4 => Just(TurnEnd::Completed),
        1 => Just(TurnEnd::Stopped),
        1 => Just(TurnEnd::Discarded),
    ];
    let id = prop_oneof![Just(String::new()), Just("same".to_owned()), "[a-z0-9/ä]{1,6}"];
    let calls = prop::collection::vec((name(), arguments(), id), 0..4);
    prop_oneof![
        2 => text().prop_map(Op::User),
        1 => text().prop_map(Op::Inject),
        6 => (text(), calls, sidecar())
            .prop_map(|(text, calls, native)| Op::Answer { text, calls, native }),
        6 => (0..4_u32, outcome, text())
            .prop_map(|(index, outcome, text)| Op::Finish { index, outcome, text }),
        1 => text().prop_map(Op::Partial),
        1 => end.prop_map(Op::End),
        1 => Just(Op::Driver),
        1 => text().prop_map(Op::Compact),
    ]
}

/// What the decoder keeps of an answer with these calls, in a few variants.
fn own(text: &str, calls: &[(&str, &str, &str)], variant: usize) -> String {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(serde_json::json!({ "text": text }));
    }
    for (at, (name, arguments, id)) in calls.iter().enumerate() {
        let args: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
        let mut part = serde_json::json!({ "functionCall": { "name": name, "args": args } });
        if !id.is_empty() {
            part["functionCall"]["id"] = (*id).into();
        }
        if at == 0 && variant != 1 {
            part["thoughtSignature"] = "QUJD".into();
        }
        parts.push(part);
    }
    if variant == 2 {
        parts.push(serde_json::json!({ "text": "", "thoughtSignature": "QQ==" }));
    }
    if variant == 3 {
        parts.pop();
    }
    serde_json::Value::Array(parts).to_string()
}

/// Where the journal is.
#[derive(Debug, Default)]
struct Place {
    turn: u32,
    step: u32,
}

fn apply(journal: &mut Journal, place: &mut Place, op: &Op, model: &str) {
    match op {
        Op::User(text) => {
            // A turn that is still open is over now, or all that follows would be stray.
            let (turn, end) = (TurnId(place.turn), TurnEnd::Completed);
            journal.push(Event::TurnEnded { turn, end }).user(text);
            *place = Place { turn: place.turn + 1, step: 0 };
        }
        Op::Inject(text) => {
            journal.inject(text);
        }
        Op::Answer { text, calls, native } => {
            place.step += 1;
            let calls: Vec<_> =
                calls.iter().map(|(name, args, id)| (&**name, &**args, &**id)).collect();
            let (provider, raw) = match native {
                Sidecar::None => ("", None),
                Sidecar::Own(variant) => ("google", Some(own(text, &calls, *variant))),
                Sidecar::Foreign => ("other", Some(own(text, &calls, 0))),
                Sidecar::Odd(raw) => ("google", Some(raw.clone())),
            };
            let (ask, provider) = (gemini(model), provider.to_owned());
            let native = raw.map(|raw| Native {
                provider,
                host: ask.host,
                model: ask.model,
                raw: raw.into(),
            });
            journal.answer(text, &calls, native);
        }
        Op::Finish { index, outcome, text } => {
            journal.finish(*index, *outcome, text);
        }
        Op::Partial(text) => {
            journal.push(Event::ModelAsked {
                step: place.step + 1,
                attempt: Attempt::FIRST,
                model: "script/one".parse().unwrap(),
                digest: Digest::new("0"),
                tokens_estimated: 0,
            });
            journal
                .push(Event::ModelPartial { kind: PartialKind::Text, text: text.as_str().into() });
        }
        Op::End(end) => {
            journal.push(Event::TurnEnded { turn: TurnId(place.turn), end: *end });
        }
        Op::Driver => {
            let driver = serde_json::json!({
                "type": "DriverStarted", "driver": "d", "epoch": 1, "host": "h", "boot": "b", "pid": 1,
            });
            journal.push(serde_json::from_value(driver).unwrap());
        }
        Op::Compact(summary) => {
            let through = TurnId(place.turn.saturating_sub(2));
            journal.push(Event::Compacted { summary: summary.as_str().into(), through });
        }
    }
}

fn cases() -> ProptestConfig {
    let more = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: more.unwrap_or(64), failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(cases())]

    // K14, K49, K53, J57, X8, X22
    #[test]
    fn no_journal_makes_a_body_that_is_refused(
        ops in prop::collection::vec(op(), 0..24),
        model in 0..MODELS.len(),
    ) {
        let ask = gemini(MODELS[model]);
        let mut journal = Journal::new();
        let mut place = Place::default();
        apply(&mut journal, &mut place, &Op::User("Go.".to_owned()), MODELS[model]);
        let mut warm = Cache::default();
        for op in &ops {
            apply(&mut journal, &mut place, op, MODELS[model]);
            let transcript = journal.transcript();
            let body = Gemini.encode(&transcript, &ask, &mut warm);
            prop_assert_eq!(&body, &Gemini.encode(&transcript, &ask, &mut Cache::default()));
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let found = violations_for(MODELS[model], &body);
            prop_assert!(found.is_empty(), "{:?}\n{:#}", found, body);
        }
    }

    // O32: no bytes make the decoder panic, and no piece size changes what they mean.
    #[test]
    fn no_bytes_break_the_decoder(
        start in prop_oneof![Just("data: "), Just("["), Just("{"), Just("")],
        body in prop::collection::vec(prop_oneof![
            Just(r#"{"candidates":[{"content":{"parts":["#), Just(r#"{"text":"ä"}"#), Just("]}}]}"),
            Just(r#"{"functionCall":{"name":"a","willContinue":true}}"#), Just(","), Just("\n\n"),
            Just("data: "), Just(r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0]"}]}}"#),
            Just(r#"{"candidates":[{"finishReason":"STOP"}]}"#), Just("\"\\"), Just("]"), Just("\u{0}"),
        ], 0..20),
    ) {
        let body = format!("{start}{}", body.concat());
        crate::recorded::read_all_ways(&Gemini, &gemini("gemini-3-pro"), body.as_bytes());
    }
}
