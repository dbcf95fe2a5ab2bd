//! A long turn on a model with a small window: every request fits, and the turn ends (D19, D69, X24).

use std::sync::{Arc, Mutex};

use piton::model::{AnswerStream, Model, ModelFailure, answer_later};
use piton::{Command, Envelope, OnIncomplete};
use piton_core::event::{Event, FailureClass, Window, WindowSource};
use piton_core::id::CommandId;
use piton_core::outcome::Ending;
use piton_core::recap::ANSWERS_HEAD;
use piton_core::summarise::REQUEST_HEAD;
use piton_core::transcript::{Message, Transcript};
use piton_core::view::View;
use piton_sim::script::{Script, ScriptedModel};
use piton_wire::anthropic::{self, Anthropic};
use piton_wire::cache::Cache;
use piton_wire::gemini::{self, Gemini};
use piton_wire::openai_chat::{self, Flavour, OpenAiChat};
use piton_wire::openai_responses::{self, OpenAiResponses};
use piton_wire::{Ask, Dialect};
use serde_json::Value;

use crate::stage::{Stage, cut, message_words, pass, say};

/// What the model of Must show 3 takes.
const WINDOW_TOKENS: u64 = 16_384;
const STEPS: usize = 300;
/// How often `look` says so, for 4 KB.
const TIMES: usize = 373;

/// What was sent.
#[derive(Clone, Debug, Default)]
struct Sent {
    tokens: Vec<u64>,
    /// Of those, requests for summaries.
    for_summaries: Vec<u64>,
    violations: Vec<String>,
}

/// Holds every request against the rules of all dialects.
#[derive(Debug)]
struct Checked {
    inner: ScriptedModel,
    sent: Arc<Mutex<Sent>>,
    /// Whether it says how much it takes when it refuses.
    says: bool,
}

impl Model for Checked {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let mut sent = self.sent.lock().unwrap();
        sent.tokens.push(transcript.tokens_estimated());
        if is_for_summary(transcript) {
            sent.for_summaries.push(transcript.tokens_estimated());
        }
        let found = violations(transcript);
        sent.violations.extend(found);
        drop(sent);
        let tokens = transcript.tokens_estimated();
        if self.says && WINDOW_TOKENS < tokens {
            let said = format!("prompt is too long: {tokens} tokens > {WINDOW_TOKENS} maximum");
            return answer_later(async move {
                Err(ModelFailure::new(FailureClass::ContextOverflow, said))
            });
        }
        self.inner.ask(transcript)
    }
}

fn is_for_summary(transcript: &Transcript) -> bool {
    let [first] = transcript.messages() else { return false };
    message_words(first).contains(REQUEST_HEAD)
}

fn violations(transcript: &Transcript) -> Vec<String> {
    type Rules = fn(&Value) -> Vec<String>;
    let chat = OpenAiChat { flavour: Flavour::OpenAi };
    let dialects: [(&dyn Dialect, &str, Rules); 4] = [
        (&Anthropic, "claude-sonnet-5-5", anthropic::rules::violations),
        (&OpenAiResponses::Public, "gpt-6-sol", openai_responses::rules::violations),
        (&chat, "gpt-6-sol", |body| openai_chat::rules::flavour_violations(body, Flavour::OpenAi)),
        (&Gemini, "gemini-3-pro", |body| gemini::rules::violations_for("gemini-3-pro", body)),
    ];
    let found = dialects.into_iter().flat_map(|(dialect, model, rules)| {
        let ask = Ask {
            provider: "p".into(),
            host: "h".into(),
            model: model.into(),
            max_tokens: None,
            effort: None,
            cache_key: String::new(),
        };
        let body = dialect.encode(transcript, &ask, &mut Cache::default());
        rules(&serde_json::from_slice(&body).unwrap())
    });
    found.collect()
}

fn script(steps: usize) -> Script {
    summed_up_by(steps, "good")
}

