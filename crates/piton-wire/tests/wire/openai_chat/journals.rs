//! Bodies of random conversations: whatever happened, no server finds a fault.

use std::sync::Arc;

use piton_core::event::{
    AnswerPart, BlobRef, ConfigChange, EffectClass, Event, FinishReason, Handle, Native, Outcome,
    PartialKind, ToolOutput, ToolSpec, TurnEnd, Usage, UserPart,
};
use piton_core::id::{Attempt, CallId, Digest, MessageId, TurnId};
use piton_wire::cache::Cache;
use piton_wire::openai_chat::rules::flavour_violations;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::{Ask, Dialect as _, Effort};
use proptest::prelude::*;
use serde_json::Value;

use super::FLAVOURS;
use crate::transcripts::{Journal, ask};

/// Something that happens in a conversation.
#[derive(Clone, Debug)]
enum Deed {
    User(Vec<UserPart>),
    Inject(String),
    Answer {
        parts: Vec<Part>,
        finish: FinishReason,
        dropped: Vec<String>,
        native: Option<Native>,
    },
    /// An answer that broke off after some text.
    Partial(String),
    Finish {
        index: u32,
        outcome: Outcome,
        text: String,
    },
    Start {
        index: u32,
    },
    End(TurnEnd),
    Compact(String),
    Tools(Vec<(String, String)>),
    System(String),
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Reasoning(String),
    Call { name: String, arguments: String, id: Option<String> },
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z ]{1,12}",
        1 => ".{0,8}",
        1 => proptest::sample::select(vec!["", " ", "\n", "\u{0}", "\"}]", "\\", "\u{2028}", "🧗"])
            .prop_map(str::to_owned),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("look".to_owned()),
        1 => ".{1,10}",
        1 => proptest::sample::select(vec!["a.b", "a/b", "9", "", "日本"]).prop_map(str::to_owned),
        1 => "[a-z]{60,70}",
    ]
}

fn arguments() -> impl Strategy<Value = String> {
    let known = ["", "{}", "{\"a\":1}", "{\"a\":", "[1]", "null", "\"x\"", "{\"a\":\"\\ud800\"}"];
    prop_oneof![3 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,9}"]
}

fn id() -> impl Strategy<Value = Option<String>> {
    let known = ["call_0", "call_0", "functions.look:0", "", "toolu_1"];
    proptest::option::of(prop_oneof![
        3 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned),
        1 => "[a-z0-9]{30,80}",
        1 => ".{1,9}",
    ])
}

fn native() -> impl Strategy<Value = Option<Native>> {
    let raws = [
        r#"{"reasoning_content":"Hm"}"#,
        r#"{"reasoning":"Hm"}"#,
        r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","id":"call_0"}]}"#,
        r#"[{"type":"reasoning","encrypted_content":"x"}]"#,
        r#"{"content":[]}"#,
        "no JSON",
    ];
    let tag =
        |own: &'static str, other: &'static str| prop_oneof![6 => Just(own), 1 => Just(other)];
    let made = (
        tag("script", "else"),
        tag("script.invalid", "else.invalid"),
        tag("one", "two"),
        proptest::sample::select(raws.to_vec()),
    );
    proptest::option::of(made.prop_map(|(provider, host, model, raw)| Native {
        provider: provider.into(),
        host: host.into(),
        model: model.into(),
        raw: raw.into(),
    }))
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        2 => text().prop_map(Part::Text),
        1 => text().prop_map(Part::Reasoning),
        3 => (name(), arguments(), id())
            .prop_map(|(name, arguments, id)| Part::Call { name, arguments, id }),
    ]
}

fn user_part() -> impl Strategy<Value = UserPart> {
    prop_oneof![
        3 => text().prop_map(UserPart::text),
        1 => (text(), text()).prop_map(|(name, text)| UserPart::InlinedFile {
            name,
            media_type: "text/plain".into(),
            text: text.into(),
        }),
        1 => text().prop_map(|name| UserPart::File {
            name,
            media_type: "image/png".into(),
            blob: BlobRef { digest: Digest::new("0"), bytes: 1 },
        }),
    ]
}

fn answer() -> impl Strategy<Value = Deed> {
    use FinishReason as F;
    let finish =
        proptest::sample::select(vec![F::Stop, F::ToolCalls, F::ToolCalls, F::Length, F::Refused]);
    let dropped = prop_oneof![4 => Just(vec![]), 1 => proptest::collection::vec(name(), 1..3)];
    let parts = proptest::collection::vec(part(), 0..4);
    (parts, finish, dropped, native()).prop_map(|(parts, finish, dropped, native)| Deed::Answer {
        parts,
        finish,
        dropped,
        native,
    })
}

