//! From bytes to pieces of an answer.
//!
//! The end mark is held back until `[DONE]` or the end of the body, because usage comes behind the
//! finish reason, and so do errors. `[DONE]` without a finish reason is an end too: real servers
//! never say why. A finish reason is a hint, calls are the fact: `stop` with calls wants tools run.

use std::borrow::Cow;

use piton_core::answer::Delta;
use piton_core::event::{FailureClass, FinishReason, Native, Usage};

use super::Flavour;
use super::calls::{Calls, Closing, Fragment};
use super::chunk::{CallPiece, Choice, Chunk, Count, Function, Own, Piece, Text};
use super::failure;
use super::native::Sidecar;
use crate::lifted::Lifted;
use crate::sse::EventReader;
use crate::{Ask, Decoder, Failure};

/// Keys of encrypted reasoning. Their long values are lifted out before the parse.
const OPAQUE_KEYS: [&str; 1] = ["\"data\""];

/// Reads one answer.
#[derive(Debug)]
pub(super) struct ChatDecoder {
    reader: EventReader,
    flavour: Flavour,
    source: Native,
    blocks: u32,
    open: Option<(Kind, u32)>,
    calls: Calls,
    sidecar: Sidecar,
    stop: Option<Stop>,
    /// Whether the model says that it will not. That is said only when it is said to its end.
    refuses: bool,
    usage: Usage,
    over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

/// Why an answer stopped; of several reasons the gravest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    Done,
    Length,
    Refused,
}

impl Decoder for ChatDecoder {
    fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if self.over {
            return Ok(());
        }
        let mut reader = std::mem::take(&mut self.reader);
        let read = reader.push(bytes, |event| self.event(event, deltas));
        self.reader = reader;
        self.over |= read.is_err();
        read
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if let Some(object) = self.reader.object()
            && !self.over
        {
            self.event(&object, deltas)?;
        }
        if !self.over && self.stop.is_some() {
            self.finish(deltas);
        }
        Ok(())
    }
}

impl ChatDecoder {
    pub(super) fn new(flavour: Flavour, ask: &Ask) -> Self {
        let source = Native {
            provider: ask.provider.clone(),
            host: ask.host.clone(),
            model: ask.model.clone(),
            raw: "".into(),
        };
        Self {
            reader: EventReader::with_lines(),
            flavour,
            source,
            blocks: 0,
            open: None,
            calls: Calls::default(),
            sidecar: Sidecar::default(),
            stop: None,
            refuses: false,
            usage: Usage::default(),
            over: false,
        }
    }

