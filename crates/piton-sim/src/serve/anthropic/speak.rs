//! An answer as Anthropic gives it.

use piton_core::event::FinishReason;
use serde_json::{Value, json};

use crate::serve::asked::{Asked, set};
use crate::serve::reply::{Block, BlockKind, Reply};
use crate::serve::seal;
use crate::serve::voice::event;

/// The events of a stream.
pub(super) fn events(reply: &Reply, asked: &Asked) -> Vec<String> {
    let mut start = message(reply, asked);
    set(&mut start, "content", json!([]));
    set(&mut start, "stop_reason", Value::Null);
    set(&mut start, "usage", usage(reply, 1));
    let mut events = vec![
        typed(json!({ "type": "message_start", "message": start })),
        typed(json!({ "type": "ping" })),
    ];
    for (index, block) in reply.blocks.iter().enumerate() {
        add_block(&mut events, index, block, asked);
    }
    let end = [
        typed(json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop_reason(reply), "stop_sequence": null },
            "usage": { "output_tokens": reply.usage.output },
        })),
        typed(json!({ "type": "message_stop" })),
    ];
    events.extend(end.clone());
    if reply.twice {
        events.extend(end);
    }
    events
}

fn add_block(events: &mut Vec<String>, index: usize, block: &Block, asked: &Asked) {
    let start = match &block.kind {
        BlockKind::Reasoning => json!({ "type": "thinking", "thinking": "", "signature": "" }),
        BlockKind::Text => json!({ "type": "text", "text": "" }),
        BlockKind::Call { id, name } => {
            json!({ "type": "tool_use", "id": id.as_deref().unwrap_or(""), "name": name, "input": {} })
        }
    };
    events.push(typed(
        json!({ "type": "content_block_start", "index": index, "content_block": start }),
    ));
    let mut add = |delta: Value| {
        events
            .push(typed(json!({ "type": "content_block_delta", "index": index, "delta": delta })));
    };
    for piece in &block.pieces {
        add(match &block.kind {
            BlockKind::Reasoning => json!({ "type": "thinking_delta", "thinking": piece }),
            BlockKind::Text => json!({ "type": "text_delta", "text": piece }),
            BlockKind::Call { .. } => json!({ "type": "input_json_delta", "partial_json": piece }),
        });
    }
    if matches!(block.kind, BlockKind::Reasoning) {
        let signature = seal::of(&asked.model, &block.whole(), &before(asked));
        add(json!({ "type": "signature_delta", "signature": signature }));
    }
    events.push(typed(json!({ "type": "content_block_stop", "index": index })));
}

/// What the answer stands behind.
fn before(asked: &Asked) -> String {
    asked.before_answer("messages")
}

/// The answer in one piece.
pub(super) fn message(reply: &Reply, asked: &Asked) -> Value {
    let content: Vec<Value> = reply
        .blocks
        .iter()
        .map(|block| match &block.kind {
            BlockKind::Reasoning => {
                let signature = seal::of(&asked.model, &block.whole(), &before(asked));
                json!({ "type": "thinking", "thinking": block.whole(), "signature": signature })
            }
            BlockKind::Text => json!({ "type": "text", "text": block.whole() }),
            BlockKind::Call { id, name } => {
                let input: Value = serde_json::from_str(&block.whole()).unwrap_or(json!({}));
                json!({ "type": "tool_use", "id": id.as_deref().unwrap_or(""), "name": name, "input": input })
            }
        })
        .collect();
    json!({
        "id": format!("msg_sim_{}", reply.place),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content,
        "stop_reason": stop_reason(reply),
        "stop_sequence": null,
        "usage": usage(reply, reply.usage.output),
    })
}

fn usage(reply: &Reply, output: u64) -> Value {
    json!({
        "input_tokens": reply.usage.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output,
    })
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply.finish {
        FinishReason::Stop => "end_turn",
        FinishReason::ToolCalls => "tool_use",
        FinishReason::Length => "max_tokens",
        FinishReason::Refused => "refusal",
    }
}

/// The name of an event is the type of its data.
fn typed(data: Value) -> String {
    let name = data.get("type").and_then(Value::as_str).map(str::to_owned);
    event(name.as_deref(), &data)
}
