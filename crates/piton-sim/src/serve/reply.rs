//! An answer as it is to be spoken: its blocks, each in the pieces that it is streamed in.

use piton_core::answer::Delta;
use piton_core::event::{FinishReason, Usage};

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    /// How many answers stand before it; names it.
    pub(super) place: usize,
    pub(super) blocks: Vec<Block>,
    pub(super) finish: FinishReason,
    pub(super) usage: Usage,
    /// Whether the end comes twice, with a stray piece in between.
    pub(super) twice: bool,
}

/// A block of an answer.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    pub(super) pieces: Vec<String>,
    index: u32,
    closed: bool,
}

#[derive(Debug)]
pub(super) enum BlockKind {
    Reasoning,
    Text,
    Call { id: Option<String>, name: String },
}

impl Block {
    /// Everything in it.
    pub(super) fn whole(&self) -> String {
        self.pieces.concat()
    }

    /// Whether the output limit cut it.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self.kind, BlockKind::Call { .. }) && !self.closed
    }
}

impl Reply {
    /// Gathers the pieces of an answer.
    pub(super) fn new(place: usize, deltas: Vec<Delta>) -> Self {
        let mut reply = Self {
            place,
            blocks: Vec::new(),
            finish: FinishReason::Stop,
            usage: Usage::default(),
            twice: false,
        };
        let mut ended = false;
        for delta in deltas {
            match delta {
                Delta::End { finish, usage } => {
                    (reply.finish, reply.usage) = (finish, usage);
                    reply.twice = std::mem::replace(&mut ended, true);
                }
                _ if ended => {}
                Delta::Text { index, text } => reply.grow(index, text, || BlockKind::Text),
                Delta::Reasoning { index, text } => {
                    reply.grow(index, text, || BlockKind::Reasoning);
                }
                Delta::CallOpened { index, provider_id, name } => {
                    let kind = BlockKind::Call { id: provider_id, name };
                    reply.blocks.push(Block { kind, pieces: Vec::new(), index, closed: false });
                }
                Delta::CallArguments { index, json } => reply.grow(index, json, || BlockKind::Text),
                Delta::Closed { index } => {
                    let of_index = reply.blocks.iter_mut().filter(|block| block.index == index);
                    of_index.for_each(|block| block.closed = true);
                }
                Delta::Native(_) | Delta::Alive => {}
            }
        }
        // What the limit cut is not whole JSON by luck.
        for block in reply.blocks.iter_mut().filter(|block| block.is_cut()) {
            if let Some(last) = block.pieces.last_mut() {
                last.pop();
            }
        }
        reply
    }

    fn grow(&mut self, index: u32, piece: String, kind: impl Fn() -> BlockKind) {
        if let Some(block) = self.blocks.iter_mut().find(|block| block.index == index) {
            block.pieces.push(piece);
        } else {
            let (kind, pieces) = (kind(), vec![piece]);
            self.blocks.push(Block { kind, pieces, index, closed: false });
        }
    }

    /// The same words, but nothing in them.
    pub(super) fn emptied(mut self) -> Self {
        self.blocks.clear();
        (self.finish, self.twice) = (FinishReason::Stop, false);
        self
    }

    /// Whether it has reasoning.
    pub(super) fn thinks(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block.kind, BlockKind::Reasoning))
    }

    /// All its text.
    pub(super) fn text(&self) -> String {
        let texts = self.blocks.iter().filter(|block| matches!(block.kind, BlockKind::Text));
        texts.map(Block::whole).collect()
    }

    /// All its reasoning.
    pub(super) fn reasoning(&self) -> String {
        let thoughts = self.blocks.iter();
        let thoughts = thoughts.filter(|block| matches!(block.kind, BlockKind::Reasoning));
        thoughts.map(Block::whole).collect()
    }
}
