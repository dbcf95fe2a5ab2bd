//! An answer as the Responses API gives it.

use piton_core::event::FinishReason;
use serde_json::{Value, json};

use super::encrypted::content_of;
use crate::serve::asked::{Asked, list, set};
use crate::serve::reply::{Block, BlockKind, Reply};
use crate::serve::voice::event;

/// When everything was made: a time that is always the same.
const CREATED_S: u64 = 1_700_000_000;
/// What a request must include to get reasoning that it can send back.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// What the last event has of the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    Whole,
    Bare,
}

/// Numbers the events.
struct Writer {
    events: Vec<String>,
}

impl Writer {
    fn add(&mut self, name: &str, mut data: Value) {
        set(&mut data, "type", json!(name));
        set(&mut data, "sequence_number", json!(self.events.len()));
        self.events.push(event(Some(name), &data));
    }
}

/// The events of a stream.
pub(super) fn events(reply: &Reply, asked: &Asked, last: Last) -> Vec<String> {
    let mut writer = Writer { events: Vec::new() };
    let mut begun = response(reply, asked);
    for (key, value) in [
        ("status", json!("in_progress")),
        ("output", json!([])),
        ("usage", Value::Null),
        ("incomplete_details", Value::Null),
    ] {
        set(&mut begun, key, value);
    }
    writer.add("response.created", json!({ "response": begun }));
    writer.add("response.in_progress", json!({ "response": begun }));
    for (index, block) in reply.blocks.iter().enumerate() {
        add_item(&mut writer, index, block, &item(index, block, reply, asked));
    }
    let mut ended = response(reply, asked);
    if last == Last::Bare {
        set(&mut ended, "output", json!([]));
    }
    let name = if is_incomplete(reply) { "response.incomplete" } else { "response.completed" };
    for _ in 0..=usize::from(reply.twice) {
        writer.add(name, json!({ "response": ended }));
    }
    writer.events
}

fn add_item(writer: &mut Writer, index: usize, block: &Block, item: &Value) {
    let mut begun = item.clone();
    set(&mut begun, "status", json!("in_progress"));
    let unfilled = match &block.kind {
        BlockKind::Reasoning => ("summary", json!([])),
        BlockKind::Text => ("content", json!([])),
        BlockKind::Call { .. } => ("arguments", json!("")),
    };
    set(&mut begun, unfilled.0, unfilled.1);
    writer.add("response.output_item.added", json!({ "output_index": index, "item": begun }));
    fill_item(writer, &Place { index, item }, block);
    writer.add("response.output_item.done", json!({ "output_index": index, "item": item }));
}

/// Where the pieces of an item belong.
struct Place<'a> {
    index: usize,
    item: &'a Value,
}

impl Place<'_> {
    /// An event of this item, with the number of its only part under `part`.
    fn at(&self, part: &str, key: &str, value: Value) -> Value {
        let mut data = json!({ "item_id": self.item.get("id"), "output_index": self.index });
        if !part.is_empty() {
            set(&mut data, part, json!(0));
        }
        set(&mut data, key, value);
        data
    }
}

fn fill_item(writer: &mut Writer, place: &Place<'_>, block: &Block) {
    let whole = block.whole();
    match &block.kind {
        BlockKind::Reasoning => {
            let part = |text: &str| json!({ "type": "summary_text", "text": text });
            let at = |key: &str, value: Value| place.at("summary_index", key, value);
            writer.add("response.reasoning_summary_part.added", at("part", part("")));
            for piece in &block.pieces {
                writer.add("response.reasoning_summary_text.delta", at("delta", json!(piece)));
            }
            writer.add("response.reasoning_summary_text.done", at("text", json!(whole)));
            writer.add("response.reasoning_summary_part.done", at("part", part(&whole)));
        }
        BlockKind::Text => {
            let at = |key: &str, value: Value| {
                let mut data = place.at("content_index", key, value);
                set(&mut data, "logprobs", json!([]));
                data
            };
            writer.add("response.content_part.added", at("part", output_text("")));
            for piece in &block.pieces {
                writer.add("response.output_text.delta", at("delta", json!(piece)));
            }
            writer.add("response.output_text.done", at("text", json!(whole)));
            writer.add("response.content_part.done", at("part", output_text(&whole)));
        }
        BlockKind::Call { .. } => {
            for piece in &block.pieces {
                let delta = place.at("", "delta", json!(piece));
                writer.add("response.function_call_arguments.delta", delta);
            }
            let mut done = place.at("", "arguments", json!(whole));
            set(&mut done, "name", place.item.get("name").cloned().unwrap_or_default());
            writer.add("response.function_call_arguments.done", done);
        }
    }
}

fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [] })
}

/// An item, whole.
fn item(index: usize, block: &Block, reply: &Reply, asked: &Asked) -> Value {
    let name = format!("{:04}{index:04}", reply.place);
    match &block.kind {
        BlockKind::Reasoning => {
            let summary = json!([{ "type": "summary_text", "text": block.whole() }]);
            let mut item =
                json!({ "id": format!("rs_{name}"), "type": "reasoning", "summary": summary });
            if list(&asked.body, "include").iter().any(|it| it == ENCRYPTED) {
                let before = asked.before_answer("input");
                let content = content_of(&asked.model, reply.place, &before);
                set(&mut item, "encrypted_content", json!(content));
            }
            item
        }
        BlockKind::Text => {
            let content = output_text(&block.whole());
            json!({
                "id": format!("msg_{name}"),
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [content],
            })
        }
        BlockKind::Call { id, name: tool } => json!({
            "id": format!("fc_{name}"),
            "type": "function_call",
            "call_id": id.as_deref().unwrap_or(""),
            "name": tool,
            "arguments": block.whole(),
            "status": if block.is_cut() { "incomplete" } else { "completed" },
        }),
    }
}

/// The answer in one piece.
pub(super) fn response(reply: &Reply, asked: &Asked) -> Value {
    let items = reply.blocks.iter().enumerate();
    let output: Vec<Value> = items.map(|(index, block)| item(index, block, reply, asked)).collect();
    let reason =
        if reply.finish == FinishReason::Refused { "content_filter" } else { "max_output_tokens" };
    let incomplete = is_incomplete(reply);
    json!({
        "id": format!("resp_sim_{}", reply.place),
        "object": "response",
        "created_at": CREATED_S,
        "status": if incomplete { "incomplete" } else { "completed" },
        "error": null,
        "incomplete_details": if incomplete { json!({ "reason": reason }) } else { Value::Null },
        "instructions": asked.body.get("instructions"),
        "metadata": {},
        "model": asked.model,
        "output": output,
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "tools": asked.body.get("tools").cloned().unwrap_or(json!([])),
        "usage": {
            "input_tokens": reply.usage.input,
            "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": reply.usage.output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": reply.usage.total(),
        },
    })
}

fn is_incomplete(reply: &Reply) -> bool {
    matches!(reply.finish, FinishReason::Length | FinishReason::Refused)
}
