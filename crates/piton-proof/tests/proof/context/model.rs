//! The provider: a window that it insists on, rules, and what was sent.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};

use piton::model::{AnswerStream, Delta, FailureClass, FinishReason, Model, ModelFailure, Usage};
use piton_core::transcript::Transcript;
use piton_wire::anthropic::{self, Anthropic};
use piton_wire::cache::Cache;
use piton_wire::gemini::{self, Gemini};
use piton_wire::openai_chat::{self, Flavour, OpenAiChat};
use piton_wire::openai_responses::{self, OpenAiResponses};
use piton_wire::{Ask, Dialect};
use serde_json::Value;

use super::controls::{Control, Fading};
use super::heard::{Heard, Who};
use super::reader::{self, Answer, Reply};
use super::summariser::Summariser;
use super::tools::Shop;

/// Letters of a body that the provider counts as one token.
const LETTERS_PER_TOKEN: u64 = 4;
/// Facts that are asked for at once.
pub(crate) const ASKED_AT_ONCE: usize = 12;
/// Behind how many summaries questions are asked in the middle of the work.
const ASKED_BEHIND: [usize; 3] = [1, 3, 10];

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) tokens: u64,
    /// With what the answer may have, as far as the request says so.
    pub(crate) with_answer: u64,
    /// Of them, how many the last request of the same kind began with.
    pub(crate) cached: u64,
    /// Whether it does not go on from that one.
    pub(crate) is_break: bool,
    /// Whether it asked for a summary.
    pub(crate) is_summary: bool,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) sent: Vec<Sent>,
    pub(crate) refused: Vec<String>,
    pub(crate) violations: Vec<String>,
    /// With the number of summaries before.
    pub(crate) answers: Vec<(usize, Answer)>,
    /// Texts of summaries, each once.
    pub(crate) summaries: Vec<String>,
    /// What tells the bodies apart of requests that do not ask for a summary.
    pub(crate) bodies: Vec<u64>,
    fading: Fading,
    last: Vec<String>,
    asked: usize,
}

/// What was answered, by what tells the bodies apart. An answer is a function of the bytes, so a turn that is
/// played many times need not have them read each time.
pub(crate) type Replies = Arc<Mutex<BTreeMap<u64, Replied>>>;

/// An answer, and whether a summary was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Replied {
    is_summary: bool,
    reply: Result<Vec<Delta>, ModelFailure>,
}

/// The provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) window: u64,
    pub(crate) summariser: Summariser,
    pub(crate) control: Control,
    /// Whether facts are asked for in the middle of the work.
    pub(crate) asks: bool,
    /// Whether every request is held against the rules of all dialects.
    pub(crate) checks: bool,
    pub(crate) shop: Arc<Shop>,
    pub(crate) seen: Mutex<Seen>,
    /// Where answers are kept, if nothing but them matters.
    pub(crate) replies: Option<Replies>,
}

/// The provider as one engine finds it.
#[derive(Clone, Debug)]
pub(crate) struct Asked(pub(crate) Arc<Provider>);

impl Model for Asked {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let Self(provider) = self;
        match provider.reply(transcript) {
            Ok(pieces) => piton::model::answer(pieces),
            Err(failure) => Box::pin(futures_util::stream::iter([Err(failure)])),
        }
    }
}

impl Provider {
    fn reply(&self, transcript: &Transcript) -> Result<Vec<Delta>, ModelFailure> {
        let mut seen = self.seen.lock().unwrap();
        let name = transcript.model().map(|model| model.provider.clone()).unwrap_or_default();
        let body = encode(transcript, &name);
        let body = self.control.tamper(body, &mut seen.fading);
        let name = named(&body);
        if let Some(known) = self.known(name) {
            seen.bodies.extend(Some(name).filter(|_| !known.is_summary));
            return known.reply;
        }
        let (bodies, refused) = (seen.bodies.len(), seen.refused.len());
        let reply = self.read(transcript, &body, &mut seen);
        if let Some(replies) = self.replies.as_ref().filter(|_| seen.refused.len() == refused) {
            let is_summary = seen.bodies.len() == bodies;
            replies.lock().unwrap().insert(name, Replied { is_summary, reply: reply.clone() });
        }
        reply
    }

    fn known(&self, name: u64) -> Option<Replied> {
        self.replies.as_ref()?.lock().unwrap().get(&name).cloned()
    }

