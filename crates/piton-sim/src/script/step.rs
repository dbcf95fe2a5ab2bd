//! One step of a script, and the pieces that it is said in.

use std::path::PathBuf;

use piton_core::answer::Delta;
use piton_core::event::{FinishReason, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::fault::Fault;

/// Tokens that a request is said to have where nobody counts.
const COUNTED_TOKENS: u64 = 100;

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptStep {
    /// Text for the user.
    pub say: String,
    /// Readable reasoning in front of it.
    pub think: String,
    /// Tools to call, in parallel.
    pub calls: Vec<ScriptCall>,
    /// Which call of the last order in the request is made, from 1; 0 obeys nobody.
    pub obey: usize,
    /// Characters per streamed chunk; 0 sends each block at once.
    pub chunk: usize,
    /// Pause between chunks, in milliseconds.
    pub chunk_ms: u64,
    /// A file that has to be there before the second half of the pieces is sent.
    pub wait_for: Option<PathBuf>,
    /// What goes wrong, one per attempt, before the step succeeds.
    pub faults: Vec<Fault>,
    /// How the stream ends.
    pub end: ScriptEnd,
    /// Tokens that the request is said to have; none are a hundred. No part of a script's text.
    #[serde(skip)]
    pub counted_tokens: Option<u64>,
}

/// One call.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Its arguments as text instead, to send what is not JSON.
    pub raw: Option<String>,
    /// The provider's name for it; absent makes one up, empty sends none.
    pub id: Option<String>,
}

/// How a stream ends when nothing goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptEnd {
    /// With its end mark.
    #[default]
    Mark,
    /// With two end marks and a stray piece behind them.
    Twice,
    /// Cut by the output limit; the last call is not closed.
    Length,
    /// With a refusal.
    Refused,
}

impl ScriptStep {
    /// What the step says, in pieces; `place` is how many answers stand before it.
    pub(crate) fn deltas(&self, place: usize) -> Vec<Delta> {
        let mut deltas = Vec::new();
        let mut index = 0;
        for piece in chunks(&self.think, self.chunk) {
            deltas.push(Delta::Reasoning { index, text: piece });
        }
        index += 1;
        for piece in chunks(&self.say, self.chunk) {
            deltas.push(Delta::Text { index, text: piece });
        }
        let last = self.calls.len().saturating_sub(1);
        for (number, call) in self.calls.iter().enumerate() {
            index += 1;
            let name = call.tool.clone();
            deltas.push(Delta::CallOpened {
                index,
                provider_id: provider_id(call, place, number),
                name,
            });
            for json in chunks(&arguments(call), self.chunk) {
                deltas.push(Delta::CallArguments { index, json });
            }
            if self.end != ScriptEnd::Length || number < last {
                deltas.push(Delta::Closed { index });
            }
        }
        end(&mut deltas, self);
        deltas
    }
}

fn end(deltas: &mut Vec<Delta>, step: &ScriptStep) {
    let input = step.counted_tokens.unwrap_or(COUNTED_TOKENS);
    let usage = Usage { input, output: 10, cached: 0 };
    let finish = match step.end {
        ScriptEnd::Length => FinishReason::Length,
        ScriptEnd::Refused => FinishReason::Refused,
        ScriptEnd::Mark | ScriptEnd::Twice if step.calls.is_empty() => FinishReason::Stop,
        ScriptEnd::Mark | ScriptEnd::Twice => FinishReason::ToolCalls,
    };
    deltas.push(Delta::End { finish, usage });
    if step.end == ScriptEnd::Twice {
        deltas.push(Delta::Text { index: 1, text: "stray".into() });
        deltas.push(Delta::End { finish, usage });
    }
}

fn provider_id(call: &ScriptCall, place: usize, number: usize) -> Option<String> {
    match &call.id {
        None => Some(format!("call_{place}_{number}")),
        Some(id) if id.is_empty() => None,
        Some(id) => Some(id.clone()),
    }
}

fn arguments(call: &ScriptCall) -> String {
    match (&call.raw, &call.arguments) {
        (Some(raw), _) => raw.clone(),
        (None, Value::Null) => String::new(),
        (None, arguments) => arguments.to_string(),
    }
}

fn chunks(text: &str, size: usize) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    if size == 0 {
        return vec![text.to_owned()];
    }
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
