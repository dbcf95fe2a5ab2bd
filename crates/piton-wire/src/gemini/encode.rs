//! From a transcript to the body of a request.
//!
//! Each message becomes a list of parts; contents are put together from those so that roles
//! alternate, the last is the user's, and results stand before what was said
//! meanwhile. Reasoning is never sent as text.

use std::borrow::Cow;
use std::{iter, ptr};

use piton_core::event::{AnswerPart, ToolSpec};
use piton_core::transcript::{Assistant, CallResult, Message, Transcript};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::model::{Generation, TAKES};
use super::native::{NO_SIGNATURE, replay};
use super::nesting::{NESTING_MAX, nesting};
use crate::cache::{Cache, Frame};
use crate::file::{Piece, base64, given, given_by};
use crate::names::Names;
use crate::schema::{Fitted, fitted};
use crate::{Ask, Effort, wire_id};

/// More than what stands around the parts of a message.
const CONTENT_BYTES: usize = 64;
/// Closes a conversation that ends with the model, which some models refuse. None begins with it:
/// a transcript asks nobody before the user has spoken.
const CLOSING: &str = "Continue.";

/// Does not think; the largest models of the generation cannot be kept from it.
const BUDGET_NONE: i32 = 0;
/// The least that those accept.
const BUDGET_PRO_LEAST: i32 = 128;
/// Fewest tokens to think with that every 2.5 model accepts.
const BUDGET_LOW: i32 = 512;
/// Most that every 2.5 model accepts.
const BUDGET_HIGH: i32 = 24_576;
/// Leaves it to the model.
const BUDGET_DYNAMIC: i32 = -1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<Config>,
}

#[derive(Serialize)]
struct Instruction<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: Cow<'a, str>,
    description: Cow<'a, str>,
    /// The whole of JSON Schema; `parameters` takes only a part of it.
    parameters_json_schema: Cow<'a, RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "thinkingBudget")]
    budget: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "thinkingLevel")]
    level: Option<&'static str>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<InlineData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: String,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    id: String,
    name: Cow<'a, str>,
    args: Cow<'a, RawValue>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: Cow<'a, str>,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Response<'a> {
    Output(&'a str),
    Error(&'a str),
}

/// Arguments that are not an object, in an object: the model sees what it wrote.
#[derive(Serialize)]
struct Unreadable<'a> {
    unreadable: &'a str,
}

/// Makes the body.
pub(super) fn body(transcript: &Transcript, ask: &Ask, cache: &mut Cache) -> Vec<u8> {
    let mut out = Vec::new();
    let names = Names::of(transcript.tools());
    append(&mut out, &head(transcript, ask, &names));
    // The head is an object; contents become its last field.
    out.pop();
    if out.len() != 1 {
        out.push(b',');
    }
    out.extend_from_slice(b"\"contents\":[");
    let frame = Frame { dialect: "gemini", ask, names: &names, files: transcript.files() };
    contents(&mut out, transcript.messages(), frame, cache);
    out.extend_from_slice(b"]}");
    out
}

fn head<'a>(transcript: &'a Transcript, ask: &Ask, names: &'a Names) -> Head<'a> {
    let system = Some(transcript.system()).filter(|system| !system.trim().is_empty());
    let functions = declarations(transcript.tools(), names);
    let config = Config { max_output_tokens: ask.max_tokens, thinking_config: thinking(ask) };
    let is_set = config.max_output_tokens.is_some() || config.thinking_config.is_some();
    Head {
        system_instruction: system.map(|text| Instruction { parts: [text_part(text)] }),
        tools: (!functions.is_empty()).then_some([Tools { function_declarations: functions }]),
        generation_config: is_set.then_some(config),
    }
}

