//! A model that follows a script: it says, calls, streams in chunks and fails as told.
//!
//! Which step comes next is read off the transcript, not remembered, so a killed and resumed
//! process goes on in the right place. Only faults are counted in memory: each is met once per
//! process.

mod stream;
mod tool;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use piton::model::{AnswerStream, Model};
use piton_core::event::{AnswerPart, EffectClass, FailureClass};
use piton_core::transcript::{CUT_MARK, Message, Transcript};
use piton_tools::Tool;
use serde::Deserialize;
use serde_json::Value;

use self::tool::ScriptTool;

/// What the model says and does, step by step.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The answers, in order; one more request than there are steps gets a closing word.
    pub steps: Vec<ScriptStep>,
    /// Tools that exist only in this script.
    #[serde(default)]
    pub tools: Vec<ToolScript>,
}

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
    /// Characters per streamed chunk; 0 sends each block at once.
    pub chunk: usize,
    /// Pause between chunks, in milliseconds.
    pub chunk_ms: u64,
    /// What goes wrong, one per attempt, before the step succeeds.
    pub faults: Vec<Fault>,
    /// How the stream ends.
    pub end: ScriptEnd,
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

/// What goes wrong with one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// In which way.
    pub kind: FaultKind,
    /// After how many chunks.
    #[serde(default)]
    pub after: usize,
    /// How long the provider asks to wait, in milliseconds.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

/// In which way an attempt goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The stream ends without its end mark.
    Cut,
    /// The answer is empty.
    Empty,
    /// Nothing more comes.
    Stall,
    /// The model's code panics.
    Panic,
    /// The provider reports a failure.
    Fail(FailureClass),
}

/// A tool that exists only in a script.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolScript {
    /// Its name.
    pub name: String,
    /// How its outcome can be settled after a crash.
    pub effect: EffectClass,
    /// A file of the workspace that it waits for.
    #[serde(default)]
    pub wait_for: Option<String>,
    /// A file of the workspace that gets one line with the call's name.
    #[serde(default)]
    pub append_to: Option<String>,
    /// What it gives.
    #[serde(default)]
    pub output: String,
}

/// A script that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("not a script: {0}")]
pub struct ScriptError(#[from] serde_json::Error);

impl Script {
    /// Reads a script.
    pub fn parse(json: &str) -> Result<Self, ScriptError> {
        Ok(serde_json::from_str(json)?)
    }

    /// The tools that exist only in this script.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |tool: &ToolScript| Arc::new(ScriptTool(tool.clone())) as Arc<dyn Tool>;
        self.tools.iter().map(tool).collect()
    }
}

/// The model that follows a script.
#[derive(Debug)]
pub struct ScriptedModel {
    script: Script,
    // How many faults of each step were met. A lock, because a model is asked from any task.
    met: Mutex<BTreeMap<usize, usize>>,
}

impl ScriptedModel {
    /// A model at the beginning of a script.
    pub fn new(script: Script) -> Self {
        Self { script, met: Mutex::new(BTreeMap::new()) }
    }

    fn next_fault(&self, place: usize, step: &ScriptStep) -> Option<Fault> {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let count = met.entry(place).or_default();
        let fault = step.faults.get(*count).copied();
        *count += usize::from(fault.is_some());
        fault
    }
}

impl Model for ScriptedModel {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let place = transcript.messages().iter().filter(|message| is_answer(message)).count();
        let over = ScriptStep { say: "The script is over.".into(), ..ScriptStep::default() };
        let step = self.script.steps.get(place).unwrap_or(&over);
        stream::play(step, self.next_fault(place, step), place)
    }
}

/// An answer that was cut off is not a step of the script.
fn is_answer(message: &Message) -> bool {
    match message {
        Message::User(_) | Message::Results(_) => false,
        Message::Assistant(assistant) => !assistant.parts.iter().any(|part| match part {
            AnswerPart::Text { text } => text.ends_with(CUT_MARK),
            AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => false,
        }),
    }
}