    fn event(&mut self, event: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if self.over {
            return Ok(());
        }
        let event = event.trim();
        if event == "[DONE]" {
            self.finish(deltas);
            return Ok(());
        }
        // Words that keep a connection alive are no JSON and mean nothing.
        if !event.starts_with('{') {
            return Ok(());
        }
        let lifted = Lifted::of(event, &OPAQUE_KEYS);
        let chunk: Chunk<'_> = match serde_json::from_str(lifted.rest()) {
            Ok(chunk) => chunk,
            // JSON of an unknown shape is skipped; broken JSON has lost a piece of the answer.
            Err(error) if error.is_data() => return Ok(()),
            Err(_) => {
                let message = "an event of the stream is no JSON";
                return Err(Failure::new(FailureClass::Malformed, message));
            }
        };
        // Some servers fill in the field when there is no error.
        let error = chunk.error.filter(|error| !matches!(error.get(), "\"\"" | "false" | "{}"));
        let bare = chunk.choices.is_none() && chunk.detail.is_some();
        if error.is_some() || bare || chunk.object.text == "error" {
            return Err(failure::of_event(event));
        }
        if let Some(usage) = &chunk.usage {
            self.usage = usage.usage();
        }
        if chunk.choices.is_none()
            && chunk.message.is_some()
            && let Ok(own) = serde_json::from_str::<Own<'_>>(lifted.rest())
        {
            return self.own(own, &lifted, deltas);
        }
        for choice in chunk.choices.into_iter().flatten() {
            // Only one answer was asked for.
            if choice.index.0.unwrap_or_default() == 0 {
                self.choice(choice, &lifted, deltas)?;
            }
        }
        Ok(())
    }

    /// A line of Ollama's own interface; the last one says so.
    fn own(
        &mut self,
        own: Own<'_>,
        lifted: &Lifted<'_>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Failure> {
        if own.done {
            self.usage = own.usage();
        }
        self.piece(own.message, lifted, deltas);
        if own.done {
            let reason = if own.done_reason.is_empty() { "stop" } else { &own.done_reason.text };
            self.stop(reason)?;
            self.finish(deltas);
        }
        Ok(())
    }

    fn choice(
        &mut self,
        choice: Choice<'_>,
        lifted: &Lifted<'_>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Failure> {
        if let Some(usage) = &choice.usage {
            self.usage = usage.usage();
        }
        if let Some(piece) = choice.delta {
            self.piece(piece, lifted, deltas);
        }
        self.stop(&choice.finish_reason.text)
    }

    fn stop(&mut self, reason: &str) -> Result<(), Failure> {
        let stop = match reason {
            "" => None,
            "length" | "max_tokens" | "model_length" => Some(Stop::Length),
            "content_filter" | "refusal" | "safety" => Some(Stop::Refused),
            "error" => return Err(failure::of_finish(FailureClass::Server)),
            "insufficient_system_resource" => {
                return Err(failure::of_finish(FailureClass::Overloaded));
            }
            _ => Some(Stop::Done),
        };
        self.stop = self.stop.max(stop);
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>, lifted: &Lifted<'_>, deltas: &mut Vec<Delta>) {
        self.sidecar.content(&piece.reasoning_content.text);
        self.sidecar.reasoning(&piece.reasoning.text);
        let details = self.sidecar.details(&piece.reasoning_details.0, lifted);
        // The same thought may stand in several fields of one piece: it is said once.
        let thoughts = [
            piece.reasoning_content.text,
            piece.reasoning.text,
            Cow::Owned(details),
            Cow::Owned(piece.content.thinking),
        ];
        if let Some(thought) = thoughts.into_iter().find(|thought| !thought.is_empty()) {
            self.say(Kind::Reasoning, thought, deltas);
        }
        self.say(Kind::Text, piece.content.text, deltas);
        if !piece.refusal.is_empty() {
            self.refuses = true;
            self.say(Kind::Text, piece.refusal.text, deltas);
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.call(&call, lifted, deltas);
        }
        if let Some(function) = piece.function_call {
            let (index, id) = (Count::default(), Text::default());
            self.call(&CallPiece { index, id, function: Some(function) }, lifted, deltas);
        }
    }

    /// A piece of text goes to the open block of its kind, or opens the next block.
    fn say(&mut self, kind: Kind, text: Cow<'_, str>, deltas: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        let index = match self.open {
            Some((open, index)) if open == kind => index,
            Some(_) | None => self.blocks,
        };
        self.blocks = self.blocks.max(index.saturating_add(1));
        self.open = Some((kind, index));
        let text = text.into_owned();
        deltas.push(match kind {
            Kind::Text => Delta::Text { index, text },
            Kind::Reasoning => Delta::Reasoning { index, text },
        });
    }

    fn call(&mut self, call: &CallPiece<'_>, lifted: &Lifted<'_>, deltas: &mut Vec<Delta>) {
        let arguments = call.function.as_ref().map(Function::arguments).unwrap_or_default();
        let fragment = Fragment {
            index: call.index.0,
            id: &call.id.text,
            name: call.function.as_ref().map_or("", |function| &*function.name.text),
            arguments: &lifted.whole(&arguments),
        };
        if self.calls.push(&fragment, self.blocks, deltas) {
            self.blocks = self.blocks.saturating_add(1);
            self.open = None;
        }
    }

    fn finish(&mut self, deltas: &mut Vec<Delta>) {
        self.over = true;
        if self.refuses {
            self.stop = Some(Stop::Refused);
        }
        let closing = match self.stop {
            Some(Stop::Done) => Closing::All,
            Some(Stop::Length) => Closing::Written,
            Some(Stop::Refused) => Closing::Nothing,
            None => Closing::Sound,
        };
        self.calls.close(closing, deltas);
        if let Some(raw) = self.sidecar.raw(self.flavour) {
            deltas.push(Delta::Native(Native { raw: raw.into(), ..self.source.clone() }));
        }
        let finish = match self.stop {
            Some(Stop::Length) => FinishReason::Length,
            Some(Stop::Refused) => FinishReason::Refused,
            Some(Stop::Done) | None if self.calls.is_empty() => FinishReason::Stop,
            Some(Stop::Done) | None => FinishReason::ToolCalls,
        };
        deltas.push(Delta::End { finish, usage: self.usage });
    }
}
