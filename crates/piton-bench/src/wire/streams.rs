//! Streams as each provider sends them, made up: text, arguments, and large opaque blocks.

use serde_json::{Value, json};

/// A stream of one dialect.
pub(crate) struct Stream {
    /// The row.
    pub(crate) name: &'static str,
    pub(crate) dialect: &'static str,
    /// The payload of each event.
    pub(crate) events: Vec<String>,
}

impl Stream {
    /// The bytes as they travel.
    pub(crate) fn body(&self) -> Vec<u8> {
        let events = self.events.iter().map(|event| format!("data: {event}\n\n"));
        events.collect::<Vec<_>>().concat().into_bytes()
    }
}

/// Pieces of text or arguments in a stream.
const PIECES: usize = 4_000;
/// Opaque blocks in a stream.
const BLOCKS: usize = 8;
/// Size of an opaque block, in bytes.
const BLOCK_BYTES: usize = 256 * 1024;

pub(crate) fn streams() -> Vec<Stream> {
    let stream = |name, dialect, events: Vec<Value>| {
        let events = events.iter().map(Value::to_string).collect();
        Stream { name, dialect, events }
    };
    vec![
        stream("decode text, Anthropic", "anthropic", anthropic(Load::Text)),
        stream("decode arguments, Anthropic", "anthropic", anthropic(Load::Arguments)),
        stream("decode 256 KB signatures, Anthropic", "anthropic", anthropic(Load::Opaque)),
        stream("decode text, Chat", "chat", chat(Load::Text)),
        stream("decode arguments, Chat", "chat", chat(Load::Arguments)),
        stream("decode 256 KB reasoning details, Chat", "chat", chat(Load::Opaque)),
        stream("decode text, Responses", "responses", responses(Load::Text)),
        stream("decode arguments, Responses", "responses", responses(Load::Arguments)),
        stream("decode 256 KB encrypted items, Responses", "responses", responses(Load::Opaque)),
        stream("decode text, Gemini", "gemini", gemini(Load::Text)),
        stream("decode arguments, Gemini", "gemini", gemini(Load::Arguments)),
        stream("decode 256 KB signatures, Gemini", "gemini", gemini(Load::Opaque)),
    ]
}

#[derive(Clone, Copy)]
enum Load {
    Text,
    Arguments,
    Opaque,
}

fn word(at: usize) -> String {
    format!("piece {at} of \"text\",\n")
}

/// What looks like base64 and has no end in sight.
fn opaque(at: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ at as u64;
    let letters = (0..BLOCK_BYTES).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let place = usize::try_from(state >> 58).unwrap_or_default();
        LETTERS.get(place).map_or('A', |letter| char::from(*letter))
    });
    letters.collect()
}

fn arguments(at: usize) -> String {
    match at {
        0 => "{\"text\":\"".into(),
        at if at + 1 == PIECES => "\"}".into(),
        at => format!("line {at} of \\\"it\\\"\\n"),
    }
}

fn anthropic(load: Load) -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let mut events = vec![json!({"type": "message_start", "message": {
        "id": "m", "role": "assistant", "model": "claude", "content": [], "usage": usage}})];
    let start = |index: usize, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: usize, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: usize| json!({"type": "content_block_stop", "index": index});
    match load {
        Load::Text => {
            events.push(start(0, json!({"type": "text", "text": ""})));
            let text = |at| json!({"type": "text_delta", "text": word(at)});
            events.extend((0..PIECES).map(|at| delta(0, text(at))));
            events.push(stop(0));
        }
        Load::Arguments => {
            let block = json!({"type": "tool_use", "id": "t", "name": "write", "input": {}});
            events.push(start(0, block));
            let piece = |at| json!({"type": "input_json_delta", "partial_json": arguments(at)});
            events.extend((0..PIECES).map(|at| delta(0, piece(at))));
            events.push(stop(0));
        }
        Load::Opaque => {
            for at in 0..BLOCKS {
                events
                    .push(start(at, json!({"type": "thinking", "thinking": "", "signature": ""})));
                events.push(delta(at, json!({"type": "thinking_delta", "thinking": "Hm."})));
                let signature = json!({"type": "signature_delta", "signature": opaque(at)});
                events.push(delta(at, signature));
                events.push(stop(at));
            }
            events.push(start(BLOCKS, json!({"type": "text", "text": "So."})));
            events.push(stop(BLOCKS));
        }
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 9}}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn chat(load: Load) -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]})
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut push = |delta: Value| events.push(chunk(delta, Value::Null));
    match load {
        Load::Text => (0..PIECES).for_each(|at| push(json!({"content": word(at)}))),
        Load::Arguments => {
            let call = |id: &str, name: &str, arguments: String| {
                json!({"tool_calls": [{"index": 0, "id": id, "type": "function",
                    "function": {"name": name, "arguments": arguments}}]})
            };
            push(call("x", "write", String::new()));
            (0..PIECES).for_each(|at| {
                push(
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments(at)}}]}),
                );
            });
        }
        Load::Opaque => {
            for at in 0..BLOCKS {
                let detail = json!({"type": "reasoning.encrypted", "data": opaque(at),
                    "id": "r", "format": "openai-responses-v1", "index": at});
                push(json!({"content": "", "reasoning_details": [detail]}));
            }
            push(json!({"content": "So."}));
        }
    }
    events.push(chunk(json!({}), json!("stop")));
    events
}