fn deed() -> impl Strategy<Value = Deed> {
    use Outcome as O;
    let outcome =
        proptest::sample::select(vec![O::Ok, O::Failed, O::Denied, O::Cancelled, O::Unknown]);
    let end =
        proptest::sample::select(vec![TurnEnd::Completed, TurnEnd::Stopped, TurnEnd::Discarded]);
    let schema = proptest::sample::select(vec![
        r#"{"type":"object"}"#,
        r#"{"properties":{}}"#,
        "{}",
        "{ }",
        r#"{"type": null}"#,
        r#"{"type":"string"}"#,
        "[]",
        "no JSON",
    ]);
    let tools = proptest::collection::vec((name(), schema.prop_map(str::to_owned)), 0..4);
    prop_oneof![
        6 => proptest::collection::vec(user_part(), 0..3).prop_map(Deed::User),
        2 => text().prop_map(Deed::Inject),
        8 => answer(),
        1 => text().prop_map(Deed::Partial),
        6 => (0u32..3, outcome, text())
            .prop_map(|(index, outcome, text)| Deed::Finish { index, outcome, text }),
        1 => (0u32..3).prop_map(|index| Deed::Start { index }),
        4 => end.prop_map(Deed::End),
        1 => text().prop_map(Deed::Compact),
        1 => tools.prop_map(Deed::Tools),
        1 => text().prop_map(Deed::System),
    ]
}

/// A turn as it mostly goes: answers, their calls, a message in between, an end. The odd deed among
/// them comes where it does not belong.
fn turn() -> impl Strategy<Value = Vec<Deed>> {
    let finish = (text(), proptest::bool::weighted(0.8)).prop_map(|(text, ok)| {
        let outcome = if ok { Outcome::Ok } else { Outcome::Failed };
        Deed::Finish { index: 0, outcome, text }
    });
    let step = (answer(), proptest::collection::vec(finish, 0..4), proptest::option::of(deed()));
    let step = step.prop_map(|(answer, finishes, odd)| {
        let finishes = (0..).zip(finishes).map(|(at, mut finish)| {
            if let Deed::Finish { index, .. } = &mut finish {
                *index = at;
            }
            finish
        });
        let odd = odd.filter(|odd| !matches!(odd, Deed::User(_) | Deed::End(_)));
        [answer].into_iter().chain(finishes).chain(odd).collect::<Vec<_>>()
    });
    let user = proptest::collection::vec(user_part(), 1..3).prop_map(Deed::User);
    let ends = [TurnEnd::Completed, TurnEnd::Completed, TurnEnd::Stopped, TurnEnd::Discarded];
    let end = proptest::sample::select(ends.to_vec()).prop_map(Deed::End);
    (user, proptest::collection::vec(step, 0..4), end, proptest::option::of(deed())).prop_map(
        |(user, steps, end, odd)| {
            [user].into_iter().chain(steps.into_iter().flatten()).chain(odd).chain([end]).collect()
        },
    )
}

/// Some turns; the last one may be open.
fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    (proptest::collection::vec(turn(), 0..5), any::<bool>()).prop_map(|(turns, open)| {
        let mut deeds: Vec<Deed> = turns.into_iter().flatten().collect();
        if open {
            deeds.pop();
        }
        deeds
    })
}

/// Writes deeds into a journal.
struct Writer {
    journal: Journal,
    turn: u32,
    step: u32,
    messages: u32,
}

impl Writer {
    fn new() -> Self {
        Self { journal: Journal::new(), turn: 0, step: 0, messages: 0 }
    }

