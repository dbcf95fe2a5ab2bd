//! An answer as Gemini gives it.

use piton_core::event::FinishReason;
use serde_json::{Value, json};

use super::framing::Framing;
use crate::serve::asked::{Asked, set};
use crate::serve::reply::{BlockKind, Reply};
use crate::serve::seal;

/// How texts become parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    InPieces,
    Whole,
}

/// The pieces of a stream, each a whole response.
pub(super) fn chunks(framing: Framing, reply: &Reply, asked: &Asked) -> Vec<String> {
    let mut pieces: Vec<Value> = parts(reply, asked, Text::InPieces)
        .into_iter()
        .map(|part| chunk(&json!([part]), reply, asked))
        .collect();
    if pieces.is_empty() {
        pieces.push(chunk(&json!([]), reply, asked));
    }
    if let Some(last) = pieces.last_mut() {
        finish(last, reply);
    }
    if reply.twice {
        let mut end = chunk(&json!([]), reply, asked);
        finish(&mut end, reply);
        pieces.push(end);
    }
    let last = pieces.len().saturating_sub(1);
    let framed = pieces.iter().enumerate().map(|(at, piece)| match framing {
        Framing::Events => format!("data: {piece}\r\n\r\n"),
        Framing::Array => {
            let (open, close) =
                (if at == 0 { "[" } else { ",\r\n" }, if at == last { "]" } else { "" });
            format!("{open}{piece}{close}")
        }
    });
    framed.collect()
}

/// The answer in one piece.
pub(super) fn response(reply: &Reply, asked: &Asked) -> Value {
    let mut whole = chunk(&json!(parts(reply, asked, Text::Whole)), reply, asked);
    finish(&mut whole, reply);
    whole
}

/// Signatures sit on the first call, or alone on an empty text at the end.
fn parts(reply: &Reply, asked: &Asked, text: Text) -> Vec<Value> {
    let mut parts = Vec::new();
    let before = asked.before_answer("contents");
    let mut sign = reply.thinks() || must_sign(&asked.model);
    for block in &reply.blocks {
        let texts = match text {
            Text::InPieces => block.pieces.clone(),
            Text::Whole => vec![block.whole()],
        };
        match &block.kind {
            BlockKind::Reasoning => {
                parts.extend(texts.iter().map(|text| json!({ "text": text, "thought": true })));
            }
            BlockKind::Text => {
                parts.extend(texts.iter().map(|text| json!({ "text": text })));
            }
            // A call comes whole or not at all.
            BlockKind::Call { .. } if block.is_cut() => {}
            BlockKind::Call { id, name } => {
                let arguments = serde_json::from_str(&block.whole()).unwrap_or(json!({}));
                let mut call = json!({ "name": name, "args": arguments });
                if let Some(id) = id {
                    set(&mut call, "id", json!(id));
                }
                let mut part = json!({ "functionCall": call });
                if std::mem::take(&mut sign) {
                    set(
                        &mut part,
                        "thoughtSignature",
                        json!(seal::of(&asked.model, name, &before)),
                    );
                }
                parts.push(part);
            }
        }
    }
    if sign && reply.thinks() {
        parts.push(json!({ "text": "", "thoughtSignature": seal::of(&asked.model, "", &before) }));
    }
    parts
}

fn chunk(parts: &Value, reply: &Reply, asked: &Asked) -> Value {
    let mut candidate = json!({ "index": 0 });
    if parts.get(0).is_some() {
        set(&mut candidate, "content", json!({ "role": "model", "parts": parts }));
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": reply.usage.input,
            "candidatesTokenCount": reply.usage.output,
            "totalTokenCount": reply.usage.total(),
        },
        "modelVersion": asked.model,
        "responseId": format!("sim-{}", reply.place),
    })
}

fn finish(chunk: &mut Value, reply: &Reply) {
    let reason = match reply.finish {
        FinishReason::Stop | FinishReason::ToolCalls => "STOP",
        FinishReason::Length => "MAX_TOKENS",
        FinishReason::Refused => "SAFETY",
    };
    if let Some(candidate) = chunk.pointer_mut("/candidates/0") {
        set(candidate, "finishReason", json!(reason));
    }
}

/// From the third generation on, calls go unsigned no more.
fn must_sign(model: &str) -> bool {
    let version = model.split_once("gemini-").map_or("", |(_, version)| version);
    let major: String = version.chars().take_while(char::is_ascii_digit).collect();
    major.parse().is_ok_and(|major: u32| 3 <= major) || version.ends_with("-latest")
}
