//! From a transcript to the body of a request.
//!
//! Messages are encoded as bare blocks, one list per message, and put into turns afterwards: the
//! service merges neighbours of one role anyway, and cache marks move from request to request
//! while the blocks stay the same bytes.

mod blocks;
mod cache_mark;
mod tools;

use piton_core::transcript::{Message, Transcript};
use serde::Serialize;

use self::cache_mark::{Ephemeral, MARK};
use super::blank::is_blank;
use super::model::{self, Form};
use crate::cache::{Cache, Frame};
use crate::names::Names;
use crate::{Ask, Effort};

/// What the model is told where a conversation would begin or end with its own words: newer models
/// reject such an end, older ones take it for the beginning of their answer, and hosts other than
/// Anthropic reject such a beginning.
const GO_ON: &str = r#"{"type":"text","text":"Continue."}"#;
/// How many user turns, from the end, are marked: the last for the next request, the one before
/// because it was the last of the request before. The system prompt has a third mark; four are
/// allowed.
const MARKED_TURNS: usize = 2;

/// More than what stands around the blocks of a message.
const TURN_BYTES: usize = 64;

/// Everything before the messages.
#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<tools::Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[System<'a>; 1]>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Disabled,
    Enabled {
        budget_tokens: u32,
    },
    /// Newer models leave the summary out unless asked for it.
    Adaptive {
        display: &'static str,
    },
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct System<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    cache_control: Ephemeral,
}