    fn read(
        &self,
        transcript: &Transcript,
        body: &[u8],
        seen: &mut Seen,
    ) -> Result<Vec<Delta>, ModelFailure> {
        if self.control.cuts_calls() {
            seen.violations.extend(rules_of(body));
        } else if self.checks {
            seen.violations.extend(violations(transcript));
        }
        let heard = Heard::parse(body);
        let tokens = letters(body) / LETTERS_PER_TOKEN;
        let with_answer = tokens + heard.answer_tokens_max.unwrap_or_default();
        if self.window < with_answer {
            let message = format!(
                "prompt is too long: {tokens} tokens and {} for the answer > {} maximum",
                heard.answer_tokens_max.unwrap_or_default(),
                self.window
            );
            seen.refused.push(message.clone());
            return Err(ModelFailure::new(FailureClass::ContextOverflow, message));
        }
        if heard.tools.is_empty() {
            let sent = Sent { tokens, with_answer, cached: 0, is_break: false, is_summary: true };
            seen.sent.push(sent);
            return self.summariser.reply(&heard, tokens);
        }
        let parts = cacheable(body);
        let same = seen.last.iter().zip(&parts).take_while(|(old, new)| old == new);
        let same: Vec<u64> = same.map(|(part, _)| letters(part.as_bytes())).collect();
        let is_break = same.len() < seen.last.len();
        let cached = same.iter().sum::<u64>() / LETTERS_PER_TOKEN;
        seen.sent.push(Sent { tokens, with_answer, cached, is_break, is_summary: false });
        seen.last = parts;
        seen.bodies.push(named(body));
        let summary = heard.talk.first().filter(|said| {
            said.who == Who::User && said.text.starts_with(piton_core::transcript::SUMMARY_HEADING)
        });
        if let Some(summary) = summary.filter(|said| seen.summaries.last() != Some(&said.text)) {
            seen.summaries.push(summary.text.clone());
            self.ask_behind(seen);
        }
        let reply = reader::answer(&heard);
        let count = seen.summaries.len();
        seen.answers.extend(reply.answers.iter().cloned().map(|answer| (count, answer)));
        Ok(pieces(&reply, tokens))
    }

    /// Has facts asked for, if it is time for that.
    fn ask_behind(&self, seen: &mut Seen) {
        let due = ASKED_BEHIND.get(seen.asked).is_some_and(|count| *count <= seen.summaries.len());
        if self.asks && due {
            seen.asked += 1;
            let blocks = self.shop.known();
            let blocks = blocks.chunks(ASKED_AT_ONCE).map(<[_]>::to_vec);
            self.shop.asks.lock().unwrap().extend(blocks);
        }
    }
}

/// What a provider keeps of a request, in the order in which it reads it: system, tools, each message.
fn cacheable(body: &[u8]) -> Vec<String> {
    let mut body: Value = serde_json::from_slice(body).unwrap();
    unmark(&mut body);
    let head = format!("{}{}", body["system"], body["tools"]);
    let messages = body["messages"].as_array().into_iter().flatten();
    std::iter::once(head).chain(messages.map(Value::to_string)).collect()
}

/// Marks say where to cache, and are no part of what is read.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(parts) => parts.iter_mut().for_each(unmark),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn named(body: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    hasher.finish()
}

fn letters(body: &[u8]) -> u64 {
    u64::try_from(String::from_utf8_lossy(body).chars().count()).unwrap()
}

fn pieces(reply: &Reply, tokens: u64) -> Vec<Delta> {
    let mut pieces = Vec::new();
    if !reply.text.is_empty() {
        pieces.push(Delta::Text { index: 0, text: reply.text.clone() });
    }
    for (index, (name, arguments)) in (1..).zip(&reply.calls) {
        let provider_id = None;
        pieces.push(Delta::CallOpened { index, provider_id, name: name.clone() });
        pieces.push(Delta::CallArguments { index, json: arguments.to_string() });
        pieces.push(Delta::Closed { index });
    }
    let finish = if reply.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    let usage = Usage { input: tokens, output: 40, cached: 0 };
    pieces.push(Delta::End { finish, usage });
    pieces
}

/// The body, in the format of the provider that is asked.
fn encode(transcript: &Transcript, provider: &str) -> Vec<u8> {
    let chat = OpenAiChat { flavour: Flavour::OpenAi };
    let dialect: &dyn Dialect = if provider == "openai" { &chat } else { &Anthropic };
    let most = Some(transcript.answer_tokens_max()).filter(|most| 0 < *most);
    let ask = ask("claude-sonnet-5-5", most);
    dialect.encode(transcript, &ask, &mut Cache::default())
}

fn ask(model: &str, max_tokens: Option<u32>) -> Ask {
    Ask {
        provider: "p".into(),
        host: "h".into(),
        model: model.into(),
        max_tokens,
        effort: None,
        cache_key: String::new(),
    }
}

/// What the rules of all dialects find.
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
        let body = dialect.encode(transcript, &ask(model, None), &mut Cache::default());
        rules(&serde_json::from_slice(&body).unwrap())
    });
    found.collect()
}

/// What the rules find in a body that was changed on its way.
fn rules_of(body: &[u8]) -> Vec<String> {
    anthropic::rules::violations(&serde_json::from_slice(body).unwrap())
}