/// "As usual" names no level, because not every model knows the middle one.
fn thinking(ask: &Ask) -> Option<Thinking> {
    let is_pro = ask.model.contains("-pro");
    let (budget, level) = match (Generation::of(&ask.model), ask.effort?) {
        (Generation::Plain, _) => return None,
        (Generation::Budget, Effort::None) if is_pro => (Some(BUDGET_PRO_LEAST), None),
        (Generation::Budget, Effort::None) => (Some(BUDGET_NONE), None),
        (Generation::Budget, Effort::Minimal | Effort::Low) => (Some(BUDGET_LOW), None),
        (Generation::Budget, Effort::Medium) => (Some(BUDGET_DYNAMIC), None),
        (Generation::Budget, Effort::High | Effort::Max) => (Some(BUDGET_HIGH), None),
        (Generation::Level, Effort::None | Effort::Minimal) if !is_pro => (None, Some("minimal")),
        (Generation::Level, Effort::None | Effort::Minimal | Effort::Low) => (None, Some("low")),
        (Generation::Level, Effort::Medium) => (None, None),
        (Generation::Level, Effort::High | Effort::Max) => (None, Some("high")),
    };
    Some(Thinking { include_thoughts: budget != Some(BUDGET_NONE), budget, level })
}

fn declarations<'a>(tools: &'a [ToolSpec], names: &'a Names) -> Vec<Declaration<'a>> {
    let declared = names.offered(tools).map(|(name, tool)| {
        let Fitted { description, parameters } = fitted(tool);
        Declaration { name, description, parameters_json_schema: schema(parameters) }
    });
    declared.collect()
}

fn contents(out: &mut Vec<u8>, messages: &[Message], frame: Frame<'_>, cache: &mut Cache) {
    // How results are named depends on how their calls were written. Looking one message back is
    // safe beside the cache: it keeps a message only if all before it are the same.
    let before = iter::once(None).chain(messages.iter().map(Some));
    let mut pairs = before.zip(messages);
    let parts = cache.encode(messages, frame, |message| {
        let pair = pairs.find(|(_, this)| ptr::eq(*this, message));
        message_parts(message, pair.and_then(|(before, _)| before), frame)
    });
    out.reserve(parts.clone().map(|parts| parts.len() + CONTENT_BYTES).sum());
    let mut last = None;
    for (message, parts) in messages.iter().zip(parts).filter(|(_, parts)| !parts.is_empty()) {
        let role = match message {
            Message::User(_) | Message::Results(_) => "user",
            Message::Assistant(_) => "model",
        };
        if last == Some(role) {
            out.push(b',');
        } else {
            begin(out, &mut last, role);
        }
        out.extend_from_slice(parts);
    }
    if last != Some("user") {
        begin(out, &mut last, "user");
        append(out, &text_part(CLOSING));
    }
    out.extend_from_slice(b"]}");
}

fn begin(out: &mut Vec<u8>, last: &mut Option<&'static str>, role: &'static str) {
    if last.replace(role).is_some() {
        out.extend_from_slice(b"]},");
    }
    out.extend_from_slice(b"{\"role\":\"");
    out.extend_from_slice(role.as_bytes());
    out.extend_from_slice(b"\",\"parts\":[");
}

/// The parts of a message with commas between them; nothing if there is nothing to send.
fn message_parts(message: &Message, before: Option<&Message>, frame: Frame<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match message {
        Message::User(parts) => {
            for part in parts {
                append_part(&mut out, &user_part(Piece::of(part, frame.files, &TAKES)));
            }
        }
        Message::Assistant(assistant) => match replay(assistant, frame) {
            Some(replay) => out = replay.parts.join(",").into_bytes(),
            None => answer_parts(&mut out, assistant, frame),
        },
        Message::Results(results) => {
            let replay = match before {
                Some(Message::Assistant(assistant)) => replay(assistant, frame),
                Some(Message::User(_) | Message::Results(_)) | None => None,
            };
            let mut ids = replay.map(|replay| replay.ids.into_iter());
            for result in results {
                let id = match &mut ids {
                    Some(ids) => ids.next().flatten(),
                    None => Some(wire_id(result.call)),
                };
                append_part(&mut out, &response_part(result, id, frame.names));
            }
            // Images stand beside responses, and behind all of them.
            for result in results.iter().filter(|result| !result.files.is_empty()) {
                append_part(&mut out, &text_part(given_by(result)));
                for piece in given(result, frame.files, &TAKES) {
                    append_part(&mut out, &user_part(piece));
                }
            }
        }
    }
    out
}