    fn write(&mut self, deed: Deed) {
        let turn = TurnId(self.turn);
        match deed {
            Deed::User(parts) => {
                self.turn += 1;
                self.step = 0;
                let turn = TurnId(self.turn);
                self.journal.push(Event::TurnStarted { turn, agent: None });
                self.say(parts);
            }
            Deed::Inject(text) => self.say(vec![UserPart::text(text)]),
            Deed::Answer { parts, finish, dropped, native } => {
                self.asked();
                let parts = self.parts(parts);
                let usage = Usage::default();
                self.journal.push(Event::ModelAnswered { parts, finish, usage, dropped, native });
            }
            Deed::Partial(text) => {
                self.asked();
                let (kind, text) = (PartialKind::Text, text.into());
                self.journal.push(Event::ModelPartial { kind, text });
            }
            Deed::Start { index } => self.start(index),
            Deed::Finish { index, outcome, text } => {
                self.start(index);
                let call = CallId { turn, step: self.step, index };
                let output = ToolOutput::text(text);
                self.journal.push(Event::ToolFinished { call, outcome, output });
            }
            Deed::End(end) => {
                self.journal.push(Event::TurnEnded { turn, end });
            }
            Deed::Compact(summary) => {
                let through = TurnId(self.turn.saturating_sub(1));
                self.journal.push(Event::Compacted { summary: summary.into(), through });
            }
            Deed::Tools(tools) => {
                let tools = tools.into_iter().map(|(name, parameters)| ToolSpec {
                    name,
                    description: "Does.".into(),
                    parameters: parameters.into(),
                    effect: EffectClass::Once,
                });
                let tools = Some(tools.collect());
                let change = ConfigChange { tools, ..ConfigChange::default() };
                self.journal.push(Event::ConfigChanged { change });
            }
            Deed::System(text) => {
                let change = ConfigChange { system: Some(text.into()), ..ConfigChange::default() };
                self.journal.push(Event::ConfigChanged { change });
            }
        }
    }

    fn say(&mut self, parts: Vec<UserPart>) {
        self.messages += 1;
        let message = MessageId::new(format!("m{}", self.messages));
        self.journal.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST });
    }

    fn asked(&mut self) {
        self.step += 1;
        self.journal.push(Event::ModelAsked {
            step: self.step,
            attempt: Attempt::FIRST,
            model: "script/one".parse().unwrap(),
            digest: Digest::new("0"),
            tokens_estimated: 0,
        });
    }

    fn start(&mut self, index: u32) {
        let call = CallId { turn: TurnId(self.turn), step: self.step, index };
        let (effect, handle) = (EffectClass::Once, Handle::None);
        self.journal.push(Event::ToolStarted { call, effect, handle });
    }

    fn parts(&self, parts: Vec<Part>) -> Vec<AnswerPart> {
        let mut index = 0;
        let mut made = Vec::new();
        for part in parts {
            made.push(match part {
                Part::Text(text) => AnswerPart::Text { text: text.into() },
                Part::Reasoning(text) => AnswerPart::Reasoning { text: text.into() },
                Part::Call { name, arguments, id } => {
                    let call = CallId { turn: TurnId(self.turn), step: self.step, index };
                    index += 1;
                    let arguments = Arc::from(arguments);
                    AnswerPart::Call { call, provider_id: id, name, arguments }
                }
            });
        }
        made
    }
}

fn asks(flavour: Flavour) -> Vec<Ask> {
    let mut asks = vec![ask("script", "one")];
    asks.push(Ask { effort: Some(Effort::High), max_tokens: None, ..ask("else", "two") });
    if flavour == Flavour::OpenRouter {
        asks.push(ask("script", "anthropic/one"));
    }
    asks
}

/// Holds the body of a journal against the rules, in every flavour.
fn check(journal: &Journal, caches: &mut [Vec<Cache>]) {
    let transcript = journal.transcript();
    for (flavour, warm) in FLAVOURS.into_iter().zip(caches) {
        let dialect = OpenAiChat { flavour };
        for (ask, warm) in asks(flavour).iter().zip(warm) {
            let body = dialect.encode(&transcript, ask, &mut Cache::default());
            // The same bytes with and without what was kept.
            assert_eq!(dialect.encode(&transcript, ask, warm), body);
            let value: Value = serde_json::from_slice(&body).unwrap();
            let found = flavour_violations(&value, flavour);
            assert_eq!(found, [""; 0], "{flavour:?} {}", String::from_utf8_lossy(&body));
        }
    }
}

fn caches() -> Vec<Vec<Cache>> {
    let three = || (0..3).map(|_| Cache::default()).collect();
    FLAVOURS.iter().map(|_| three()).collect()
}

/// Prints a failing case instead of writing it to a file; few cases unless more are asked for.
fn quietly() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 64;
    }
    config
}

proptest! {
    #![proptest_config(quietly())]

    // K53, K54, J58, X22
    #[test]
    fn no_conversation_makes_a_body_that_breaks_a_rule(
        deeds in deeds()
    ) {
        let mut writer = Writer::new();
        let mut caches = caches();
        let all = deeds.len();
        for (place, deed) in deeds.into_iter().enumerate() {
            writer.write(deed);
            // Sometimes in between, so that caches are warm with something else.
            if place % 5 == 4 || place + 1 == all {
                check(&writer.journal, &mut caches);
            }
        }
        check(&writer.journal, &mut caches);
    }
}