fn summed_up_by(steps: usize, summaries: &str) -> Script {
    let look = format!(r#"{{"calls":[{{"tool":"look","arguments":{{"times":{TIMES}}}}}]}},"#);
    let json = format!(
        r#"{{"window_tokens":{WINDOW_TOKENS},"summaries":"{summaries}","steps":[{}{{"say":"Done."}}]}}"#,
        look.repeat(steps)
    );
    Script::parse(&json).unwrap()
}

fn stage(steps: usize) -> (Stage, Arc<Mutex<Sent>>) {
    staged(script(steps))
}

/// The same with a model that does not say how much it takes.
fn unsaid(script: Script) -> (Stage, Arc<Mutex<Sent>>) {
    made(script, false)
}

fn staged(script: Script) -> (Stage, Arc<Mutex<Sent>>) {
    made(script, true)
}

fn made(script: Script, says: bool) -> (Stage, Arc<Mutex<Sent>>) {
    let sent = Arc::new(Mutex::new(Sent::default()));
    let inner = ScriptedModel::new(script);
    let model = Checked { inner, sent: sent.clone(), says };
    let stage = Stage::with_model(Arc::new(model));
    let stage = stage.limits(|limits| {
        limits.steps_max = 0;
        let (tokens, from) = (WINDOW_TOKENS, WindowSource::Table);
        limits.window = Some(Window { tokens, answer_tokens_max: 0, from });
    });
    (stage, sent)
}

// Must show 3: a turn of 300 steps with outputs of 4 KB on a window of 16 k.
#[tokio::test(start_paused = true)]
async fn a_turn_of_300_steps_finishes_in_a_window_of_16_k() {
    let (stage, sent) = stage(STEPS);
    let ending = stage.create().await.send(say("look around"), OnIncomplete::Ask).await.unwrap();
    assert_eq!(ending, Ending::Done);
    let sent = sent.lock().unwrap().clone();
    let asked = sent.tokens.len() - sent.for_summaries.len();
    assert_eq!(asked, STEPS + 1, "no request was refused, and none was made twice");
    assert!(sent.tokens.iter().all(|tokens| *tokens <= WINDOW_TOKENS), "{:?}", sent.tokens);
    assert_eq!(sent.violations, [""; 0]);
    let state = stage.state().await;
    let calls: usize = state.turns[0].steps().map(|step| step.calls.len()).sum();
    assert_eq!((calls, state.strays), (STEPS, 0));
    let entries = stage.entries().await;
    let laid = |entry: &&piton_core::event::Entry| matches!(entry.event, Event::SummaryLaid { .. });
    let summaries = entries.iter().filter(laid).count();
    let all: u64 = sent.tokens.iter().sum();
    let by_model: u64 = sent.for_summaries.iter().sum();
    let asked = sent.for_summaries.len();
    println!(
        "{STEPS} steps: {summaries} summaries, {all} tokens sent, {by_model} in {asked} requests for summaries"
    );
    assert!(0 < asked && asked < 10 * summaries, "{asked}");
    assert!(state.overlay.is_some_and(|overlay| 0 < overlay.pieces));
    assert!(3 < summaries && summaries < STEPS / 2, "{summaries}");
}

#[tokio::test(start_paused = true)]
async fn behind_a_summary_stand_the_message_and_the_last_steps() {
    let (stage, _sent) = stage(120);
    stage.create().await.send(say("look around"), OnIncomplete::Ask).await.unwrap();
    let requests = stage.requests();
    let last = &requests.last().unwrap().messages;
    let words: Vec<String> = last.iter().map(message_words).collect();
    assert!(words[0].contains("Earlier conversation summary"), "{}", words[0]);
    assert!(words[0].contains(ANSWERS_HEAD) && words[0].contains("look"), "{}", words[0]);
    assert!(words[1].contains("look around"), "{}", words[1]);
    assert!(matches!(last[2], Message::Assistant(_)) && matches!(last[3], Message::Results(_)));
}

// K44, O26: a provider that says how much it takes is asked for more once.
#[tokio::test(start_paused = true)]
async fn what_a_provider_says_of_its_window_counts_from_then_on() {
    let (stage, sent) = stage(60);
    let stage = stage.limits(|limits| limits.window = None);
    let ending = stage.create().await.send(say("look around"), OnIncomplete::Ask).await.unwrap();
    assert_eq!(ending, Ending::Done);
    let story = stage.story().await;
    assert_eq!(story.matches("failure").count(), 1, "{story}");
    assert!(story.contains("failure window:16384 "), "{story}");
    let sent = sent.lock().unwrap().clone();
    let refused = sent.tokens.iter().position(|tokens| WINDOW_TOKENS < *tokens).unwrap();
    let behind = &sent.tokens[refused + 1..];
    assert!(behind.iter().all(|tokens| tokens * 10 <= sent.tokens[refused] * 8), "{behind:?}");
    assert_eq!(sent.violations, [""; 0]);
    let window = stage.state().await.window().unwrap();
    assert_eq!((window.tokens, window.from), (WINDOW_TOKENS, WindowSource::Learned));
    stage.check().await;
}

// K45, O27: the same behind a break, and in a resumed turn.
#[tokio::test(start_paused = true)]
async fn a_turn_that_was_refused_and_left_goes_on_with_a_smaller_request() {
    let (stage, sent) = stage(60);
    let stage = stage.limits(|limits| limits.window = None);
    let mut session = stage.create().await;
    let controller = session.controller();
    let stopping = async {
        loop {
            pass(1).await;
            if stage.story().await.contains("window:16384") {
                controller.interrupt();
            }
        }
    };
    let ending = tokio::select! {
        ending = session.send(say("look around"), OnIncomplete::Ask) => ending.unwrap(),
        never = stopping => never,
    };
    let refused = *sent.lock().unwrap().tokens.iter().max().unwrap();
    if ending != Ending::Done {
        drop(session);
        let mut session = stage.engine().open(stage.conversation()).await.unwrap();
        assert_eq!(session.resume().await.unwrap(), Ending::Done);
    }
    let sent = sent.lock().unwrap().clone();
    let place = sent.tokens.iter().position(|tokens| *tokens == refused).unwrap();
    assert!(sent.tokens[place + 1..].iter().all(|tokens| tokens * 10 <= refused * 8));
    assert_eq!(sent.violations, [""; 0]);
}

// K44: the provider's window is smaller than anybody knew.
#[tokio::test(start_paused = true)]
async fn a_window_that_nobody_knew_is_met_by_smaller_requests() {
    let (stage, sent) = unsaid(script(60));
    let stage = stage.limits(|limits| limits.window = None);
    let ending = stage.create().await.send(say("look around"), OnIncomplete::Ask).await.unwrap();
    assert_eq!(ending, Ending::Done);
    let entries = stage.entries().await;
    let mut refused = None;
    let mut refusals = 0;
    for entry in &entries {
        if let Event::ModelAsked { tokens_estimated, .. } = &entry.event {
            if let Some(refused) = refused.take() {
                assert!(tokens_estimated * 10 <= refused * 8, "{tokens_estimated} of {refused}");
            }
            refused = Some(*tokens_estimated);
        }
        refusals += u32::from(matches!(entry.event, Event::ModelFailed { .. }));
        if matches!(entry.event, Event::ModelAnswered { .. }) {
            refused = None;
        }
    }
    assert!(1 < refusals, "{refusals}");
    assert_eq!(sent.lock().unwrap().violations, [""; 0]);
}

/// What the journal has of summaries, in short words.
async fn of_summaries(stage: &Stage) -> Vec<String> {
    let story = stage.story().await;
    let words = story.split(' ').filter(|word| word.starts_with("summary"));
    words.map(str::to_owned).collect()
}

// Bad input: summaries that are empty, longer than what they sum up, or have tool calls.
#[tokio::test(start_paused = true)]
async fn a_turn_finishes_whatever_the_model_makes_of_its_summary() {
    for (summaries, failure) in [
        ("empty", "Empty"),
        ("bare", "Headings"),
        ("longer", "TooLong"),
        ("calls", "Calls"),
        ("cut", "Cut"),
        ("fail", "Failed"),
        ("overflow", "Overflow"),
    ] {
        let (stage, sent) = staged(summed_up_by(75, summaries));
        let ending = stage.create().await.send(say("look"), OnIncomplete::Ask).await.unwrap();
        assert_eq!(ending, Ending::Done, "{summaries}");
        let failed = format!("summary-failure:{failure}");
        let failed = ["summary-ask", failed.as_str()];
        let told = of_summaries(&stage).await;
        assert_eq!(
            told[..5],
            [failed[0], failed[1], failed[0], failed[1], "summary"],
            "{summaries}"
        );
        let sent = sent.lock().unwrap().clone();
        assert!(sent.tokens.iter().all(|tokens| *tokens <= WINDOW_TOKENS), "{:?}", sent.tokens);
        assert_eq!(sent.violations, [""; 0], "{summaries}");
        stage.check().await;
    }
}

// D22, Ctrl-C: a summary that does not come is left, and the turn goes on.
#[tokio::test(start_paused = true)]
async fn a_summary_that_nobody_waits_for_is_left_and_the_turn_goes_on() {
    let (stage, _sent) = staged(summed_up_by(75, "stall"));
    let stage = stage.limits(|limits| (limits.first_byte_ms_max, limits.idle_ms_max) = (0, 0));
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let name = CommandId::new("say");
    let work = conversation.start(Envelope::new(name, Command::say(say("look")))).await.unwrap();
    let stopping = async {
        loop {
            pass(10).await;
            if stage.story().await.ends_with("summary-ask") {
                let view = View::from(&stage.state().await);
                assert!(8_000 < view.head.summing_up.unwrap().tokens, "{view:?}");
                conversation.send(Command::StopCompacting).await.unwrap();
            }
        }
    };
    let rested = tokio::select! {
        rested = work.rest() => rested.unwrap(),
        never = stopping => never,
    };
    assert_eq!(rested.ending, Ending::Done);
    let told = of_summaries(&stage).await;
    assert_eq!(told[..3], ["summary-ask", "summary-failure:Stopped", "summary"]);
    stage.check().await;
}

// A person who wants it now: without a turn, and without waking one.
#[tokio::test(start_paused = true)]
async fn a_person_can_have_a_conversation_summed_up_and_take_that_back() {
    let (stage, _sent) = stage(12);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    assert_eq!(conversation.perform(Command::say(say("look"))).await.unwrap(), Ending::Done);
    let whole = Transcript::from(&stage.state().await).tokens_estimated();
    let focus = Some("the pond".to_owned());
    conversation.perform(Command::Compact { focus }).await.unwrap();
    let told = of_summaries(&stage).await;
    assert_eq!(told, ["summary-wanted", "summary-ask", "summary-answer", "summary:1"]);
    let small = Transcript::from(&stage.state().await).tokens_estimated();
    assert!(small < whole / 2, "{small} of {whole}");
    let refused = conversation.send(Command::Compact { focus: None }).await.unwrap();
    assert!(refused.refusal().is_some());
    conversation.perform(Command::Uncompact).await.unwrap();
    assert_eq!(Transcript::from(&stage.state().await).tokens_estimated(), whole);
    stage.check().await;
}

// A process that dies while the model sums up: the next one asks for the same, in the same words.
#[tokio::test(start_paused = true)]
async fn a_summary_that_was_lost_with_its_process_is_asked_for_again_in_the_same_words() {
    let (stage, _sent) = staged(summed_up_by(75, "stall"));
    let stage = stage.limits(|limits| (limits.first_byte_ms_max, limits.idle_ms_max) = (0, 0));
    let mut session = stage.create().await;
    cut(1_000, session.send(say("look"), OnIncomplete::Ask)).await;
    drop(session);
    let mut session = stage.engine().open(stage.conversation()).await.unwrap();
    cut(1_000, session.resume()).await;
    drop(session);
    let digests: Vec<_> = stage
        .entries()
        .await
        .into_iter()
        .filter_map(|entry| {
            let Event::SummaryAsked { digest, range, .. } = entry.event else { return None };
            Some((digest, range))
        })
        .collect();
    assert_eq!(digests.len(), 2);
    assert_eq!(digests[0], digests[1]);
    stage.check().await;
}
