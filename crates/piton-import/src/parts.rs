//! The parts of a message as Gemini writes them.

use piton_core::history::{PastPart, PastResult};
use serde_json::Value;

use crate::arguments;
use crate::blocks::{self, Blocks};
use crate::fields::{at, is_true, items, owned, text};
use crate::record::Piece;

/// Reads the parts of a message, or its text.
pub(crate) fn read(parts: Option<&Value>) -> (Blocks, Vec<Given>) {
    let (mut blocks, mut given) = (Blocks::default(), Vec::new());
    if let Some(Value::String(words)) = parts {
        return (blocks::read(Some(&Value::String(words.clone()))), given);
    }
    let single = parts.filter(|part| part.is_object());
    for part in items(parts).iter().chain(single) {
        add(part, &mut blocks, &mut given);
    }
    (blocks, given)
}

/// A result of a call, with the name of its tool.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) id: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) result: PastResult,
}

fn add(part: &Value, blocks: &mut Blocks, given: &mut Vec<Given>) {
    if let Some(call) = part.get("functionCall") {
        blocks.pieces.push(Piece::Call {
            id: owned(call, "id"),
            tool: owned(call, "name").unwrap_or_default(),
            arguments: arguments::of_value(call.get("args")),
            line: 0,
        });
    } else if let Some(response) = part.get("functionResponse") {
        given.push(of_response(response));
    } else if let Some(data) = part.get("inlineData") {
        match blocks::file(data) {
            Some(file) => blocks.parts.push(PastPart::File(file)),
            None => blocks.unknown.push("inlineData".to_owned()),
        }
    } else if let Some(words) = part.as_str().or_else(|| text(part, "text")) {
        say(words, is_true(part, "thought"), blocks);
    } else if let Some(kind) = part.as_object().and_then(|part| part.keys().next())
        && !matches!(kind.as_str(), "text" | "thoughtSignature" | "thought")
    {
        blocks.unknown.push(kind.clone());
    }
}

fn say(words: &str, is_thought: bool, blocks: &mut Blocks) {
    if words.trim().is_empty() {
        return;
    }
    if is_thought {
        blocks.pieces.push(Piece::Reasoning(words.into()));
    } else {
        blocks.parts.push(PastPart::Text(words.into()));
        blocks.pieces.push(Piece::Text(words.into()));
    }
}

/// What a response to a call says.
pub(crate) fn of_response(response: &Value) -> Given {
    let body = response.get("response");
    let said = |key| body.and_then(|body| body.get(key));
    let (content, failed) = match (said("output"), said("error")) {
        (Some(output), _) => (Some(output), false),
        (None, Some(error)) => (Some(error), true),
        (None, None) => (body, false),
    };
    let mut result = match content {
        Some(Value::String(words)) => {
            PastResult { text: words.as_str().into(), ..PastResult::default() }
        }
        other => blocks::of_content(other, failed),
    };
    result.failed = failed;
    for part in items(at(response, &["parts"])) {
        let file = part.get("inlineData").and_then(blocks::file);
        result.files.extend(file);
    }
    Given { id: owned(response, "id"), tool: owned(response, "name"), result }
}
