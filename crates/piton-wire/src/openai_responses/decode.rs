//! From the bytes of an answer to its pieces.
//!
//! Events are told apart by their JSON `type`, items by what names them best. Text is passed on as
//! it comes; a finished item is the authority on what was in it, and tops up what the pieces left
//! out. Only a terminal event makes an end, and nothing behind it is read.
//!
//! Hosted tools, annotations, images and everything unknown is skipped.

mod event;
mod items;

use piton_core::answer::Delta;
use piton_core::event::{FailureClass, FinishReason};
use serde_json::value::RawValue;

use self::event::{Event, Item, Response};
use self::items::{Ending, Items, Kind};
use super::failure;
use crate::lifted::Lifted;
use crate::sse::EventReader;
use crate::{Ask, Decoder, Failure};

/// Keys of encrypted reasoning. Their long values are lifted out before the parse.
const OPAQUE_KEYS: [&str; 1] = ["\"encrypted_content\""];

/// Reads one answer.
#[derive(Debug)]
pub(super) struct ResponsesDecoder {
    ask: Ask,
    events: EventReader,
    items: Items,
    refused: bool,
    ended: bool,
}

impl ResponsesDecoder {
    pub(super) fn new(ask: &Ask) -> Self {
        Self {
            ask: ask.clone(),
            events: EventReader::default(),
            items: Items::default(),
            refused: false,
            ended: false,
        }
    }

    fn read(&mut self, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        // `[DONE]` and other lines that gateways add.
        if self.ended || !data.trim_start().starts_with('{') {
            return Ok(());
        }
        let lifted = Lifted::of(data, &OPAQUE_KEYS);
        let event = match serde_json::from_str::<Event<'_>>(lifted.rest()) {
            Ok(event) => event,
            // An unknown event may use a known field's name for something else.
            Err(_) if event::is_foreign(data) => return Ok(()),
            Err(_) => return Err(malformed()),
        };
        self.dispatch(data, &event, &lifted, deltas)
    }

    fn dispatch(
        &mut self,
        data: &str,
        event: &Event<'_>,
        lifted: &Lifted<'_>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Failure> {
        let place = event.place();
        match event.kind() {
            "response.output_text.delta" => {
                self.items.grow(&place, Kind::message(), event.delta(), deltas);
            }
            "response.refusal.delta" => {
                self.refused = true;
                self.items.grow(&place, Kind::message(), event.delta(), deltas);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.items.reason(&place, event.part(), event.delta(), deltas);
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.items.grow(&place, Kind::call(), event.delta(), deltas);
            }
            "response.output_text.done" => {
                self.items.whole_part(&place, Kind::message(), event.whole(), deltas);
            }
            "response.function_call_arguments.done" | "response.custom_tool_call_input.done" => {
                self.items.whole_part(&place, Kind::call(), event.whole(), deltas);
            }
            "response.output_item.added" => {
                if let Some(item) = event.item.and_then(|raw| Item::read(raw.get())) {
                    self.items.add(&item.place(event.output_index), &item, deltas);
                }
            }
            "response.output_item.done" => {
                if let Some(raw) = event.item {
                    self.close(raw, event.output_index, lifted, deltas);
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.done" => {
                self.end(event, lifted, deltas)?;
            }
            "error" => return Err(failure::of_event(data)),
            "" if event.error.is_some_and(|error| error.get() != "null") => {
                return Err(failure::of_event(data));
            }
            _ => {}
        }
        Ok(())
    }

    fn close(
        &mut self,
        raw: &RawValue,
        output_index: Option<u64>,
        lifted: &Lifted<'_>,
        deltas: &mut Vec<Delta>,
    ) {
        let Some(mut item) = Item::read(raw.get()) else { return };
        let whole;
        // Only reasoning is opaque: what has the same key elsewhere is to be read.
        if lifted.is_cut(raw.get()) && item.kind() != "reasoning" {
            whole = lifted.whole(raw.get());
            let Some(read) = Item::read(&whole) else { return };
            item = read;
        }
        self.refused |= item.is_refusal();
        self.items.close(&item.place(output_index), &item, || lifted.whole(raw.get()), deltas);
    }

    fn end(
        &mut self,
        event: &Event<'_>,
        lifted: &Lifted<'_>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Failure> {
        let nothing = Response::default();
        let response = event.response.as_ref().unwrap_or(&nothing);
        let ending = match (event.kind(), &*response.status()) {
            ("response.failed", _) | (_, "failed" | "cancelled") => {
                return Err(failure::of_error(response.error()));
            }
            ("response.incomplete", _) | (_, "incomplete") => Ending::Cut,
            _ => Ending::Whole,
        };
        // The list at the end is often empty, so it only stands in for items that did not come.
        if self.items.lack_something() {
            for (index, raw) in (0..).zip(response.output()) {
                self.close(raw, Some(index), lifted, deltas);
            }
        }
        self.refused |= response.is_filtered();
        let ending = if self.refused { Ending::Cut } else { ending };
        self.items.settle(ending, deltas);
        let finish = match ending {
            Ending::Cut if self.refused => FinishReason::Refused,
            Ending::Cut => FinishReason::Length,
            Ending::Whole if self.items.has_calls() => FinishReason::ToolCalls,
            Ending::Whole => FinishReason::Stop,
        };
        deltas.extend(self.items.native(&self.ask).map(Delta::Native));
        deltas.push(Delta::End { finish, usage: response.usage() });
        self.ended = true;
        Ok(())
    }
}

impl Decoder for ResponsesDecoder {
    fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if self.ended {
            return Ok(());
        }
        let mut events = std::mem::take(&mut self.events);
        let read = events.push(bytes, |data| self.read(data, deltas));
        self.events = events;
        self.ended |= read.is_err();
        read
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        // A format with a terminal event holds nothing back, but an error need not be an event.
        match self.events.object() {
            Some(object) if !self.ended => self.read(&object, deltas),
            Some(_) | None => Ok(()),
        }
    }
}

fn malformed() -> Failure {
    Failure::new(FailureClass::Malformed, "an event of the stream is no JSON")
}