fn answer_parts(out: &mut Vec<u8>, assistant: &Assistant, frame: Frame<'_>) {
    let mut must_sign = Generation::of(&frame.ask.model) == Generation::Level;
    for part in assistant.parts.iter() {
        match part {
            AnswerPart::Text { text } if text.trim().is_empty() => {}
            AnswerPart::Text { text } => append_part(out, &text_part(&**text)),
            AnswerPart::Reasoning { .. } => {}
            AnswerPart::Call { call, name, arguments, .. } => {
                let call = FunctionCall {
                    id: wire_id(*call),
                    name: frame.names.wire(name),
                    args: object(arguments),
                };
                // Only the first call of a step is asked for its signature.
                let thought_signature = std::mem::take(&mut must_sign).then_some(NO_SIGNATURE);
                let function_call = Some(call);
                append_part(out, &Part { function_call, thought_signature, ..Part::default() });
            }
        }
    }
}

fn response_part<'a>(result: &'a CallResult, id: Option<String>, names: &'a Names) -> Part<'a> {
    let response = if result.is_error {
        Response::Error(&result.text)
    } else {
        Response::Output(&result.text)
    };
    let function_response = Some(FunctionResponse { id, name: names.wire(&result.name), response });
    Part { function_response, ..Part::default() }
}

fn text_part<'a>(text: impl Into<Cow<'a, str>>) -> Part<'a> {
    Part { text: Some(text.into()), ..Part::default() }
}

fn user_part(piece: Piece<'_>) -> Part<'_> {
    let inline = |mime_type, data| {
        let inline_data = Some(InlineData { mime_type, data });
        Part { inline_data, ..Part::default() }
    };
    match piece {
        Piece::Text(text) => text_part(text),
        Piece::Image { media_type, data } => inline(media_type, data),
        Piece::Pdf { data, .. } => inline("application/pdf", data),
        Piece::LongText { text, .. } => inline("text/plain", base64(text.as_bytes())),
    }
}

/// Arguments must be an object that the service can read; the journal keeps what came.
fn object(arguments: &str) -> Cow<'_, RawValue> {
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    let is_readable = serde_json::from_str::<Value>(text)
        .is_ok_and(|value| value.is_object() && nesting(&value) <= NESTING_MAX);
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) if is_readable => Cow::Borrowed(raw),
        Ok(_) | Err(_) => serde_json::value::to_raw_value(&Unreadable { unreadable: arguments })
            .map_or(Cow::Borrowed(RawValue::NULL), Cow::Owned),
    }
}

/// A schema must describe an object; any object, where it does not.
fn schema(parameters: Cow<'_, str>) -> Cow<'_, RawValue> {
    let is_usable = serde_json::from_str::<Value>(&parameters).is_ok_and(|schema| {
        let is_object = schema.get("type").is_none_or(|kind| kind == "object");
        schema.is_object() && is_object && nesting(&schema) <= NESTING_MAX
    });
    let text = if is_usable { parameters } else { Cow::Borrowed(r#"{"type":"object"}"#) };
    let raw = match text {
        Cow::Borrowed(text) => serde_json::from_str::<&RawValue>(text).map(Cow::Borrowed),
        Cow::Owned(text) => RawValue::from_string(text).map(Cow::Owned),
    };
    raw.unwrap_or(Cow::Borrowed(RawValue::NULL))
}

fn append_part(out: &mut Vec<u8>, part: &Part<'_>) {
    if !out.is_empty() {
        out.push(b',');
    }
    append(out, part);
}

/// Memory takes everything; were it otherwise, nothing half-written would stay.
fn append<T: Serialize>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
    }
}