/// Makes the body.
pub(super) fn body(transcript: &Transcript, ask: &Ask, cache: &mut Cache) -> Vec<u8> {
    let left = transcript.answer_tokens_left();
    let answer_tokens = model::answer_tokens(&ask.model, ask.max_tokens, left);
    let effort = usable_effort(transcript.messages(), ask, answer_tokens);
    let ask = Ask { effort, ..ask.clone() };
    let names = Names::of(transcript.tools());
    let has_system = !is_blank(transcript.system());
    let system = System { kind: "text", text: transcript.system(), cache_control: Ephemeral {} };
    let (thinking, output_config) = thinking(&ask, answer_tokens);
    let head = Head {
        model: &ask.model,
        max_tokens: answer_tokens,
        stream: true,
        thinking,
        output_config,
        tools: tools::offered(transcript.tools(), &names, has_system),
        system: has_system.then_some([system]),
    };
    // Strings, numbers and raw JSON cannot fail to serialise.
    let mut body = serde_json::to_vec(&head).unwrap_or_default();
    body.pop();
    body.extend_from_slice(br#","messages":["#);
    let frame = Frame { dialect: "anthropic", ask: &ask, names: &names, files: transcript.files() };
    let encoded = cache.encode(transcript.messages(), frame, |message| blocks::of(message, frame));
    body.reserve(encoded.clone().map(|blocks| blocks.len() + TURN_BYTES).sum());
    write_turns(&mut body, transcript.messages().iter().map(Role::of).zip(encoded));
    body.extend_from_slice(b"]}");
    body
}

fn thinking(ask: &Ask, answer_tokens: u32) -> (Option<Thinking>, Option<OutputConfig>) {
    let Some(effort) = ask.effort else { return (None, None) };
    match model::form(&ask.model) {
        Form::Never => (None, None),
        // These think unasked.
        Form::Adaptive | Form::Foreign if effort == Effort::None => {
            (Some(Thinking::Disabled), None)
        }
        Form::Budget | Form::Foreign => {
            let budget = model::budget_tokens(effort, answer_tokens);
            (budget.map(|budget_tokens| Thinking::Enabled { budget_tokens }), None)
        }
        Form::Adaptive => {
            let effort = match effort {
                Effort::None | Effort::Minimal | Effort::Low => "low",
                Effort::Medium => "medium",
                Effort::High => "high",
                Effort::Max => "max",
            };
            let thinking = Thinking::Adaptive { display: "summarized" };
            (Some(thinking), Some(OutputConfig { effort }))
        }
    }
}

/// The effort that can be asked for. With a budget, the turn of an open tool loop must begin with
/// a thought; where that thought is missing (another model had it, or there was none), the rest of
/// the loop goes on without thinking, because a request without thinking is better than none.
fn usable_effort(messages: &[Message], ask: &Ask, answer_tokens: u32) -> Option<Effort> {
    let effort = ask.effort?;
    match model::form(&ask.model) {
        Form::Never => None,
        Form::Foreign if effort == Effort::None => Some(effort),
        Form::Adaptive => Some(effort),
        Form::Budget | Form::Foreign => {
            model::budget_tokens(effort, answer_tokens)?;
            let first = open_loop(messages);
            first.is_none_or(|message| blocks::starts_with_thought(message, ask)).then_some(effort)
        }
    }
}

/// The first message of the model in the tool loop that the next answer continues. A loop reaches
/// back to the last turn of the user without results in it.
fn open_loop(messages: &[Message]) -> Option<&Message> {
    let mut turns: Vec<(&Message, bool)> = Vec::new();
    let is_sent =
        |message: &&Message| Role::of(message) == Role::User || blocks::has_content(message);
    for message in messages.iter().filter(is_sent) {
        let results = matches!(message, Message::Results(_));
        match turns.last_mut() {
            Some((first, has)) if Role::of(first) == Role::of(message) => *has |= results,
            Some(_) | None => turns.push((message, results)),
        }
    }
    let (_, true) = turns.last()? else { return None };
    let is_fresh = |(first, results): &(&Message, bool)| Role::of(first) == Role::User && !results;
    let begin = turns.iter().rposition(is_fresh).map_or(0, |fresh| fresh + 1);
    let mut first = turns.iter().skip(begin).map(|(first, _)| *first);
    first.find(|first| Role::of(first) == Role::Assistant)
}

/// Whose message it is, as the format sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

impl Role {
    fn of(message: &Message) -> Self {
        match message {
            Message::User(_) | Message::Results(_) => Self::User,
            Message::Assistant(_) => Self::Assistant,
        }
    }
}

/// Writes messages as turns that alternate, the user's first and last. Nothing is collected: a
/// long conversation must not cost more than the copy of its bytes.
fn write_turns<'a>(body: &mut Vec<u8>, messages: impl Iterator<Item = (Role, &'a [u8])> + Clone) {
    let go_on = (Role::User, GO_ON.as_bytes());
    // A message of blanks keeps its place: without it, the answers around it would become one message,
    // and a request that was answered would be changed.
    let messages = messages.map(move |message| match message {
        (Role::User, []) => go_on,
        other => other,
    });
    let messages = messages.filter(|(_, blocks)| !blocks.is_empty());
    let first = messages.clone().next().is_some_and(|(role, _)| role == Role::Assistant);
    let last = messages.clone().last().is_none_or(|(role, _)| role == Role::Assistant);
    let messages = first.then_some(go_on).into_iter().chain(messages);
    let messages = messages.chain(last.then_some(go_on));
    let begins = |before: Option<Role>, role: Role| before != Some(role);
    let mut before = None;
    let mut users = 0;
    for (role, _) in messages.clone() {
        users += usize::from(begins(before, role) && role == Role::User);
        before = Some(role);
    }
    let (mut before, mut seen) = (None, 0);
    for (role, blocks) in messages {
        if begins(before, role) {
            end_turn(body, before, users < seen + MARKED_TURNS);
            body.extend_from_slice(match role {
                Role::User => br#"{"role":"user","content":["#,
                Role::Assistant => br#"{"role":"assistant","content":["#,
            });
            seen += usize::from(role == Role::User);
        } else {
            body.push(b',');
        }
        body.extend_from_slice(blocks);
        before = Some(role);
    }
    end_turn(body, before, users < seen + MARKED_TURNS);
    // The comma behind the last one.
    body.pop();
}

fn end_turn(body: &mut Vec<u8>, role: Option<Role>, is_marked: bool) {
    let Some(role) = role else { return };
    if role == Role::User && is_marked {
        body.pop();
        body.extend_from_slice(MARK);
    }
    body.extend_from_slice(b"]},");
}
