//! The control: a body that is broken on purpose is noticed, whatever journal it came from.

use std::collections::BTreeMap;

use piton_core::state::State;
use piton_core::transcript::Transcript;
use piton_wire::cache::Cache;
use serde_json::Value;

use super::luck::Luck;
use super::story::{Watch, tell};
use super::voices::{Format, VOICES, Voice};

/// Journals whose bodies are broken.
const JOURNALS: u64 = 60;
/// What happens in each.
const HAPPENINGS: u64 = 40;

/// One thing that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mutation {
    DropResult,
    DoubleResult,
    RenameResult,
    DropCall,
    DoubleCall,
    MoveResult,
    CutBehindCall,
    DropAll,
    CombineSchema,
}

const MUTATIONS: [Mutation; 9] = [
    Mutation::DropResult,
    Mutation::DoubleResult,
    Mutation::RenameResult,
    Mutation::DropCall,
    Mutation::DoubleCall,
    Mutation::MoveResult,
    Mutation::CutBehindCall,
    Mutation::DropAll,
    Mutation::CombineSchema,
];

/// Where a call or a result stands: in which message, and in which of its parts.
type Place = (usize, Option<usize>);

/// The messages of a body.
fn messages(format: Format) -> &'static str {
    match format {
        Format::Anthropic | Format::Chat(_) => "/messages",
        Format::Responses | Format::Codex => "/input",
        Format::Gemini => "/contents",
    }
}

/// The parts of a message that may be calls or results.
fn parts(format: Format, message: &Value, results: bool) -> Option<&'static str> {
    match format {
        Format::Anthropic if message["content"].is_array() => Some("content"),
        Format::Chat(_) if !results => Some("tool_calls"),
        Format::Gemini => Some("parts"),
        Format::Anthropic | Format::Chat(_) | Format::Responses | Format::Codex => None,
    }
}

fn is_one(format: Format, value: &Value, results: bool) -> bool {
    match (format, results) {
        (Format::Anthropic, true) => value["type"] == "tool_result",
        (Format::Anthropic, false) => value["type"] == "tool_use",
        (Format::Chat(_), true) => value["role"] == "tool",
        (Format::Chat(_), false) => value["type"] == "function",
        (Format::Responses | Format::Codex, true) => value["type"] == "function_call_output",
        (Format::Responses | Format::Codex, false) => value["type"] == "function_call",
        (Format::Gemini, true) => !value["functionResponse"].is_null(),
        (Format::Gemini, false) => !value["functionCall"].is_null(),
    }
}

fn places(format: Format, body: &Value, results: bool) -> Vec<Place> {
    let mut places = Vec::new();
    let messages = body.pointer(messages(format)).and_then(Value::as_array);
    for (at, message) in messages.into_iter().flatten().enumerate() {
        match parts(format, message, results) {
            Some(field) => {
                for (inner, part) in message[field].as_array().into_iter().flatten().enumerate() {
                    if is_one(format, part, results) {
                        places.push((at, Some(inner)));
                    }
                }
            }
            None if is_one(format, message, results) => places.push((at, None)),
            None => {}
        }
    }
    places
}

/// The list that an item stands in, and its index there.
fn list(format: Format, body: &mut Value, place: Place, results: bool) -> (&mut Vec<Value>, usize) {
    let messages = body.pointer_mut(messages(format)).unwrap();
    match place {
        (at, None) => (messages.as_array_mut().unwrap(), at),
        (at, Some(inner)) => {
            let field = parts(format, &messages[at], results).unwrap();
            (messages[at][field].as_array_mut().unwrap(), inner)
        }
    }
}

/// Renames the id of a result, or its name where ids are not in use.
fn rename(format: Format, result: &mut Value) {
    let field = match format {
        Format::Anthropic => &mut result["tool_use_id"],
        Format::Chat(_) => &mut result["tool_call_id"],
        Format::Responses | Format::Codex => &mut result["call_id"],
        Format::Gemini if result["functionResponse"]["id"].is_string() => {
            &mut result["functionResponse"]["id"]
        }
        Format::Gemini => &mut result["functionResponse"]["name"],
    };
    *field = "nobodyZ99".into();
}

