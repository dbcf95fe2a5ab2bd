//! What must go back to the same model byte for byte: signed parts and server-side tools.
//!
//! A signature belongs to the part it came on, so the parts of an answer are kept with their
//! boundaries and order. Unsigned text may be joined, because nothing is bound to it, and unsigned
//! thoughts are left out, because the model does not need its own summary. Nothing here is shown
//! to another provider, host or model: a foreign signature is an error, and a thought as plain text
//! would be a lie about who said it.

use std::borrow::Cow;

use piton_core::event::{AnswerPart, Verbatim};
use piton_core::transcript::Assistant;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::model::Generation;
use super::nesting::{NESTING_MAX, nesting};
use crate::cache::Frame;
use crate::{list, names};

/// Accepted in place of a signature that was never given: the call is another's, or made up.
pub(super) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Kinds of content that a part can hold.
const KINDS: [&str; 8] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

/// Gathers the parts of an answer while it streams.
#[derive(Debug, Default)]
pub(super) struct Collector {
    parts: Vec<Part>,
    /// Unsigned text that more may follow.
    text: String,
    is_needed: bool,
}

#[derive(Debug)]
struct Part {
    json: String,
    /// The call that it is, if it is one.
    call: Option<u32>,
}

#[derive(Serialize)]
struct TextPart<'a> {
    text: &'a str,
}

impl Collector {
    /// Unsigned text.
    pub(super) fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A part that no neutral form can stand for.
    pub(super) fn verbatim(&mut self, json: String) {
        self.is_needed = true;
        self.add(json, None);
    }

    /// A signature without content. It is sent back on an empty text, since a part must hold
    /// something.
    pub(super) fn signature_only(&mut self, raw: &str) {
        self.verbatim(with_field(raw, r#""text":"""#));
    }

    /// A call, which is left out again if it turns out to have been cut.
    pub(super) fn call(&mut self, json: String, index: u32, is_signed: bool) {
        self.is_needed |= is_signed;
        self.add(json, Some(index));
    }

    /// Adds a part behind the text before it.
    fn add(&mut self, json: String, call: Option<u32>) {
        self.end_text();
        self.parts.push(Part { json, call });
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if let Ok(json) = serde_json::to_string(&TextPart { text: &text })
            && !text.is_empty()
        {
            self.parts.push(Part { json, call: None });
        }
    }

    /// The parts as a JSON array, if the neutral form would lose something.
    pub(super) fn finish(mut self, is_cut: impl Fn(u32) -> bool) -> Option<Verbatim> {
        if !self.is_needed {
            return None;
        }
        self.end_text();
        let whole = self.parts.iter().filter(|part| !part.call.is_some_and(&is_cut));
        let parts: Vec<&str> = whole.map(|part| part.json.as_str()).collect();
        Some(list::written("[", &parts, "]").into())
    }
}

/// A model's answer as it goes back.
#[derive(Debug)]
pub(super) struct Replay<'a> {
    /// The parts.
    pub(super) parts: Vec<Cow<'a, str>>,
    /// The provider's ids of its calls, which the results must repeat.
    pub(super) ids: Vec<Option<String>>,
}

/// The native form, if it is this very model's and still says the same as the neutral one.
///
/// The neutral form decides which calls there are: their results follow, and a call without a
/// result, or a result without its call, is refused by the service.
pub(super) fn replay<'a>(assistant: &'a Assistant, frame: Frame<'_>) -> Option<Replay<'a>> {
    let ask = frame.ask;
    let native = assistant.native.as_ref()?;
    let is_theirs =
        native.provider == ask.provider && native.host == ask.host && native.model == ask.model;
    if !is_theirs {
        return None;
    }
    let raw_parts: Vec<&RawValue> = serde_json::from_str(&native.raw).ok()?;
    let mut calls = assistant.parts.iter().filter_map(|part| match part {
        AnswerPart::Call { provider_id, name, .. } => {
            Some((provider_id.as_deref(), frame.names.wire(name)))
        }
        AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } => None,
    });
    let mut must_sign = Generation::of(&ask.model) == Generation::Level;
    let mut replay = Replay { parts: Vec::new(), ids: Vec::new() };
    for raw in raw_parts {
        let part: Value = serde_json::from_str(raw.get()).ok()?;
        if !is_sendable(&part) {
            return None;
        }
        let mut text = Cow::Borrowed(raw.get());
        if let Some(call) = part.get("functionCall") {
            let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
            if calls.next()? != (id, Cow::Borrowed(call.get("name")?.as_str()?)) {
                return None;
            }
            if id.is_some() && replay.ids.iter().any(|known| known.as_deref() == id) {
                return None;
            }
            replay.ids.push(id.map(str::to_owned));
            if std::mem::take(&mut must_sign) && part.get("thoughtSignature").is_none() {
                let field = format!(r#""thoughtSignature":"{NO_SIGNATURE}""#);
                text = Cow::Owned(with_field(raw.get(), &field));
            }
        }
        replay.parts.push(text);
    }
    (calls.next().is_none() && !replay.parts.is_empty()).then_some(replay)
}

/// A journal may hold anything; what goes out must be a part that the service takes.
fn is_sendable(part: &Value) -> bool {
    let Some(fields) = part.as_object() else {
        return false;
    };
    let signature = fields.get("thoughtSignature");
    let is_signed = match signature.map(Value::as_str) {
        None => false,
        Some(Some(text)) if !text.is_empty() && text.bytes().all(is_base64) => true,
        Some(_) => return false,
    };
    let kinds = KINDS.iter().filter(|kind| fields.get(**kind).is_some_and(|it| !it.is_null()));
    let is_whole = match (fields.get("text"), fields.get("functionCall")) {
        (Some(text), _) => text.as_str().is_some_and(|text| is_signed || !text.is_empty()),
        (_, Some(call)) => {
            call.get("name").and_then(Value::as_str).is_some_and(names::is_plain)
                && call.get("args").is_none_or(Value::is_object)
                && call.get("id").is_none_or(Value::is_string)
        }
        (None, None) => fields.values().all(|field| !field.is_null()),
    };
    is_whole
        && kinds.count() == 1
        && !fields.contains_key("functionResponse")
        && nesting(part) <= NESTING_MAX
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

/// Adds a field to the text of an object; every other byte stays as it was.
fn with_field(raw: &str, field: &str) -> String {
    let inner = raw.trim().strip_prefix('{').unwrap_or_default().trim_start();
    let comma = if inner.starts_with('}') { "" } else { "," };
    format!("{{{field}{comma}{inner}")
}
