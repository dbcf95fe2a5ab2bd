//! A model that follows a script: it says, calls, streams in chunks and fails as told.
//!
//! Which step comes next is read off the transcript, not remembered, so a killed and resumed
//! process goes on in the right place. Only faults are counted in memory: each is met once per
//! process. The same script is played over HTTP by [`crate::serve`].

pub mod binding;
pub mod fault;
mod notation;
pub(crate) mod obey;
pub(crate) mod pace;
mod step;
mod stream;
pub(crate) mod summary;
mod tool;

use std::borrow::Cow;
use std::sync::Arc;

use piton::model::{AnswerStream, Model};
use piton_core::event::{AnswerPart, FailureClass};
use piton_core::recap::ANSWERS_HEAD;
use piton_core::transcript::{CUT_MARK, Message, SUMMARY_HEADING, Transcript, typed};
use piton_tools::Tool;
use serde::Deserialize;

use self::fault::MetFaults;
pub use self::fault::{Fault, FaultKind};
pub use self::notation::{FaultTextError, parse_fault};
pub use self::step::{ScriptCall, ScriptEnd, ScriptStep};
pub use self::summary::Summaries;
use self::tool::ScriptTool;
pub use self::tool::ToolScript;

/// What the model says and does, step by step.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The answers, in order; one more request than there are steps gets a closing word.
    pub steps: Vec<ScriptStep>,
    /// Tools that exist only in this script.
    #[serde(default)]
    pub tools: Vec<ToolScript>,
    /// What workers answer, by their task.
    #[serde(default)]
    pub workers: Vec<WorkerScript>,
    /// Largest request that the model takes, in tokens as we estimate them; 0 takes any.
    #[serde(default)]
    pub window_tokens: u64,
    /// How the model sums up, when it is asked to.
    #[serde(default)]
    pub summaries: Summaries,
}

/// What a worker says and does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerScript {
    /// The message that hands it its task.
    pub task: String,
    /// The answers behind that message, in order.
    pub steps: Vec<ScriptStep>,
}

/// What stands in a conversation, as far as the choice of an answer needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// The user said this.
    User(String),
    /// The model answered.
    Answer,
    /// A summary stands for so many answers.
    Covered(usize),
}

/// What comes next.
#[derive(Debug)]
pub(crate) struct Cue<'a> {
    pub(crate) step: Cow<'a, ScriptStep>,
    /// How many answers stand before it.
    pub(crate) place: usize,
    /// Where its faults are counted.
    pub(crate) faults_at: usize,
}

/// Most steps of one worker; its faults are counted in a range of this length.
const WORKER_STEPS_MAX: usize = 10_000;

/// A script that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("not a script: {0}")]
pub struct ScriptError(#[from] serde_json::Error);

impl Script {
    /// Reads a script.
    pub fn parse(json: &str) -> Result<Self, ScriptError> {
        Ok(serde_json::from_str(json)?)
    }

    /// Whether a request of this size is too large for the model.
    pub(crate) fn overflows(&self, tokens: u64) -> bool {
        0 < self.window_tokens && self.window_tokens < tokens
    }

    /// The tools that exist only in this script.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |tool: &ToolScript| Arc::new(ScriptTool(tool.clone())) as Arc<dyn Tool>;
        self.tools.iter().map(tool).collect()
    }

    /// What comes next in a conversation whose request has so many tokens: behind the last message that hands a worker its task, what
    /// that worker says; else the script's own steps.
    pub(crate) fn cue(&self, talk: &[Talk], tokens: u64) -> Cue<'_> {
        let mut cue = self.summaries.cue(talk).unwrap_or_else(|| self.next(talk));
        // Who has a window counts.
        if 0 < self.window_tokens {
            cue.step.to_mut().counted_tokens = Some(tokens);
        }
        cue
    }

    fn next(&self, talk: &[Talk]) -> Cue<'_> {
        let answers = |talk: &[Talk]| talk.iter().map(Talk::answers).sum::<usize>();
        let covered = |talk: &[Talk]| {
            talk.iter()
                .filter(|it| matches!(it, Talk::Covered(_)))
                .map(Talk::answers)
                .sum::<usize>()
        };
        let handed = talk.iter().enumerate().rev().find_map(|(at, talk)| {
            let (number, worker) =
                (1..).zip(&self.workers).find(|(_, worker)| worker.is_told(talk))?;
            Some((at, number, worker))
        });
        let (steps, own, first) = match handed {
            None => (&self.steps, answers(talk), 0),
            Some((at, number, worker)) => {
                let (before, since) = talk.split_at_checked(at).unwrap_or((&[], talk));
                // A summary stands in front of the message whose answers it covers.
                let own = covered(before) + answers(since);
                (&worker.steps, own, number * WORKER_STEPS_MAX)
            }
        };
        let over = || ScriptStep { say: "The script is over.".into(), ..ScriptStep::default() };
        let step = steps.get(own).map_or_else(|| Cow::Owned(over()), Cow::Borrowed);
        Cue { step, place: answers(talk), faults_at: first + own }
    }
}

