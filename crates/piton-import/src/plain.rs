//! Lists of messages as providers take them, in any of their dialects, also mixed.

use std::collections::BTreeSet;

use piton_core::event::ModelRef;
use serde_json::Value;

use crate::arguments;
use crate::blocks::{self, Blocks, words_of};
use crate::codex;
use crate::fields::{items, owned, text};
use crate::lines;
use crate::markers::is_made_up;
use crate::parts::{self, Given};
use crate::record::{Piece, Stand, Story, What};

/// What lists of messages are called in the objects around them.
const WRAPS: [&str; 3] = ["messages", "input", "contents"];
/// What the objects around those are called.
const OUTER_WRAPS: [&str; 2] = ["request", "body"];

/// Reads a file.
pub(crate) fn read(bytes: &[u8], story: &mut Story) {
    let bytes = &*lines::readable(bytes, story);
    let mut dialects = BTreeSet::new();
    let messages = match serde_json::from_slice::<Value>(bytes) {
        Ok(whole) => {
            let whole = unwrapped(&whole, story);
            let messages = items(Some(&whole));
            let lines = lines::of_list(bytes, &WRAPS, messages.len());
            lines.into_iter().zip(messages.iter().cloned()).collect()
        }
        Err(_) if is_lines(bytes) => lines::objects(bytes, story),
        Err(error) => {
            let told = story.remarks.len();
            let found = lines::of_cut_list(bytes, &WRAPS, &error, story);
            if found.is_empty() {
                story.remarks.truncate(told);
                lines::objects(bytes, story)
            } else {
                found
            }
        }
    };
    let mut model = None;
    for (line, message) in &messages {
        if message.get("role").is_none() && message.get("type").is_none() {
            let inner = unwrapped(message, story);
            for message in items(Some(&inner)) {
                dialects.extend(add(message, Stand::line(*line), &mut model, story));
            }
            continue;
        }
        dialects.extend(add(message, Stand::line(*line), &mut model, story));
    }
    if 1 < dialects.len() {
        let names: Vec<_> = dialects.into_iter().collect();
        story.remark("mixed_dialects", Stand::default(), &names.join(", "));
    }
}

/// Whether every line of a file is an object of its own: then a line that cannot be read is only one.
fn is_lines(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let is_object =
        |line: &[u8]| serde_json::from_slice::<Value>(line).is_ok_and(|it| it.is_object());
    first.starts_with(b"{") && (is_object(first) || lines.any(is_object))
}

/// The list in an object around it, and what stands beside the list.
fn unwrapped(whole: &Value, story: &mut Story) -> Value {
    let mut object = whole;
    while let Some(inner) = OUTER_WRAPS.iter().find_map(|name| object.get(name)) {
        object = inner;
    }
    for name in ["system", "instructions", "systemInstruction", "system_instruction"] {
        let Some(prompt) = object.get(name).filter(|it| !it.is_null()) else { continue };
        let (blocks, _) = parts::read(prompt.get("parts"));
        let words = match blocks.parts.as_slice() {
            [] => words_of(&blocks::read(Some(prompt)).parts),
            parts => words_of(parts),
        };
        story.remark("system_prompt", Stand::default(), &words);
    }
    let list = WRAPS.iter().find_map(|name| object.get(name));
    match list {
        Some(list @ Value::Array(_)) => list.clone(),
        Some(Value::String(words)) => {
            Value::Array(vec![serde_json::json!({ "role": "user", "content": words })])
        }
        _ if object.get("role").is_some() => Value::Array(vec![object.clone()]),
        _ => object.clone(),
    }
}

