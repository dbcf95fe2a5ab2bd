//! An answer as a server of Chat Completions gives it.

use piton_core::event::FinishReason;
use piton_wire::openai_chat::Flavour;
use serde_json::{Value, json};

use crate::serve::asked::{Asked, set};
use crate::serve::reply::{BlockKind, Reply};
use crate::serve::voice::event;

/// When everything was made: a time that is always the same.
const CREATED_S: u64 = 1_700_000_000;

/// The events of a stream.
pub(super) fn events(flavour: Flavour, reply: &Reply, asked: &Asked) -> Vec<String> {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-sim-{}", reply.place),
            "object": "chat.completion.chunk",
            "created": CREATED_S,
            "model": asked.model,
            "choices": choices,
        })
    };
    let delta = |delta: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": null }]))
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }))];
    let mut calls = 0_usize;
    for block in &reply.blocks {
        match &block.kind {
            BlockKind::Reasoning => {
                let pieces = block.pieces.iter();
                events.extend(pieces.map(|piece| delta(reasoning(flavour, piece))));
            }
            BlockKind::Text => {
                let pieces = block.pieces.iter();
                events.extend(pieces.map(|piece| delta(json!({ "content": piece }))));
            }
            BlockKind::Call { id, name } => {
                let function = json!({ "name": name, "arguments": "" });
                let mut open = json!({ "index": calls, "type": "function", "function": function });
                if let Some(id) = id {
                    set(&mut open, "id", json!(id));
                }
                events.push(delta(json!({ "tool_calls": [open] })));
                for piece in &block.pieces {
                    let function = json!({ "arguments": piece });
                    let more = json!({ "index": calls, "function": function });
                    events.push(delta(json!({ "tool_calls": [more] })));
                }
                calls += 1;
            }
        }
    }
    let end =
        json!([{ "index": 0, "delta": {}, "logprobs": null, "finish_reason": finish(reply) }]);
    events.push(chunk(end));
    if asked.body.pointer("/stream_options/include_usage") == Some(&Value::Bool(true)) {
        let mut last = chunk(json!([]));
        set(&mut last, "usage", usage(reply));
        events.push(last);
    }
    let mut events: Vec<String> = events.iter().map(|data| event(None, data)).collect();
    events.push(DONE.to_owned());
    if reply.twice {
        events.push(DONE.to_owned());
    }
    events
}

/// The end mark.
const DONE: &str = "data: [DONE]\n\n";

/// Reasoning, in the field that the server of this flavour has for it.
fn reasoning(flavour: Flavour, piece: &str) -> Value {
    match flavour {
        Flavour::OpenRouter => json!({
            "reasoning": piece,
            "reasoning_details": [{ "type": "reasoning.text", "text": piece, "index": 0 }],
        }),
        Flavour::Local => json!({ "reasoning": piece }),
        Flavour::OpenAi | Flavour::DeepSeek | Flavour::Mistral => {
            json!({ "reasoning_content": piece })
        }
    }
}

/// The answer in one piece.
pub(super) fn completion(flavour: Flavour, reply: &Reply, asked: &Asked) -> Value {
    let text = reply.text();
    let mut message = json!({ "role": "assistant", "content": text, "refusal": null });
    if reply.thinks() {
        for (field, value) in
            reasoning(flavour, &reply.reasoning()).as_object().into_iter().flatten()
        {
            set(&mut message, field, value.clone());
        }
    }
    let calls: Vec<Value> = reply.blocks.iter().filter_map(|block| match &block.kind {
        BlockKind::Call { id, name } => {
            let function = json!({ "name": name, "arguments": block.whole() });
            Some(json!({ "id": id.as_deref().unwrap_or(""), "type": "function", "function": function }))
        }
        BlockKind::Reasoning | BlockKind::Text => None,
    }).collect();
    if !calls.is_empty() {
        set(&mut message, "tool_calls", json!(calls));
    }
    json!({
        "id": format!("chatcmpl-sim-{}", reply.place),
        "object": "chat.completion",
        "created": CREATED_S,
        "model": asked.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish(reply) }],
        "usage": usage(reply),
    })
}

fn usage(reply: &Reply) -> Value {
    json!({
        "prompt_tokens": reply.usage.input,
        "completion_tokens": reply.usage.output,
        "total_tokens": reply.usage.total(),
    })
}

fn finish(reply: &Reply) -> &'static str {
    match reply.finish {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Length => "length",
        FinishReason::Refused => "content_filter",
    }
}
