//! A long turn on a model with a small window: every request fits, and the turn ends (D19, D69, X24).

use std::sync::{Arc, Mutex};

use piton::OnIncomplete;
use piton::model::{AnswerStream, Model};
use piton_core::event::{Event, Window, WindowSource};
use piton_core::outcome::Ending;
use piton_core::recap::ANSWERS_HEAD;
use piton_core::transcript::{Message, Transcript};
use piton_sim::script::{Script, ScriptedModel};
use piton_wire::anthropic::{self, Anthropic};
use piton_wire::cache::Cache;
use piton_wire::gemini::{self, Gemini};
use piton_wire::openai_chat::{self, Flavour, OpenAiChat};
use piton_wire::openai_responses::{self, OpenAiResponses};
use piton_wire::{Ask, Dialect};
use serde_json::Value;

use crate::stage::{Stage, message_words, say};

/// What the model of Must show 3 takes.
const WINDOW_TOKENS: u64 = 16_384;
const STEPS: usize = 300;
/// How often `look` says so, for 4 KB.
const TIMES: usize = 373;

/// What was sent.
#[derive(Debug, Default)]
struct Sent {
    tokens: Vec<u64>,
    violations: Vec<String>,
}

/// Holds every request against the rules of all dialects.
#[derive(Debug)]
struct Checked {
    inner: ScriptedModel,
    sent: Arc<Mutex<Sent>>,
}

impl Model for Checked {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let mut sent = self.sent.lock().unwrap();
        sent.tokens.push(transcript.tokens_estimated());
        let found = violations(transcript);
        sent.violations.extend(found);
        drop(sent);
        self.inner.ask(transcript)
    }
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
    let look = format!(r#"{{"calls":[{{"tool":"look","arguments":{{"times":{TIMES}}}}}]}},"#);
    let json = format!(
        r#"{{"window_tokens":{WINDOW_TOKENS},"steps":[{}{{"say":"Done."}}]}}"#,
        look.repeat(steps)
    );
    Script::parse(&json).unwrap()
}

fn stage(steps: usize) -> (Stage, Arc<Mutex<Sent>>) {
    let sent = Arc::new(Mutex::new(Sent::default()));
    let inner = ScriptedModel::new(script(steps));
    let stage = Stage::with_model(Arc::new(Checked { inner, sent: sent.clone() }));
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
    let sent = sent.lock().unwrap();
    assert_eq!(sent.tokens.len(), STEPS + 1, "no request was refused, and none was made twice");
    assert!(sent.tokens.iter().all(|tokens| *tokens <= WINDOW_TOKENS), "{:?}", sent.tokens);
    assert_eq!(sent.violations, [""; 0]);
    let state = stage.state().await;
    let calls: usize = state.turns[0].steps().map(|step| step.calls.len()).sum();
    assert_eq!((calls, state.strays), (STEPS, 0));
    let entries = stage.entries().await;
    let laid = |entry: &&piton_core::event::Entry| matches!(entry.event, Event::SummaryLaid { .. });
    let summaries = entries.iter().filter(laid).count();
    let all: u64 = sent.tokens.iter().sum();
    println!("{STEPS} steps: {summaries} summaries, {all} tokens sent");
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

// K44: the provider's window is smaller than anybody knew.
#[tokio::test(start_paused = true)]
async fn a_window_that_nobody_knew_is_met_by_smaller_requests() {
    let (stage, sent) = stage(60);
    let stage = stage.limits(|limits| limits.window = None);
    let ending = stage.create().await.send(say("look around"), OnIncomplete::Ask).await.unwrap();
    assert_eq!(ending, Ending::Done);
    let entries = stage.entries().await;
    let mut refused = None;
    let mut refusals = 0;
    for entry in &entries {
        match &entry.event {
            Event::ModelAsked { tokens_estimated, .. } => {
                if let Some(refused) = refused.take() {
                    assert!(
                        tokens_estimated * 10 <= refused * 8,
                        "{tokens_estimated} of {refused}"
                    );
                }
                refused = Some(*tokens_estimated);
            }
            Event::ModelFailed { .. } => refusals += 1,
            Event::ModelAnswered { .. } => refused = None,
            _ => {}
        }
    }
    assert!(1 < refusals, "{refusals}");
    assert_eq!(sent.lock().unwrap().violations, [""; 0]);
}
