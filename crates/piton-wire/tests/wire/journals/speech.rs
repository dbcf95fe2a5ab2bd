//! What models say, as the bytes of a stream, read by the dialect's own decoder: an answer's
//! sidecar is what that decoder kept, never something made up for a test.

use std::sync::OnceLock;

use piton_core::answer::{Answer, Partial};
use piton_core::event::{ConfigChange, Entry, Event, ToolSpec};
use piton_core::id::{Timestamp, TurnId};
use piton_core::state::State;
use piton_core::transcript::Transcript;
use piton_wire::cache::Cache;
use piton_wire::openai_chat::Flavour;
use serde_json::{Map, Value, json};

use super::luck::Luck;
use super::oddities;
use super::voices::{Format, VOICES, Voice};

/// A piece of what a model says.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Thought { text: String, proof: Proof },
    Text(String),
    Call { name: String, arguments: String, id: String },
}

/// How a thought is bound to its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    Signed,
    Unsigned,
    /// Only the proof; the text stays with the provider.
    Hidden,
}

/// Why a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    Length,
    Refused,
    /// The connection broke: no end mark.
    Cut,
}

/// Anything that a model might say; mostly what models do say: a thought, a sentence, calls.
pub(crate) fn pieces(luck: &mut Luck) -> Vec<Piece> {
    if !luck.once_in(3) {
        return usual_pieces(luck);
    }
    let count = luck.below(6);
    (0..count).map(|_| piece(luck)).collect()
}

fn usual_pieces(luck: &mut Luck) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if !luck.once_in(4) {
        let proof = luck.pick(&[Proof::Signed, Proof::Signed, Proof::Hidden]);
        pieces.push(Piece::Thought { text: "Hm.".into(), proof });
    }
    if luck.once_in(2) {
        pieces.push(Piece::Text("I look.".into()));
    }
    for call in 0..luck.below(4) {
        if luck.once_in(6) {
            pieces.push(Piece::Thought { text: "And.".into(), proof: Proof::Signed });
        }
        let name = luck.pick(&["look", "set", "edit", "pay", spelled()]).to_owned();
        let id = format!("call_{call}_{}", luck.below(1 << 20));
        pieces.push(Piece::Call { name, arguments: format!(r#"{{"path":"{call}"}}"#), id });
    }
    pieces
}

/// How the tool whose name fits no provider is called on the wire; the same everywhere.
fn spelled() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let mut state = State::default();
        let tools = Some(oddities::tools(&mut Luck::of(0)));
        let change = ConfigChange { tools, ..ConfigChange::default() };
        let event = Event::ConfigChanged { change };
        state.apply(&Entry { seq: state.end.next(), at: Timestamp(1), event });
        let (voice, transcript) = (VOICES[0], Transcript::from(&state));
        let body = voice.dialect().encode(&transcript, &voice.ask(), &mut Cache::default());
        let body: Value = serde_json::from_slice(&body).unwrap();
        body["tools"][oddities::TOOLS.len() - 1]["name"].as_str().unwrap().to_owned()
    })
}

fn piece(luck: &mut Luck) -> Piece {
    match luck.below(8) {
        0 | 1 => {
            let proof = luck.pick(&[Proof::Signed, Proof::Signed, Proof::Unsigned, Proof::Hidden]);
            Piece::Thought { text: oddities::text(luck), proof }
        }
        2 | 3 => Piece::Text(oddities::text(luck)),
        _ => Piece::Call {
            name: oddities::name(luck),
            arguments: oddities::arguments(luck),
            id: oddities::id(luck),
        },
    }
}

/// Lets a voice say it: its stream, read by its decoder. `None` where there is no whole answer.
pub(crate) fn say(
    voice: Voice,
    tools: &[ToolSpec],
    pieces: &[Piece],
    end: End,
    (turn, step): (TurnId, u32),
) -> Option<Answer> {
    let signature = voice.signature();
    let body = match voice.format {
        Format::Anthropic => anthropic(pieces, end, &signature),
        Format::Chat(flavour) => chat(pieces, end, &signature, flavour),
        Format::Responses | Format::Codex => responses(pieces, end, &signature),
        Format::Gemini => gemini(pieces, end, &signature),
    };
    let mut decoder = voice.dialect().decoder(tools, &voice.ask());
    let mut deltas = Vec::new();
    decoder.push(body.as_bytes(), &mut deltas).and_then(|()| decoder.end(&mut deltas)).ok()?;
    let mut partial = Partial::default();
    for delta in deltas {
        partial.push(delta);
    }
    partial.finish(turn, step).ok().filter(|answer| !answer.is_empty())
}

fn events(values: &[Value]) -> String {
    let events: Vec<_> = values.iter().map(|value| format!("data: {value}\n\n")).collect();
    events.concat()
}

fn anthropic(pieces: &[Piece], end: End, signature: &str) -> String {
    let mut values = vec![json!({"type": "message_start", "message": {"id": "msg_1"}})];
    for (index, piece) in pieces.iter().enumerate() {
        let (block, deltas) = match piece {
            Piece::Text(text) => (
                json!({"type": "text", "text": ""}),
                vec![json!({"type": "text_delta", "text": text})],
            ),
            Piece::Thought { proof: Proof::Hidden, .. } => {
                (json!({"type": "redacted_thinking", "data": signature}), vec![])
            }
            Piece::Thought { text, proof } => {
                let mut deltas = vec![json!({"type": "thinking_delta", "thinking": text})];
                if *proof == Proof::Signed {
                    deltas.push(json!({"type": "signature_delta", "signature": signature}));
                }
                (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
            }
            Piece::Call { name, arguments, id } => (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                vec![json!({"type": "input_json_delta", "partial_json": arguments})],
            ),
        };
        values.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let delta = |it| json!({"type": "content_block_delta", "index": index, "delta": it});
        values.extend(deltas.into_iter().map(delta));
        // The last block of an answer that the limit cut may stay open.
        if end == End::Whole || index + 1 < pieces.len() {
            values.push(json!({"type": "content_block_stop", "index": index}));
        }
    }
    let reason = match end {
        End::Whole => "end_turn",
        End::Length => "max_tokens",
        End::Refused => "refusal",
        End::Cut => return events(&values),
    };
    values.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}}));
    values.push(json!({"type": "message_stop"}));
    events(&values)
}

