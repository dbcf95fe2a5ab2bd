//! Bodies of arbitrary journals: whatever happened, what is sent breaks no rule.

use piton_core::event::{
    AnswerPart, ConfigChange, Event, FinishReason, Native, Outcome, PartialKind, TurnEnd, Usage,
};
use piton_core::id::{Attempt, CallId, Digest, DriverId, Epoch, TurnId};
use piton_wire::anthropic::{Anthropic, rules};
use piton_wire::cache::Cache;
use piton_wire::{Ask, Dialect as _, Effort};
use proptest::prelude::*;

use crate::transcripts::{self, Journal};

const MODELS: [&str; 4] = ["claude-3-5-haiku", "claude-sonnet-4-5", "claude-opus-4-7", "kimi-k2"];
/// Stands for the first model that a journal's bodies are made for.
const HOME: &str = "home";
const SIGNED: &str = r#"[{"before":0,"block":{"type":"thinking","thinking":"Hm.","signature":"c2ln"}},{"before":2,"block":{"type":"redacted_thinking","data":"eA=="}}]"#;
const MIDDLE: &str = r#"[{"before":1,"block":{"type":"redacted_thinking","data":"eA=="}}]"#;
const LATE: &str = r#"[{"before":9,"block":{"type":"redacted_thinking","data":"eA=="}}]"#;
const UNSIGNED: &str =
    r#"[{"before":0,"block":{"type":"thinking","thinking":"Hm.","signature":""}}]"#;

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    User(String),
    Inject(String),
    Answer { parts: Vec<Part>, finish: FinishReason, dropped: bool, native: Option<Native> },
    Finish { index: u32, outcome: Outcome, text: String },
    Cut(String),
    Crash,
    Compact,
    End(TurnEnd),
    Reconfigure { tool: String, schema: String, system: String },
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Reasoning(String),
    Call { name: String, arguments: String, id: String },
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => Just("Hello.".to_owned()),
        1 => Just(String::new()),
        1 => Just(" \n\t".to_owned()),
        1 => Just("\u{1c}".to_owned()),
        1 => Just("\u{0}".to_owned()),
        1 => Just("trailing \n".to_owned()),
        1 => any::<String>(),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("look".to_owned()),
        Just("mcp.server/tool".to_owned()),
        Just("ü".repeat(200)),
        Just("a".repeat(129)),
        any::<String>(),
    ]
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{}".to_owned()),
        Just(r#"{"path": "a", "n": [1, {"b": null}]}"#.to_owned()),
        Just(String::new()),
        Just("null".to_owned()),
        Just("{\"cut".to_owned()),
        Just("{\"a\":1e999}".to_owned()),
        Just("{\"a\":\"\\ud800\"}".to_owned()),
        (0..200_usize).prop_map(|depth| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth)),
        any::<String>(),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let id = prop_oneof![Just(String::new()), Just("call_0".to_owned()), any::<String>()];
    let call = (name(), arguments(), id);
    prop_oneof![
        text().prop_map(Part::Text),
        text().prop_map(Part::Reasoning),
        call.prop_map(|(name, arguments, id)| Part::Call { name, arguments, id }),
    ]
}

fn native() -> impl Strategy<Value = Option<Native>> {
    let raw = prop_oneof![
        4 => Just(SIGNED.to_owned()),
        1 => Just(MIDDLE.to_owned()),
        1 => Just(LATE.to_owned()),
        1 => Just(UNSIGNED.to_owned()),
        1 => any::<String>(),
    ];
    let model = prop_oneof![4 => Just(HOME), 1 => prop::sample::select(&MODELS[..])];
    let provider = prop_oneof![4 => Just("anthropic"), 1 => Just("openai")];
    let some = (raw, provider, model).prop_map(|(raw, provider, model)| {
        let Ask { provider, host, model, .. } = transcripts::ask(provider, model);
        Native { provider, host, model, raw: raw.into() }
    });
    prop::option::weighted(0.7, some)
}

fn step() -> impl Strategy<Value = Step> {
    let finish = prop_oneof![
        4 => Just(FinishReason::ToolCalls),
        1 => Just(FinishReason::Stop),
        1 => Just(FinishReason::Length),
        1 => Just(FinishReason::Refused),
    ];
    let outcome = prop_oneof![Just(Outcome::Ok), Just(Outcome::Failed), Just(Outcome::Unknown)];
    let end =
        prop_oneof![Just(TurnEnd::Completed), Just(TurnEnd::Stopped), Just(TurnEnd::Discarded)];
    let answer = (prop::collection::vec(part(), 0..5), finish, any::<bool>(), native());
    prop_oneof![
        3 => text().prop_map(Step::User),
        1 => text().prop_map(Step::Inject),
        6 => answer.prop_map(|(parts, finish, dropped, native)| {
            Step::Answer { parts, finish, dropped, native }
        }),
        4 => (0..3_u32, outcome, text())
            .prop_map(|(index, outcome, text)| Step::Finish { index, outcome, text }),
        1 => text().prop_map(Step::Cut),
        1 => Just(Step::Crash),
        1 => Just(Step::Compact),
        2 => end.prop_map(Step::End),
        1 => (name(), arguments(), text())
            .prop_map(|(tool, schema, system)| Step::Reconfigure { tool, schema, system }),
    ]
}