/// Adds a message, read by its own shape. Says which dialects its shape belongs to, if it is sure.
fn add(
    message: &Value,
    stand: Stand,
    model: &mut Option<ModelRef>,
    story: &mut Story,
) -> Option<&'static str> {
    let named = text(message, "model")
        .map(|name| ModelRef { provider: "imported".to_owned(), model: name.to_owned() });
    *model = named.or(model.take());
    let role = text(message, "role");
    if message.get("parts").is_some() {
        gemini(message, role, stand, story);
        return Some("gemini");
    }
    let is_item = text(message, "type").is_some_and(|kind| kind != "message" || role.is_none());
    if is_item && role.is_none() || text(message, "type") == Some("message") && role.is_some() {
        codex::item(message, stand, model.as_ref(), story);
        return (text(message, "type") != Some("message")).then_some("openai-responses");
    }
    match role.unwrap_or_default() {
        "system" | "developer" => {
            story.note(stand, &words_of(&blocks::read(message.get("content")).parts));
            None
        }
        "user" => user(message, stand, story),
        "assistant" | "model" => assistant(message, stand, model.clone(), story),
        "tool" | "function" => {
            let mut result = blocks::of_content(message.get("content"), false);
            result.at = stand.at;
            let is_made_up = is_made_up(&result.text);
            let (id, tool) = (owned(message, "tool_call_id"), owned(message, "name"));
            let tool = tool.filter(|_| id.is_none());
            story.push(stand, What::Result { id, tool, result, is_made_up });
            Some("openai-chat")
        }
        other => {
            story.unknown(&format!("role {other}"), stand.line);
            None
        }
    }
}

fn user(message: &Value, stand: Stand, story: &mut Story) -> Option<&'static str> {
    let Blocks { parts, results, unknown, .. } = blocks::read(message.get("content"));
    story.unknown_all(&unknown, stand.line);
    let dialect = (!results.is_empty()).then_some("anthropic-messages");
    for (id, result) in results {
        let is_made_up = is_made_up(&result.text);
        story.push(stand, What::Result { id, tool: None, result, is_made_up });
    }
    story.say(stand, parts);
    dialect
}

fn assistant(
    message: &Value,
    stand: Stand,
    model: Option<ModelRef>,
    story: &mut Story,
) -> Option<&'static str> {
    let Blocks { mut pieces, results, unknown, parts, .. } = blocks::read(message.get("content"));
    story.unknown_all(&unknown, stand.line);
    let is_anthropic = pieces.iter().any(|piece| !matches!(piece, Piece::Text(_)));
    for name in ["reasoning_content", "reasoning"] {
        if let Some(words) = text(message, name) {
            pieces.insert(0, Piece::Reasoning(words.into()));
        }
    }
    let calls = items(message.get("tool_calls"));
    let old_call = message.get("function_call").filter(|call| call.is_object());
    for call in calls {
        let function = call.get("function").or_else(|| call.get("custom")).unwrap_or(call);
        let arguments = function.get("arguments").or_else(|| function.get("input"));
        pieces.push(Piece::Call {
            id: owned(call, "id"),
            tool: owned(function, "name").unwrap_or_default(),
            arguments: arguments::of_value(arguments),
            line: 0,
        });
    }
    pieces.extend(old_call.map(|call| Piece::Call {
        id: None,
        tool: owned(call, "name").unwrap_or_default(),
        arguments: arguments::of_value(call.get("arguments")),
        line: 0,
    }));
    if pieces.is_empty() && parts.is_empty() && text(message, "refusal").is_some() {
        pieces.extend(text(message, "refusal").map(|words| Piece::Text(words.into())));
    }
    story.answer(stand, pieces, model);
    for (id, result) in results {
        story.push(stand, What::Result { id, tool: None, result, is_made_up: false });
    }
    let is_chat = !calls.is_empty() || old_call.is_some();
    is_anthropic.then_some("anthropic-messages").or(is_chat.then_some("openai-chat"))
}

fn gemini(message: &Value, role: Option<&str>, stand: Stand, story: &mut Story) {
    let (Blocks { parts, pieces, unknown, .. }, given) = parts::read(message.get("parts"));
    story.unknown_all(&unknown, stand.line);
    for Given { id, tool, result } in given {
        let is_made_up = is_made_up(&result.text);
        story.push(stand, What::Result { id, tool, result, is_made_up });
    }
    match role {
        Some("model" | "assistant") => story.answer(stand, pieces, None),
        Some("system") => story.note(stand, &words_of(&parts)),
        _ => story.say(stand, parts),
    }
}