impl WorkerScript {
    /// Whether this message hands it its task. Providers may have joined it with the one before.
    fn is_told(&self, talk: &Talk) -> bool {
        match talk {
            Talk::User(said) => {
                let before = said.strip_suffix(self.task.as_str());
                before.is_some_and(|before| before.is_empty() || before.ends_with('\n'))
            }
            Talk::Answer | Talk::Covered(_) => false,
        }
    }
}

impl Talk {
    /// What a user message says: in front of it may stand a summary, which covers answers.
    pub(crate) fn of_user(text: String) -> impl Iterator<Item = Self> {
        let summary = text.starts_with(SUMMARY_HEADING).then_some(text.as_str());
        let mut lines = summary.into_iter().flat_map(str::lines);
        let count = lines.find_map(|line| line.strip_prefix(ANSWERS_HEAD)?.trim().parse().ok());
        count.map(Self::Covered).into_iter().chain([Self::User(text)])
    }

    /// How many answers it is.
    pub(crate) fn answers(&self) -> usize {
        match self {
            Self::User(_) => 0,
            Self::Answer => 1,
            Self::Covered(answers) => *answers,
        }
    }
}

/// The model that follows a script.
#[derive(Debug)]
pub struct ScriptedModel {
    script: Script,
    met: MetFaults,
}

impl ScriptedModel {
    /// A model at the beginning of a script.
    pub fn new(script: Script) -> Self {
        Self { script, met: MetFaults::default() }
    }
}

impl Model for ScriptedModel {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        let tokens = transcript.tokens_estimated();
        if self.script.overflows(tokens) {
            return stream::refuse(FailureClass::ContextOverflow, "the request is too large");
        }
        let talk: Vec<Talk> = transcript.messages().iter().flat_map(talk).collect();
        let Cue { step, place, faults_at } = self.script.cue(&talk, tokens);
        let step = step.obeying(&read(transcript));
        stream::play(&step, self.met.next(faults_at, &step.faults, |_| true), place)
    }
}

/// All that a transcript gives to read.
fn read(transcript: &Transcript) -> Vec<&str> {
    let messages = transcript.messages().iter().flat_map(|message| match message {
        Message::User(parts) => parts.iter().filter_map(typed).collect::<Vec<_>>(),
        Message::Assistant(_) => Vec::new(),
        Message::Results(results) => results.iter().map(|result| &*result.text).collect(),
    });
    [transcript.system()].into_iter().chain(messages).collect()
}

fn talk(message: &Message) -> Vec<Talk> {
    match message {
        Message::User(parts) => {
            let texts = parts.iter().filter_map(typed);
            Talk::of_user(texts.collect::<Vec<_>>().join("\n")).collect()
        }
        Message::Assistant(_) => is_answer(message).then_some(Talk::Answer).into_iter().collect(),
        Message::Results(_) => Vec::new(),
    }
}

/// An answer that was cut off is not a step of the script.
fn is_answer(message: &Message) -> bool {
    match message {
        Message::User(_) | Message::Results(_) => false,
        Message::Assistant(assistant) => !assistant.parts.iter().any(|part| match part {
            AnswerPart::Text { text } => is_cut(text),
            AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => false,
        }),
    }
}

/// Whether a text is that of an answer that was cut off.
pub(crate) fn is_cut(text: &str) -> bool {
    text.ends_with(CUT_MARK)
}