fn responses(load: Load) -> Vec<Value> {
    let mut events = vec![json!({"type": "response.created", "sequence_number": 0,
        "response": {"id": "r", "status": "in_progress", "output": []}})];
    let mut items = Vec::new();
    match load {
        Load::Text => {
            let text: String = (0..PIECES).map(word).collect();
            let part = json!({"type": "output_text", "text": text, "annotations": []});
            let item = |content: Value| {
                json!({"type": "message", "id": "m", "role": "assistant",
                "status": "completed", "content": content})
            };
            events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": item(json!([]))}));
            events.extend((0..PIECES).map(|at| {
                json!({"type": "response.output_text.delta",
                "sequence_number": at, "item_id": "m", "output_index": 0, "content_index": 0,
                "delta": word(at), "logprobs": []})
            }));
            items.push(item(json!([part])));
        }
        Load::Arguments => {
            let whole: String = (0..PIECES).map(arguments).collect();
            let item = |arguments: &str| {
                json!({"type": "function_call", "id": "f", "call_id": "c",
                "name": "write", "status": "completed", "arguments": arguments})
            };
            events.push(
                json!({"type": "response.output_item.added", "output_index": 0, "item": item("")}),
            );
            events.extend((0..PIECES).map(|at| {
                json!({"type": "response.function_call_arguments.delta",
                "sequence_number": at, "item_id": "f", "output_index": 0, "delta": arguments(at)})
            }));
            items.push(item(&whole));
        }
        Load::Opaque => {
            for at in 0..BLOCKS {
                items.push(json!({"type": "reasoning", "id": format!("rs_{at}"), "summary": [],
                    "encrypted_content": opaque(at)}));
                items.push(json!({"type": "message", "id": format!("m_{at}"), "role": "assistant",
                    "status": "completed", "content": [{"type": "output_text", "text": "So.", "annotations": []}]}));
            }
        }
    }
    for (at, item) in items.iter().enumerate() {
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    events
        .push(json!({"type": "response.completed", "response": {"id": "r", "status": "completed",
        "output": items, "usage": {"input_tokens": 10, "output_tokens": 9}}}));
    events
}

fn gemini(load: Load) -> Vec<Value> {
    let chunk = |parts: Value| {
        json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 9, "totalTokenCount": 19},
            "modelVersion": "gemini", "responseId": "r"})
    };
    let call = |at: usize| {
        let args = json!({"path": format!("src/a{at}.rs"), "text": word(at)});
        json!({"functionCall": {"name": "write", "args": args}})
    };
    let mut events: Vec<Value> = match load {
        Load::Text => (0..PIECES).map(|at| chunk(json!([{"text": word(at)}]))).collect(),
        // Calls come whole here.
        Load::Arguments => (0..PIECES).map(|at| chunk(json!([call(at)]))).collect(),
        Load::Opaque => (0..BLOCKS)
            .map(|at| chunk(json!([{"text": "So.", "thoughtSignature": opaque(at)}])))
            .collect(),
    };
    events.push(json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}));
    events
}
