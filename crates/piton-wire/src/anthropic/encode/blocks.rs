//! From one message to its blocks, comma-separated and without the brackets.
//!
//! Depends on nothing but the message and the request's frame, so the bytes can be kept.

use std::borrow::Cow;

use piton_core::event::{AnswerPart, UserPart};
use piton_core::transcript::{Assistant, CallResult, Message};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::anthropic::blank::is_blank;
use crate::anthropic::model::{self, Form};
use crate::anthropic::native::{self, Kept};
use crate::anthropic::sound;
use crate::cache::{Frame, bytes_estimated};
use crate::file::{Piece, given};
use crate::{Ask, Effort, wire_id};

/// Stands in for the output of a tool that gave none: an error without content is rejected.
const NO_OUTPUT: &str = "(no output)";

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
        title: &'a str,
    },
    ToolUse {
        id: String,
        name: Cow<'a, str>,
        input: Input<'a>,
    },
    ToolResult {
        tool_use_id: String,
        content: Content<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
}

/// What a call gave.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

/// What an image or a document holds.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: Cow<'a, str> },
    Text { media_type: &'a str, data: &'a str },
}

/// Arguments of a call. The service takes only objects; what the model wrote instead is shown to
/// it as text, because it would imitate empty arguments.
#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Object(&'a RawValue),
    Unreadable { unreadable_arguments: &'a str },
    None {},
}

struct Blocks(Vec<u8>);

impl Blocks {
    fn push(&mut self, block: &Block<'_>) {
        self.separate();
        let end = self.0.len();
        // Strings and raw JSON cannot fail to serialise; half a block would spoil the body.
        if serde_json::to_writer(&mut self.0, block).is_err() {
            self.0.truncate(end);
        }
    }

    fn push_raw(&mut self, block: &RawValue) {
        self.separate();
        self.0.extend_from_slice(block.get().as_bytes());
    }

    fn separate(&mut self) {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
    }
}

/// The blocks of a message; none where nothing in it may be sent.
pub(super) fn of(message: &Message, frame: Frame<'_>) -> Vec<u8> {
    let mut blocks = Blocks(Vec::with_capacity(bytes_estimated(message)));
    match message {
        Message::User(parts) => add_said(&mut blocks, parts, frame),
        Message::Assistant(assistant) => add_answer(&mut blocks, assistant, frame),
        Message::Results(results) => add_results(&mut blocks, results, frame),
    }
    blocks.0
}

/// Whether a message has blocks.
pub(super) fn has_content(message: &Message) -> bool {
    match message {
        Message::User(parts) => parts.iter().any(is_readable),
        Message::Assistant(assistant) => assistant.parts.iter().any(is_said),
        Message::Results(results) => !results.is_empty(),
    }
}

/// Whether a message of the model begins with a thought when it is sent with `ask`.
pub(super) fn starts_with_thought(message: &Message, ask: &Ask) -> bool {
    let Message::Assistant(assistant) = message else { return false };
    let mut said = assistant.parts.iter().filter(|part| is_said(part));
    let first_text = said.position(|part| matches!(part, AnswerPart::Text { .. }));
    let kept = thoughts(assistant, ask);
    kept.first().is_some_and(|kept| first_text.is_none_or(|at| kept.before <= at))
}

fn is_readable(part: &UserPart) -> bool {
    match part {
        UserPart::Text { text } => !is_blank(text),
        UserPart::File { .. } | UserPart::InlinedFile { .. } => true,
    }
}

fn is_said(part: &AnswerPart) -> bool {
    match part {
        AnswerPart::Text { text } => !is_blank(text),
        AnswerPart::Call { .. } => true,
        AnswerPart::Reasoning { .. } => false,
    }
}

fn add_said(blocks: &mut Blocks, parts: &[UserPart], frame: Frame<'_>) {
    let takes = model::takes(&frame.ask.model);
    for part in parts.iter().filter(|part| is_readable(part)) {
        match Piece::of(part, frame.files, &takes) {
            Piece::Text(text) => blocks.push(&Block::Text { text }),
            Piece::Image { media_type, data } => {
                let source = Source::Base64 { media_type, data: data.into() };
                blocks.push(&Block::Image { source });
            }
            Piece::Pdf { name: title, data } => {
                let source = Source::Base64 { media_type: "application/pdf", data: data.into() };
                blocks.push(&Block::Document { source, title });
            }
            Piece::LongText { name: title, text: data } => {
                let source = Source::Text { media_type: "text/plain", data };
                blocks.push(&Block::Document { source, title });
            }
        }
    }
}

/// Texts and thoughts in their order, calls behind them: nothing may follow a call.
fn add_answer(blocks: &mut Blocks, assistant: &Assistant, frame: Frame<'_>) {
    let said = || assistant.parts.iter().filter(|part| is_said(part));
    // A thought alone is no message.
    if said().next().is_none() {
        return;
    }
    let mut kept = thoughts(assistant, frame.ask).into_iter().peekable();
    for (at, part) in said().enumerate() {
        if let AnswerPart::Text { text } = part {
            while let Some(thought) = kept.next_if(|kept| kept.before <= at) {
                blocks.push_raw(thought.block);
            }
            blocks.push(&Block::Text { text: Cow::Borrowed(text) });
        }
    }
    for thought in kept {
        blocks.push_raw(thought.block);
    }
    for part in said() {
        if let AnswerPart::Call { call, name, arguments, .. } = part {
            let (id, name) = (wire_id(*call), frame.names.wire(name));
            blocks.push(&Block::ToolUse { id, name, input: input(arguments) });
        }
    }
}

/// The thoughts that go with a message. A model that thinks only when asked would not expect its
/// old thoughts in a request that does not ask.
fn thoughts<'a>(assistant: &'a Assistant, ask: &Ask) -> Vec<Kept<'a>> {
    let wanted = match model::form(&ask.model) {
        Form::Never => false,
        Form::Budget => ask.effort.is_some(),
        Form::Adaptive | Form::Foreign => ask.effort != Some(Effort::None),
    };
    if wanted { native::replayable(assistant.native.as_ref(), ask) } else { Vec::new() }
}

fn input(arguments: &str) -> Input<'_> {
    let arguments = arguments.trim();
    if arguments.is_empty() {
        return Input::None {};
    }
    match serde_json::from_str(arguments) {
        Ok(object) if sound::object(arguments).is_some() => Input::Object(object),
        Ok(_) | Err(_) => Input::Unreadable { unreadable_arguments: arguments },
    }
}

fn add_results(blocks: &mut Blocks, results: &[CallResult], frame: Frame<'_>) {
    let takes = model::takes(&frame.ask.model);
    for result in results {
        let text = if is_blank(&result.text) { NO_OUTPUT } else { &result.text };
        let mut inner = vec![Block::Text { text: Cow::Borrowed(text) }];
        inner.extend(given(result, frame.files, &takes).filter_map(|piece| match piece {
            Piece::Text(text) => Some(Block::Text { text }),
            Piece::Image { media_type, data } => {
                Some(Block::Image { source: Source::Base64 { media_type, data: data.into() } })
            }
            // Results have images and nothing else.
            Piece::Pdf { .. } | Piece::LongText { .. } => None,
        }));
        let is_plain = inner.len() == 1;
        blocks.push(&Block::ToolResult {
            tool_use_id: wire_id(result.call),
            content: if is_plain { Content::Text(text) } else { Content::Blocks(inner) },
            is_error: result.is_error.then_some(true),
        });
    }
}
