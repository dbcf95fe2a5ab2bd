//! A conversation of another program in neutral form: what is left when its format is taken away.
//!
//! Whoever reads session files makes one of these; the engine makes a journal of it. It knows neither.

use std::sync::Arc;

use crate::event::{ImportRemark, ImportSource, ModelRef};
use crate::id::Timestamp;

/// A conversation as another program left it, with everything mended that no provider would take.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Where it came from.
    pub source: ImportSource,
    /// Its title there.
    pub title: Option<String>,
    /// The directory that it worked in, as written there.
    pub workspace: Option<String>,
    /// Its turns, in order.
    pub turns: Vec<PastTurn>,
    /// What was mended, left out or noted, in the order of the file.
    pub remarks: Vec<ImportRemark>,
}

/// From a message to an answer, or to where it stopped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastTurn {
    /// What happened, in order. The first thing is a message.
    pub items: Vec<PastItem>,
    /// How it ended.
    pub end: PastEnd,
    /// The summary that replaced everything up to here, if one was made behind this turn.
    pub summary: Option<Arc<str>>,
}

/// How a turn of another program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PastEnd {
    /// With an answer.
    Completed,
    /// A person went on with something else.
    #[default]
    Left,
    /// It did not: the file ends here.
    Open {
        /// Why, as far as the file says it.
        why: Option<String>,
    },
}

/// One thing in a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum PastItem {
    /// A person said something.
    Said {
        /// Text and files.
        parts: Vec<PastPart>,
        /// Who put it there.
        by: Speaker,
        /// When.
        at: Option<Timestamp>,
    },
    /// The model answered.
    Answer(PastAnswer),
    /// A request failed.
    Failed {
        /// What was said about it.
        message: String,
        /// Who was asked.
        model: Option<ModelRef>,
        /// When.
        at: Option<Timestamp>,
    },
}

/// Who put words in the place of a person's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The person.
    Person,
    /// Whoever read the file: something had to stand there.
    Reader,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PastPart {
    /// Words.
    Text(Arc<str>),
    /// A file that went along.
    File(PastFile),
}

/// A file of a message or of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFile {
    /// Its name.
    pub name: String,
    /// What it is, such as `image/png`.
    pub media_type: String,
    /// What it holds.
    pub content: Arc<[u8]>,
}

/// An answer of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastAnswer {
    /// Text, reasoning and calls, in order.
    pub parts: Vec<PastAnswerPart>,
    /// Who answered.
    pub model: Option<ModelRef>,
    /// When.
    pub at: Option<Timestamp>,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum PastAnswerPart {
    /// Text for the person.
    Text(Arc<str>),
    /// Readable reasoning.
    Reasoning(Arc<str>),
    /// A call of a tool.
    Call(PastCall),
}

/// A call of a tool, with what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PastCall {
    /// Its name there; may be missing, may repeat.
    pub id: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments: always a JSON object.
    pub arguments: Arc<str>,
    /// What it gave; none if nobody knows.
    pub result: Option<PastResult>,
}

/// What a call gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastResult {
    /// What it printed or found.
    pub text: Arc<str>,
    /// Whether it says that it failed.
    pub failed: bool,
    /// Images that came with it.
    pub files: Vec<PastFile>,
    /// When it ended.
    pub at: Option<Timestamp>,
}

impl PastAnswer {
    /// The calls in it, in order.
    pub fn calls(&self) -> impl Iterator<Item = &PastCall> {
        self.parts.iter().filter_map(|part| match part {
            PastAnswerPart::Call(call) => Some(call),
            PastAnswerPart::Text(_) | PastAnswerPart::Reasoning(_) => None,
        })
    }
}

impl PastTurn {
    /// Whether the last thing in it is an answer that asks for nothing more.
    pub fn is_answered(&self) -> bool {
        matches!(self.items.last(), Some(PastItem::Answer(answer)) if answer.calls().next().is_none())
    }
}
