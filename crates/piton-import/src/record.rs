//! What a file says, record by record, before anything is mended.

use std::collections::BTreeMap;
use std::sync::Arc;

use piton_core::event::{ImportRemark, ModelRef};
use piton_core::history::{PastPart, PastResult};
use piton_core::id::Timestamp;

use crate::arguments::Arguments;

/// What a file says.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) records: Vec<Record>,
    pub(crate) remarks: Vec<ImportRemark>,
    pub(crate) title: Option<String>,
    pub(crate) workspace: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) session: Option<String>,
    /// Records of kinds that no reader knows, and the line of the first one.
    unknown: BTreeMap<String, (u64, u64)>,
}

/// When something was said, and in which line it stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stand {
    pub(crate) line: u64,
    pub(crate) at: Option<Timestamp>,
}

/// One thing that a file says.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) stand: Stand,
    pub(crate) what: What,
}

/// What a record is.
#[derive(Debug)]
pub(crate) enum What {
    /// Words of a person.
    Said(Vec<PastPart>),
    /// An answer, or a piece of one.
    Answer { pieces: Vec<Piece>, model: Option<ModelRef>, joins: Joins },
    /// What a call gave.
    Result { id: Option<String>, tool: Option<String>, result: PastResult, is_made_up: bool },
    /// A request that failed.
    Failed { message: String, model: Option<ModelRef> },
    /// A summary that replaces everything before it.
    Summary(Arc<str>),
}

/// Whether an answer may be the rest of the one in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joins {
    /// The file writes an answer as one record.
    Nothing,
    /// The file writes every piece of an answer as a record of its own.
    TheOneBefore,
}

/// A piece of an answer.
#[derive(Debug)]
pub(crate) enum Piece {
    Text(Arc<str>),
    Reasoning(Arc<str>),
    /// With the line that it stands in, if that is another one than its answer's; else nought.
    Call {
        id: Option<String>,
        tool: String,
        arguments: Arguments,
        line: u64,
    },
}

impl Story {
    pub(crate) fn push(&mut self, stand: Stand, what: What) {
        self.records.push(Record { stand, what });
    }

    /// Says something of a line.
    pub(crate) fn remark(&mut self, kind: &str, stand: Stand, text: &str) {
        self.remarks.push(ImportRemark::new(kind, stand.line, text));
    }

    /// A message that the agent made in the name of somebody else: shown, not sent.
    pub(crate) fn note(&mut self, stand: Stand, text: &str) {
        self.remark("note", stand, text);
    }

    /// Words of a person, unless there are none.
    pub(crate) fn say(&mut self, stand: Stand, parts: Vec<PastPart>) {
        if !parts.is_empty() {
            self.push(stand, What::Said(parts));
        }
    }

    /// An answer, written as one record.
    pub(crate) fn answer(&mut self, stand: Stand, pieces: Vec<Piece>, model: Option<ModelRef>) {
        self.push(stand, What::Answer { pieces, model, joins: Joins::Nothing });
    }

    /// A request that failed, as the file says itself.
    pub(crate) fn fail(&mut self, stand: Stand, message: &str) {
        self.remark("error_recorded", stand, message);
        self.push(stand, What::Failed { message: message.to_owned(), model: None });
    }

    /// All of it is what a sub-agent did: taken over as a conversation of its own.
    pub(crate) fn is_of_sub_agent(&mut self, stand: Stand, of: &str) {
        self.remark("of_sub_agent", stand, of);
    }

    /// A record of a kind that nobody here knows. The original keeps it.
    pub(crate) fn unknown(&mut self, kind: &str, line: u64) {
        let (count, _) = self.unknown.entry(kind.to_owned()).or_insert((0, line));
        *count += 1;
    }

    /// The same of several.
    pub(crate) fn unknown_all(&mut self, kinds: &[String], line: u64) {
        for kind in kinds {
            self.unknown(kind, line);
        }
    }

    /// Adds what is to be said of unknown records.
    pub(crate) fn tell_unknown(&mut self) {
        for (kind, (count, line)) in std::mem::take(&mut self.unknown) {
            let times = if count == 1 { String::new() } else { format!(", {count} times") };
            self.remark(
                "unknown_record",
                Stand { line, at: None },
                &format!("{}{times}", if kind.is_empty() { "without a type" } else { &kind }),
            );
        }
    }
}

impl Stand {
    pub(crate) fn line(line: u64) -> Self {
        Self { line, at: None }
    }
}
