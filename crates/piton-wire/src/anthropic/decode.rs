//! From the bytes of a stream to pieces of an answer.
//!
//! Blocks are told apart by their index. A call is closed only at the end mark: the service closes
//! blocks that the output limit cut, too, and only the stop reason behind them tells. What the
//! reader does not know it skips; what it knows but cannot read ends the answer, because a piece
//! missing from a text or from arguments would not be noticed later.

mod event;

use std::collections::BTreeMap;

use piton_core::answer::Delta;
use piton_core::event::{FailureClass, FinishReason};
use serde_json::value::RawValue;

use self::event::{Event, Message, Piece, Start, Tokens};
use super::blank::is_blank;
use super::failure;
use super::native::{Keeper, Origin};
use crate::lifted::Lifted;
use crate::sse::EventReader;
use crate::{Ask, Decoder, Failure};

/// Reads one answer.
#[derive(Debug)]
pub(super) struct Reader {
    origin: Origin,
    events: EventReader,
    id: Option<String>,
    blocks: BTreeMap<u32, Block>,
    /// The block that pieces without an index belong to.
    latest: u32,
    stop_reason: Option<String>,
    tokens: Tokens,
    over: bool,
}

/// A block as far as it has come.
#[derive(Debug)]
struct Block {
    content: Content,
    closed: bool,
}

#[derive(Debug)]
enum Content {
    Text {
        blank: bool,
    },
    Thinking {
        text: String,
        signature: String,
    },
    /// Arrives whole; opaque.
    Redacted {
        raw: String,
    },
    Call {
        named: bool,
        /// Arguments that came with the start; pieces replace them.
        given: String,
        arguments: String,
    },
    /// Nothing of ours, such as a tool that the service runs itself.
    Other,
}

impl Decoder for Reader {
    fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if self.over {
            return Ok(());
        }
        let mut events = std::mem::take(&mut self.events);
        let read = events.push(bytes, |event| self.take(event, deltas));
        self.events = events;
        self.over |= read.is_err();
        read
    }

    /// The end mark of this format is its own event: nothing is held back, but an error need not be
    /// an event.
    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        match self.events.object() {
            Some(object) if !self.over => self.take(&object, deltas),
            Some(_) | None => Ok(()),
        }
    }
}

impl Reader {
    pub(super) fn new(ask: &Ask) -> Self {
        Self {
            origin: Origin::of(ask),
            events: EventReader::default(),
            id: None,
            blocks: BTreeMap::new(),
            latest: 0,
            stop_reason: None,
            tokens: Tokens::default(),
            over: false,
        }
    }