/// Breaks a body; `None` where there is nothing to break.
fn mutate(voice: Voice, body: &Value, mutation: Mutation, luck: &mut Luck) -> Option<Value> {
    let (format, mut body) = (voice.format, body.clone());
    if mutation == Mutation::CombineSchema {
        let schema = body.pointer_mut(voice.first_schema())?.as_object_mut()?;
        schema.insert("anyOf".into(), serde_json::json!([{}]));
        return Some(body);
    }
    let results = match mutation {
        Mutation::DropCall | Mutation::DoubleCall | Mutation::CutBehindCall => false,
        Mutation::DropResult
        | Mutation::DoubleResult
        | Mutation::RenameResult
        | Mutation::MoveResult
        | Mutation::DropAll
        | Mutation::CombineSchema => true,
    };
    let places = places(format, &body, results);
    let place = *places.get(luck.below(places.len()))?;
    if mutation == Mutation::CutBehindCall {
        let messages = body.pointer_mut(messages(format))?.as_array_mut()?;
        messages.truncate(place.0 + 1);
        return Some(body);
    }
    if mutation == Mutation::DropAll {
        body.pointer_mut(messages(format))?.as_array_mut()?.clear();
        return Some(body);
    }
    let (list, at) = list(format, &mut body, place, results);
    match mutation {
        Mutation::DropResult | Mutation::DropCall => drop(list.remove(at)),
        Mutation::DoubleResult | Mutation::DoubleCall => list.insert(at, list[at].clone()),
        Mutation::RenameResult => rename(format, &mut list[at]),
        Mutation::MoveResult => {
            let result = list.remove(at);
            let message = if place.1.is_some() {
                let mut user = serde_json::json!({"role": "user"});
                let field = if format == Format::Gemini { "parts" } else { "content" };
                user[field] = vec![result].into();
                user
            } else {
                result
            };
            body.pointer_mut(messages(format))?.as_array_mut()?.insert(0, message);
        }
        Mutation::CutBehindCall | Mutation::DropAll | Mutation::CombineSchema => {}
    }
    Some(body)
}

#[derive(Debug, Default)]
struct Breaker {
    made: BTreeMap<Mutation, u64>,
    unnoticed: Vec<String>,
}

impl Watch for Breaker {
    fn request(&mut self, state: &State, _: Voice, luck: &mut Luck) {
        let voice = luck.pick(&VOICES);
        let transcript = Transcript::from(state);
        let body = voice.dialect().encode(&transcript, &voice.ask(), &mut Cache::default());
        let body: Value = serde_json::from_slice(&body).unwrap();
        for mutation in MUTATIONS {
            let Some(mutant) = mutate(voice, &body, mutation, luck) else { continue };
            *self.made.entry(mutation).or_default() += 1;
            if voice.violations(&mutant).is_empty() {
                self.unnoticed.push(format!("{mutation:?} {voice:?}: {mutant}"));
            }
        }
    }
}

#[test]
fn control_a_body_that_is_broken_on_purpose_is_noticed() {
    let mut breaker = Breaker::default();
    for journal in 0..JOURNALS {
        let tape: Vec<u64> = (0..HAPPENINGS).map(|at| journal << 32 | at).collect();
        tell(&tape, &mut breaker);
    }
    println!("broken on purpose: {:?}, {} unnoticed", breaker.made, breaker.unnoticed.len());
    assert!(MUTATIONS.iter().all(|mutation| breaker.made.contains_key(mutation)));
    let shown: Vec<_> = breaker.unnoticed.iter().take(3).collect();
    assert!(breaker.unnoticed.is_empty(), "{shown:#?}");
}