fn ask() -> impl Strategy<Value = Ask> {
    let effort = prop_oneof![
        Just(None),
        Just(Some(Effort::Low)),
        Just(Some(Effort::Medium)),
        Just(Some(Effort::High))
    ];
    let max_tokens = prop_oneof![Just(None), Just(Some(0)), Just(Some(2000)), Just(Some(64_000))];
    let model = prop::sample::select(&MODELS[..]);
    (model, effort, max_tokens).prop_map(|(model, effort, max_tokens)| Ask {
        effort,
        max_tokens,
        ..transcripts::ask("anthropic", model)
    })
}

/// A journal with its own count of turns and steps.
struct Story {
    journal: Journal,
    home: String,
    turn: u32,
    step: u32,
}

impl Story {
    fn happen(&mut self, step: Step) {
        let journal = &mut self.journal;
        match step {
            Step::User(text) => {
                journal.end().user(&text);
                (self.turn, self.step) = (self.turn + 1, 0);
            }
            Step::Inject(text) => drop(journal.inject(&text)),
            Step::Answer { parts, finish, dropped, native } => {
                self.ask();
                let parts = self.parts(parts);
                let native = native.map(|native| Native {
                    model: if native.model == HOME { self.home.clone() } else { native.model },
                    ..native
                });
                let dropped = if dropped { vec!["look".to_owned()] } else { Vec::new() };
                let usage = Usage::default();
                self.journal.push(Event::ModelAnswered { parts, finish, usage, dropped, native });
            }
            Step::Finish { index, outcome, text } => {
                let call = CallId { turn: TurnId(self.turn), step: self.step, index };
                let effect = piton_core::event::EffectClass::Once;
                let handle = piton_core::event::Handle::None;
                journal.push(Event::ToolStarted { call, effect, handle });
                let output = piton_core::event::ToolOutput::text(text);
                journal.push(Event::ToolFinished { call, outcome, output });
            }
            Step::Cut(text) => {
                self.ask();
                let kind = PartialKind::Text;
                self.journal.push(Event::ModelPartial { kind, text: text.into() });
            }
            Step::Crash => {
                let (driver, epoch) = (DriverId::new("d"), Epoch(1));
                let (host, boot) = ("h".to_owned(), "b".to_owned());
                journal.push(Event::DriverStarted { driver, epoch, host, boot, pid: 1 });
            }
            Step::Compact => {
                let through = TurnId(self.turn.saturating_sub(1));
                journal.push(Event::Compacted { summary: "So far.".into(), through });
            }
            Step::End(end) => {
                journal.push(Event::TurnEnded { turn: TurnId(self.turn), end });
            }
            Step::Reconfigure { tool, schema, system } => {
                let mut tools = journal.transcript().tools().to_vec();
                let mut added = tools[0].clone();
                (added.name, added.parameters) = (tool, schema.into());
                tools.push(added);
                let (tools, system) = (Some(tools), Some(system.into()));
                let change = ConfigChange { tools, system, ..ConfigChange::default() };
                journal.push(Event::ConfigChanged { change });
            }
        }
    }

    fn ask(&mut self) {
        self.step += 1;
        self.journal.push(Event::ModelAsked {
            step: self.step,
            attempt: Attempt::FIRST,
            model: "script/one".parse().unwrap(),
            digest: Digest::new("0"),
            tokens_estimated: 0,
        });
    }

    fn parts(&self, parts: Vec<Part>) -> Vec<AnswerPart> {
        let mut index = 0;
        let part = |part| match part {
            Part::Text(text) => AnswerPart::Text { text: text.into() },
            Part::Reasoning(text) => AnswerPart::Reasoning { text: text.into() },
            Part::Call { name, arguments, id } => {
                let call = CallId { turn: TurnId(self.turn), step: self.step, index };
                index += 1;
                let provider_id = Some(id).filter(|id| !id.is_empty());
                AnswerPart::Call { call, provider_id, name, arguments: arguments.into() }
            }
        };
        parts.into_iter().map(part).collect()
    }
}

/// A few cases, or as many as the environment asks for.
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { 64 };
    ProptestConfig { cases, ..config }
}

proptest! {
    #![proptest_config(config())]

    // K14, X8, X22, J58, J59: and what is kept from request to request changes no byte.
    #[test]
    fn bodies_of_any_journal_break_no_rule(
        steps in prop::collection::vec(step(), 0..24),
        asks in prop::collection::vec(ask(), 1..3),
    ) {
        let home = asks[0].model.clone();
        let mut story = Story { journal: Journal::new(), home, turn: 0, step: 0 };
        story.happen(Step::User("Begin.".into()));
        let mut warm = Cache::default();
        for (at, step) in steps.into_iter().enumerate() {
            story.happen(step);
            let ask = &asks[at % asks.len()];
            let transcript = story.journal.transcript();
            let body = Anthropic.encode(&transcript, ask, &mut warm);
            let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
            prop_assert_eq!(rules::violations(&value), [""; 0], "{}", value);
            prop_assert_eq!(&value["messages"][0]["role"], "user");
            let cold = Anthropic.encode(&transcript, ask, &mut Cache::default());
            prop_assert_eq!(&body, &cold);
            let body = String::from_utf8(body).unwrap();
            prop_assert!(!body.contains("call_0\""), "a provider's id was sent");
        }
    }
}