    fn take(&mut self, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        // Behind the end mark some gateways send the end mark of another format.
        if self.over {
            return Ok(());
        }
        let lifted = Lifted::of(data, &event::OPAQUE_KEYS);
        let Ok(event) = serde_json::from_str::<Event<'_>>(lifted.rest()) else {
            return if event::is_foreign(data) { Ok(()) } else { Err(malformed("an event")) };
        };
        match &*event.kind {
            "content_block_delta" => self.grow(event.index, event.delta, &lifted, deltas),
            "content_block_start" => match event.content_block {
                Some(block) => self.open(event.index, block, &lifted, deltas)?,
                None => return Err(malformed("a block")),
            },
            "content_block_stop" => self.close(event.index.unwrap_or(self.latest), deltas),
            "message_start" => match event.message {
                Some(message) => self.begin(message, &lifted, deltas)?,
                None => return Err(malformed("the start of a message")),
            },
            "message_delta" => {
                self.tokens.take(event.usage);
                self.stop_reason =
                    event.delta.and_then(|it| it.stop_reason).or_else(|| self.stop_reason.take());
            }
            "message_stop" => self.finish(deltas),
            "error" => return Err(failure::from_event(data)),
            "" if event.error.is_some() => return Err(failure::from_event(data)),
            // A ping, or something newer than this reader.
            _ => {}
        }
        Ok(())
    }

    fn begin(
        &mut self,
        message: &RawValue,
        lifted: &Lifted<'_>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Failure> {
        let message: Message<'_> =
            serde_json::from_str(message.get()).map_err(|_| malformed("the start of a message"))?;
        if let Some(id) = &self.id {
            let same = message.id.as_ref() == Some(id);
            // Two answers in one stream: what belongs to which is lost.
            return if same || self.blocks.is_empty() {
                Ok(())
            } else {
                Err(Failure::new(FailureClass::Malformed, "another message began inside a message"))
            };
        }
        self.id = Some(message.id.unwrap_or_default());
        self.tokens.take(message.usage);
        self.stop_reason = message.stop_reason;
        // A message may arrive whole, without events for its blocks.
        for (index, block) in (0..).zip(message.content.unwrap_or_default()) {
            self.open(Some(index), block, lifted, deltas)?;
            self.close(index, deltas);
        }
        Ok(())
    }

    fn open(
        &mut self,
        index: Option<u32>,
        block: &RawValue,
        lifted: &Lifted<'_>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Failure> {
        let index =
            index.unwrap_or_else(|| self.blocks.keys().next_back().map_or(0, |last| last + 1));
        self.latest = index;
        if self.blocks.contains_key(&index) {
            return Ok(());
        }
        let Ok(start) = serde_json::from_str::<Start<'_>>(block.get()) else {
            if event::is_known_block(block.get()) {
                return Err(malformed("a block"));
            }
            self.insert(index, Content::Other);
            return Ok(());
        };
        match &*start.kind {
            "text" => self.add_text(index, start.text.unwrap_or_default(), deltas),
            "thinking" => {
                self.add_thought(index, start.thinking.unwrap_or_default(), deltas);
                self.sign(index, start.signature, lifted);
            }
            "redacted_thinking" => {
                let raw = lifted.whole(block.get()).into_owned();
                self.insert(index, Content::Redacted { raw });
            }
            "tool_use" => {
                let name = start.name.unwrap_or_default();
                let given = lifted.whole(start.input.map_or("", RawValue::get)).into_owned();
                let (named, arguments) = (!name.is_empty(), String::new());
                self.insert(index, Content::Call { named, given, arguments });
                deltas.push(Delta::CallOpened { index, provider_id: start.id, name });
            }
            _ => self.insert(index, Content::Other),
        }
        Ok(())
    }

    fn insert(&mut self, index: u32, content: Content) {
        self.blocks.insert(index, Block { content, closed: false });
    }

    fn grow(
        &mut self,
        index: Option<u32>,
        piece: Option<Piece<'_>>,
        lifted: &Lifted<'_>,
        deltas: &mut Vec<Delta>,
    ) {
        let index = index.unwrap_or(self.latest);
        let Some(piece) = piece else { return };
        match &*piece.kind {
            "text_delta" => self.add_text(index, piece.text.unwrap_or_default(), deltas),
            "thinking_delta" => self.add_thought(index, piece.thinking.unwrap_or_default(), deltas),
            "signature_delta" => self.sign(index, piece.signature, lifted),
            "input_json_delta" => {
                let json = piece.partial_json.unwrap_or_default();
                if let Some(Block { content: Content::Call { arguments, .. }, closed: false }) =
                    self.blocks.get_mut(&index)
                    && !json.is_empty()
                {
                    arguments.push_str(&json);
                    deltas.push(Delta::CallArguments { index, json });
                }
            }
            // Citations and the like belong to features that are not asked for.
            _ => {}
        }
    }

    /// More text; of a block whose start never came, too.
    fn add_text(&mut self, index: u32, piece: String, deltas: &mut Vec<Delta>) {
        let new = || Block { content: Content::Text { blank: true }, closed: false };
        let block = self.blocks.entry(index).or_insert_with(new);
        if let Content::Text { blank } = &mut block.content
            && !piece.is_empty()
        {
            *blank &= is_blank(&piece);
            deltas.push(Delta::Text { index, text: piece });
        }
    }

    fn add_thought(&mut self, index: u32, piece: String, deltas: &mut Vec<Delta>) {
        let new = || {
            let (text, signature) = (String::new(), String::new());
            Block { content: Content::Thinking { text, signature }, closed: false }
        };
        let block = self.blocks.entry(index).or_insert_with(new);
        if let Content::Thinking { text, .. } = &mut block.content
            && !piece.is_empty()
        {
            text.push_str(&piece);
            deltas.push(Delta::Reasoning { index, text: piece });
        }
    }

    /// A signature comes whole and replaces the one before.
    fn sign(&mut self, index: u32, value: Option<&RawValue>, lifted: &Lifted<'_>) {
        let text = value.map_or("", RawValue::get);
        if let Some(Block { content: Content::Thinking { signature, .. }, .. }) =
            self.blocks.get_mut(&index)
            && text.starts_with('"')
            && text != r#""""#
        {
            *signature = lifted.whole(text).into_owned();
        }
    }

    fn close(&mut self, index: u32, deltas: &mut Vec<Delta>) {
        let Some(block) = self.blocks.get_mut(&index) else { return };
        if std::mem::replace(&mut block.closed, true) {
            return;
        }
        match &mut block.content {
            // Closed for the core only at the end mark.
            Content::Call { given, arguments, .. } => {
                let given = std::mem::take(given);
                if arguments.is_empty() && !given.is_empty() && given != "{}" && given != "null" {
                    arguments.clone_from(&given);
                    deltas.push(Delta::CallArguments { index, json: given });
                }
            }
            Content::Text { .. } | Content::Thinking { .. } => deltas.push(Delta::Closed { index }),
            Content::Redacted { .. } | Content::Other => {}
        }
    }

    fn finish(&mut self, deltas: &mut Vec<Delta>) {
        self.over = true;
        let finish = self.finish_reason();
        let whole = |block: &Block| match &block.content {
            Content::Call { arguments, .. } if finish == FinishReason::Length => {
                serde_json::from_str::<&RawValue>(arguments).is_ok()
            }
            Content::Call { .. } => true,
            Content::Text { .. }
            | Content::Thinking { .. }
            | Content::Redacted { .. }
            | Content::Other => false,
        };
        let blocks = self.blocks.iter();
        let whole: Vec<u32> = blocks
            .filter(|(_, block)| block.closed && whole(block))
            .map(|(index, _)| *index)
            .collect();
        deltas.extend(whole.iter().map(|index| Delta::Closed { index: *index }));
        deltas.extend(self.native(&whole));
        deltas.push(Delta::End { finish, usage: self.tokens.usage() });
    }

    fn finish_reason(&self) -> FinishReason {
        match self.stop_reason.as_deref() {
            // A paused answer is not whole either: the service wants to be asked to go on.
            Some("max_tokens" | "model_context_window_exceeded" | "pause_turn") => {
                FinishReason::Length
            }
            Some("refusal") => FinishReason::Refused,
            // Gateways mistake one for the other, and new reasons come: the calls tell.
            Some(_) | None => {
                let is_call = |block: &Block| {
                    block.closed && matches!(block.content, Content::Call { named: true, .. })
                };
                let calls = self.blocks.values().any(is_call);
                if calls { FinishReason::ToolCalls } else { FinishReason::Stop }
            }
        }
    }

    /// The thoughts of this answer, with their places among what the journal keeps of it; `None`
    /// when one of them was cut, because then none may be sent back.
    fn native(&self, whole_calls: &[u32]) -> Option<Delta> {
        let sizes = self.blocks.values().map(|block| match &block.content {
            Content::Thinking { text, signature } => text.len() + signature.len(),
            Content::Redacted { raw } => raw.len(),
            Content::Text { .. } | Content::Call { .. } | Content::Other => 0,
        });
        let mut keeper = Keeper::with_room(sizes);
        let mut before = 0;
        for (index, block) in &self.blocks {
            match &block.content {
                Content::Text { blank } => before += usize::from(!blank),
                Content::Call { named, .. } => {
                    before += usize::from(*named && whole_calls.contains(index));
                }
                Content::Thinking { .. } | Content::Redacted { .. } if !block.closed => {
                    return None;
                }
                Content::Thinking { signature, .. } if signature.is_empty() => return None,
                Content::Thinking { text, signature } => {
                    let text = serde_json::to_string(text).unwrap_or_default();
                    keeper.keep(before, &event::thinking_block(&text, signature));
                }
                Content::Redacted { raw } => keeper.keep(before, &[raw]),
                Content::Other => {}
            }
        }
        keeper.finish(&self.origin).map(Delta::Native)
    }
}

fn malformed(what: &str) -> Failure {
    Failure::new(FailureClass::Malformed, format!("{what} of the stream could not be read"))
}
