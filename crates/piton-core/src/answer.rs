//! From streamed pieces to an answer, in one direction only.
//!
//! A [`Partial`] grows while a stream runs. Only [`Partial::finish`] makes an [`Answer`], and only
//! for a stream that reached its end mark: half an answer cannot be mistaken for a whole one,
//! because it has another type.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{AnswerPart, FinishReason, Native, Usage};
use crate::id::{CallId, TurnId};

/// What the model is told when its answer was empty.
pub const EMPTY_NOTE: &str = "The response appears to be empty. Please try again.";

/// A piece of a stream. Blocks are told apart by their index; they may interleave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More text for the user.
    Text {
        /// The block.
        index: u32,
        /// The piece.
        text: String,
    },
    /// More readable reasoning.
    Reasoning {
        /// The block.
        index: u32,
        /// The piece.
        text: String,
    },
    /// A call begins.
    CallOpened {
        /// The block.
        index: u32,
        /// The provider's name for it, if it has one.
        provider_id: Option<String>,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments.
    CallArguments {
        /// The block.
        index: u32,
        /// The piece.
        json: String,
    },
    /// A block is whole. A call without this is not executed.
    Closed {
        /// The block.
        index: u32,
    },
    /// Provider-native blocks of this answer.
    Native(Native),
    /// Nothing to show, but the provider is still there.
    Alive,
    /// The end mark. Pieces behind it are ignored.
    End {
        /// Why the stream ended.
        finish: FinishReason,
        /// What it cost.
        usage: Usage,
    },
}

#[derive(Clone, Debug)]
enum Block {
    Text(String),
    Reasoning(String),
    Call { provider_id: Option<String>, name: String, arguments: String, closed: bool },
}

/// An answer that is still streaming.
#[derive(Clone, Debug, Default)]
pub struct Partial {
    blocks: BTreeMap<u32, Block>,
    native: Option<Native>,
    end: Option<(FinishReason, Usage)>,
    bytes_received: u64,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Text, reasoning and calls, in block order.
    pub parts: Vec<AnswerPart>,
    /// Why the stream ended.
    pub finish: FinishReason,
    /// What it cost.
    pub usage: Usage,
    /// Names of calls that were cut off, and are not executed.
    pub dropped: Vec<String>,
    /// Provider-native blocks.
    pub native: Option<Native>,
}

/// A stream that ended without its end mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream ended without its end mark after {bytes_received} bytes")]
pub struct NoEndMark {
    /// How much had arrived.
    pub bytes_received: u64,
}

impl Partial {
    /// Takes in the next piece. Pieces behind the end mark, and pieces that do not fit their block,
    /// are ignored: a provider's slip must not cost the answer.
    pub fn push(&mut self, delta: Delta) {
        if self.end.is_some() {
            return;
        }
        match delta {
            Delta::Text { index, text } => {
                self.count(&text);
                if let Block::Text(whole) =
                    self.blocks.entry(index).or_insert_with(|| Block::Text(String::new()))
                {
                    whole.push_str(&text);
                }
            }
            Delta::Reasoning { index, text } => {
                self.count(&text);
                if let Block::Reasoning(whole) =
                    self.blocks.entry(index).or_insert_with(|| Block::Reasoning(String::new()))
                {
                    whole.push_str(&text);
                }
            }
            Delta::CallOpened { index, provider_id, name } => {
                self.count(&name);
                self.blocks.entry(index).or_insert(Block::Call {
                    provider_id,
                    name,
                    arguments: String::new(),
                    closed: false,
                });
            }
            Delta::CallArguments { index, json } => {
                self.count(&json);
                if let Some(Block::Call { arguments, closed: false, .. }) =
                    self.blocks.get_mut(&index)
                {
                    arguments.push_str(&json);
                }
            }
            Delta::Closed { index } => {
                if let Some(Block::Call { closed, .. }) = self.blocks.get_mut(&index) {
                    *closed = true;
                }
            }
            Delta::Native(native) => self.native = Some(native),
            Delta::Alive => {}
            Delta::End { finish, usage } => self.end = Some((finish, usage)),
        }
    }

    fn count(&mut self, piece: &str) {
        self.bytes_received = self.bytes_received.saturating_add(piece.len() as u64);
    }

    /// Whether the end mark has come.
    pub fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// How much content has arrived.
    pub fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// Makes the answer, if the end mark has come. Calls get their names from their place.
    pub fn finish(self, turn: TurnId, step: u32) -> Result<Answer, NoEndMark> {
        let Some((finish, usage)) = self.end else {
            return Err(NoEndMark { bytes_received: self.bytes_received });
        };
        let mut parts = Vec::new();
        let mut dropped = Vec::new();
        let mut index = 0;
        for block in self.blocks.into_values() {
            match block {
                Block::Text(text) if !text.is_empty() => {
                    parts.push(AnswerPart::Text { text: text.into() });
                }
                Block::Reasoning(text) if !text.is_empty() => {
                    parts.push(AnswerPart::Reasoning { text: text.into() });
                }
                Block::Text(_) | Block::Reasoning(_) => {}
                Block::Call { name, arguments, provider_id, closed } => {
                    let provider_id = provider_id.filter(|id| !id.is_empty());
                    if name.is_empty() && provider_id.is_none() && arguments.is_empty() {
                        continue;
                    }
                    if name.is_empty() || !closed {
                        dropped.push(if name.is_empty() { "(unnamed)".into() } else { name });
                        continue;
                    }
                    let arguments = whole_arguments(arguments);
                    let call = CallId { turn, step, index };
                    parts.push(AnswerPart::Call { call, provider_id, name, arguments });
                    index += 1;
                }
            }
        }
        Ok(Answer { parts, finish, usage, dropped, native: self.native })
    }
}

/// No arguments at all is how several providers say "no arguments".
fn whole_arguments(arguments: String) -> Arc<str> {
    if arguments.trim().is_empty() { "{}".into() } else { arguments.into() }
}

impl Answer {
    /// Whether there is nothing in it that a user or a tool could use.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty()
            && !self.parts.iter().any(|part| match part {
                AnswerPart::Text { text } => !text.trim().is_empty(),
                AnswerPart::Call { .. } => true,
                AnswerPart::Reasoning { .. } => false,
            })
    }
}