fn chat(pieces: &[Piece], end: End, signature: &str, flavour: Flavour) -> String {
    let mut deltas = vec![json!({"role": "assistant"})];
    let mut calls = 0;
    for piece in pieces {
        deltas.push(match piece {
            Piece::Text(text) => json!({"content": text}),
            Piece::Thought { text, proof } => thought_in_chat(text, *proof, signature, flavour),
            Piece::Call { name, arguments, id } => {
                let function = json!({"name": name, "arguments": arguments});
                let call =
                    json!({"index": calls, "id": id, "type": "function", "function": function});
                calls += 1;
                json!({"tool_calls": [call]})
            }
        });
    }
    let chunk = |delta| json!({"choices": [{"index": 0, "delta": delta}]});
    let mut values: Vec<_> = deltas.into_iter().map(chunk).collect();
    let reason = match end {
        End::Whole if 0 < calls => "tool_calls",
        End::Whole => "stop",
        End::Length => "length",
        End::Refused => "content_filter",
        End::Cut => return events(&values),
    };
    values.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    events(&values) + "data: [DONE]\n\n"
}

fn thought_in_chat(text: &str, proof: Proof, signature: &str, flavour: Flavour) -> Value {
    match flavour {
        Flavour::OpenRouter => {
            let detail = match proof {
                Proof::Hidden => json!({"type": "reasoning.encrypted", "data": signature}),
                Proof::Signed => {
                    json!({"type": "reasoning.text", "text": text, "signature": signature})
                }
                Proof::Unsigned => json!({"type": "reasoning.text", "text": text}),
            };
            json!({"reasoning": text, "reasoning_details": [detail]})
        }
        // Nothing is signed here; the text itself stands for the signature.
        Flavour::Local if proof == Proof::Unsigned => json!({"reasoning": text}),
        Flavour::OpenAi | Flavour::DeepSeek | Flavour::Mistral | Flavour::Local => {
            json!({"reasoning_content": format!("{text} {signature}")})
        }
    }
}

fn responses(pieces: &[Piece], end: End, signature: &str) -> String {
    let mut values = vec![json!({"type": "response.created", "response": {"id": "resp_1"}})];
    for (index, piece) in pieces.iter().enumerate() {
        let item = match piece {
            Piece::Text(text) => {
                let phase = if index == 0 { "commentary" } else { "final_answer" };
                let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
                json!({"type": "message", "id": format!("msg_{index}"), "role": "assistant",
                    "phase": phase, "content": content, "status": "completed"})
            }
            Piece::Thought { text, proof } => {
                let summary = match proof {
                    Proof::Hidden => json!([]),
                    Proof::Signed | Proof::Unsigned => {
                        json!([{"type": "summary_text", "text": text}])
                    }
                };
                let mut item = json!({"type": "reasoning", "id": "rs_1", "summary": summary});
                if *proof != Proof::Unsigned {
                    item["encrypted_content"] = signature.into();
                }
                item
            }
            Piece::Call { name, arguments, id } => {
                let status = if end == End::Length { "incomplete" } else { "completed" };
                json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": id,
                    "name": name, "arguments": arguments, "status": status})
            }
        };
        for kind in ["response.output_item.added", "response.output_item.done"] {
            values.push(json!({"type": kind, "output_index": index, "item": item}));
        }
    }
    let (kind, response) = match end {
        End::Whole => ("response.completed", json!({"status": "completed"})),
        End::Length => (
            "response.incomplete",
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
        ),
        End::Refused => (
            "response.incomplete",
            json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}),
        ),
        End::Cut => return events(&values),
    };
    values.push(json!({"type": kind, "response": response}));
    events(&values)
}

fn gemini(pieces: &[Piece], end: End, signature: &str) -> String {
    let mut signs_next = false;
    let mut parts = Vec::new();
    for piece in pieces {
        let mut part = match piece {
            Piece::Text(text) => json!({"text": text}),
            Piece::Thought { text, proof: Proof::Unsigned } => {
                json!({"text": text, "thought": true})
            }
            // The signature of a thought comes on the part behind it.
            Piece::Thought { text, proof: Proof::Signed } => {
                signs_next = true;
                parts.push(json!({"text": text, "thought": true}));
                continue;
            }
            Piece::Thought { proof: Proof::Hidden, .. } => json!({"thoughtSignature": signature}),
            Piece::Call { name, arguments, id } => {
                let args: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
                let mut call = json!({"name": name, "args": args});
                if !id.is_empty() {
                    call["id"] = id.as_str().into();
                }
                json!({"functionCall": call})
            }
        };
        if std::mem::take(&mut signs_next) {
            part["thoughtSignature"] = signature.into();
        }
        parts.push(part);
    }
    let chunk = |part| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
    let mut values: Vec<_> = parts.into_iter().map(chunk).collect();
    let reason = match end {
        End::Whole => "STOP",
        End::Length => "MAX_TOKENS",
        End::Refused => "SAFETY",
        End::Cut => return events(&values),
    };
    values.push(json!({"candidates": [{"content": {"parts": []}, "finishReason": reason}]}));
    events(&values)
}
