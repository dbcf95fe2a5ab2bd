//! From a transcript to the body of a request.
//!
//! What stands in the transcript is sent in its order, because this API keeps the order of an
//! answer's items. Only what a server is known to reject is changed: names outside the allowed
//! pattern, arguments that are no JSON object, schemas without a root object or
//! with more than one, and keys that are too long.

use std::borrow::Cow;
use std::collections::BTreeMap;

use piton_core::event::{AnswerPart, ToolSpec, UserPart};
use piton_core::transcript::{Assistant, CallResult, Files, Message, Transcript};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::native::Sidecar;
use super::variant::{OpenAiResponses, takes};
use crate::cache::{Cache, Frame, bytes_estimated};
use crate::effort::is_reasoning;
use crate::file::{Piece, Takes, data_url, given};
use crate::fingerprint::fingerprint;
use crate::names::Names;
use crate::schema::{Fitted, fitted};
use crate::{Ask, wire_id};

/// Fewest tokens of an answer that can be asked for.
const MAX_OUTPUT_TOKENS_MIN: u32 = 16;
/// Longest cache key, in bytes; a longer one is rejected.
const CACHE_KEY_BYTES_MAX: usize = 64;
/// Digits of a digest in place of a cache key.
const KEY_DIGITS: usize = 16;

const NO_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;
/// The Codex backend rejects a request without instructions.
const CODEX_INSTRUCTIONS: &str = "Follow the user's instructions.";

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Reasoning {
        summary: &'a RawValue,
        encrypted_content: &'a RawValue,
    },
    Message {
        role: &'static str,
        content: Vec<Part<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    FunctionCall {
        call_id: String,
        name: Cow<'a, str>,
        arguments: Cow<'a, str>,
    },
    FunctionCallOutput {
        call_id: String,
        output: Output<'a>,
    },
}

/// What a call gave.
#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: String },
    InputFile { filename: &'a str, file_data: String },
    OutputText { text: &'a str },
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: Cow<'a, str>,
    parameters: Box<RawValue>,
    // The server's own choice is strict, which rejects schemas with optional properties.
    strict: bool,
}

#[derive(Serialize)]
struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

/// Makes the body.
pub(super) fn body(
    variant: OpenAiResponses,
    transcript: &Transcript,
    ask: &Ask,
    cache: &mut Cache,
) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(b"{\"model\":");
    json(&mut out, &ask.model);
    match (variant, transcript.system().trim().is_empty()) {
        (_, false) => field(&mut out, "instructions", transcript.system()),
        (OpenAiResponses::Codex, true) => field(&mut out, "instructions", CODEX_INSTRUCTIONS),
        (OpenAiResponses::Public, true) => {}
    }
    out.extend_from_slice(b",\"input\":[");
    let (files, takes) = (transcript.files(), takes(variant, ask));
    let names = Names::of(transcript.tools());
    let frame = Frame { dialect: variant.name(), ask, names: &names, files };
    let encode = |message: &Message| match message {
        Message::User(parts) => encode_said(parts, files, &takes),
        Message::Assistant(assistant) => {
            encode_assistant(assistant, frame, bytes_estimated(message))
        }
        Message::Results(results) => {
            let items: Vec<_> =
                results.iter().map(|result| output(result, files, &takes)).collect();
            join(&items, bytes_estimated(message))
        }
    };
    let messages = cache.encode(transcript.messages(), frame, encode);
    out.reserve(messages.clone().map(|message| message.len() + 1).sum());
    for (index, message) in messages.filter(|message| !message.is_empty()).enumerate() {
        if 0 < index {
            out.push(b',');
        }
        out.extend_from_slice(message);
    }
    out.push(b']');
    write_tools(&mut out, transcript.tools(), &names);
    write_settings(&mut out, variant, ask);
    out.push(b'}');
    out
}

fn write_tools(out: &mut Vec<u8>, specs: &[ToolSpec], names: &Names) {
    let mut tools: Vec<Tool<'_>> = Vec::with_capacity(specs.len());
    for (name, spec) in names.offered(specs) {
        let Fitted { description, parameters } = fitted(spec);
        let parameters = schema(&parameters);
        tools.push(Tool { r#type: "function", name, description, parameters, strict: false });
    }
    if !tools.is_empty() {
        field(out, "tools", &tools);
        field(out, "tool_choice", "auto");
        field(out, "parallel_tool_calls", &true);
    }
}

fn write_settings(out: &mut Vec<u8>, variant: OpenAiResponses, ask: &Ask) {
    let effort = ask.effort.map(|effort| effort.openai_word(&ask.model));
    let (reasons, summary) = match variant {
        // The public API gives summaries to verified organisations only and rejects all others.
        OpenAiResponses::Public => (is_reasoning(&ask.model), None),
        OpenAiResponses::Codex => (true, Some("auto")),
    };
    if reasons && (effort.is_some() || summary.is_some()) {
        field(out, "reasoning", &Reasoning { effort, summary });
    }
    if let (OpenAiResponses::Public, Some(tokens)) = (variant, ask.max_tokens) {
        field(out, "max_output_tokens", &tokens.max(MAX_OUTPUT_TOKENS_MIN));
    }
    field(out, "store", &false);
    field(out, "stream", &true);
    if reasons {
        field(out, "include", &["reasoning.encrypted_content"]);
    }
    if !ask.cache_key.is_empty() {
        field(out, "prompt_cache_key", &*cache_key(&ask.cache_key));
    }
}

fn input_part(piece: Piece<'_>) -> Part<'_> {
    match piece {
        Piece::Text(text) => Part::InputText { text },
        Piece::Image { media_type, data } => {
            Part::InputImage { image_url: data_url(media_type, &data) }
        }
        Piece::Pdf { name: filename, data } => {
            Part::InputFile { filename, file_data: data_url("application/pdf", &data) }
        }
        Piece::LongText { text, .. } => Part::InputText { text: Cow::Borrowed(text) },
    }
}

fn encode_said(parts: &[UserPart], files: &Files, takes: &Takes) -> Vec<u8> {
    let content = parts.iter().map(|part| input_part(Piece::of(part, files, takes)));
    join(&[Item::Message { role: "user", content: content.collect(), phase: None }], 0)
}

fn encode_assistant(assistant: &Assistant, frame: Frame<'_>, bytes: usize) -> Vec<u8> {
    let sidecar = Sidecar::of(assistant.native.as_ref(), frame.ask);
    let mut items = Vec::with_capacity(assistant.parts.len());
    let mut texts = 0;
    for part in assistant.parts.iter() {
        match part {
            AnswerPart::Text { text } => {
                let beside = sidecar.at_text(texts);
                texts += 1;
                items.extend(beside.reasoning().map(replayed));
                let (content, phase) = (vec![Part::OutputText { text }], beside.phase());
                items.push(Item::Message { role: "assistant", content, phase });
            }
            AnswerPart::Call { call, name, arguments, .. } => {
                items.extend(sidecar.at_call(call.index).reasoning().map(replayed));
                let arguments = object(arguments);
                let (call_id, name) = (wire_id(*call), frame.names.wire(name));
                items.push(Item::FunctionCall { call_id, name, arguments });
            }
            // Readable reasoning belongs to people. The model gets its own back, encrypted.
            AnswerPart::Reasoning { .. } => {}
        }
    }
    if is_contiguous(frame.ask) {
        items.sort_by_key(|item| match item {
            Item::Reasoning { .. } => 0,
            Item::Message { .. } => 1,
            Item::FunctionCall { .. } | Item::FunctionCallOutput { .. } => 2,
        });
    }
    join(&items, bytes)
}

fn replayed<'a>((summary, encrypted_content): (&'a RawValue, &'a RawValue)) -> Item<'a> {
    Item::Reasoning { summary, encrypted_content }
}

fn output<'a>(result: &'a CallResult, files: &'a Files, takes: &'a Takes) -> Item<'a> {
    let text = &*result.text;
    // There is no mark for errors here: the text has to say it.
    let text = if result.is_error && !text.starts_with("Error") {
        Cow::Owned(format!("Error: {text}"))
    } else {
        Cow::Borrowed(text)
    };
    let output = if result.files.is_empty() {
        Output::Text(text)
    } else {
        let given = given(result, files, takes).map(input_part);
        Output::Parts([Part::InputText { text }].into_iter().chain(given).collect())
    };
    Item::FunctionCallOutput { call_id: wire_id(result.call), output }
}

/// Arguments as a JSON object. Servers that parse them reject anything else, and a request that
/// carries them would then fail for ever; the model still sees what it wrote.
fn object(arguments: &str) -> Cow<'_, str> {
    let is_object = arguments.trim_start().starts_with('{');
    if is_object && serde_json::from_str::<IgnoredAny>(arguments).is_ok() {
        return Cow::Borrowed(arguments);
    }
    let mut text = b"{\"invalid_arguments\":".to_vec();
    json(&mut text, arguments);
    text.push(b'}');
    Cow::Owned(String::from_utf8_lossy(&text).into_owned())
}

/// A schema with an object at its root, otherwise untouched.
fn schema(parameters: &str) -> Box<RawValue> {
    let text = parameters.trim();
    // A map, because `null` is something, too: a second member of that name would not mend it.
    let root = serde_json::from_str::<BTreeMap<String, &RawValue>>(text);
    let mended = match (root, text.strip_prefix('{')) {
        (Ok(root), Some(rest)) => {
            let has_members = !rest.trim_start().starts_with('}');
            let comma = if has_members { "," } else { "" };
            let has_properties = root.get("properties").map(|it| it.get().starts_with('{'));
            match (root.get("type").map(|kind| kind.get()), has_properties) {
                (Some("\"object\""), Some(true)) => text.into(),
                (Some("\"object\""), None) => format!("{{\"properties\":{{}}{comma}{rest}"),
                (None, Some(true)) => format!("{{\"type\":\"object\"{comma}{rest}"),
                (None, None) => {
                    format!("{{\"type\":\"object\",\"properties\":{{}}{comma}{rest}")
                }
                (Some(_), _) | (None, Some(false)) => NO_SCHEMA.into(),
            }
        }
        (Ok(_) | Err(_), _) => NO_SCHEMA.into(),
    };
    RawValue::from_string(mended).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn cache_key(key: &str) -> Cow<'_, str> {
    if key.len() <= CACHE_KEY_BYTES_MAX {
        return Cow::Borrowed(key);
    }
    let kept: String = key.chars().filter(char::is_ascii_graphic).collect();
    let kept = kept.get(..CACHE_KEY_BYTES_MAX - KEY_DIGITS - 1).unwrap_or(&kept);
    Cow::Owned(format!("{kept}_{:016x}", fingerprint(key)))
}

/// Whether the server wants the calls of a step in one row, with nothing between them and their
/// outputs (`DeepSeek` does; it takes reasoning in any place).
fn is_contiguous(ask: &Ask) -> bool {
    ask.host.contains("deepseek") || ask.model.contains("deepseek")
}

fn join(items: &[Item<'_>], bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes);
    for item in items {
        if !out.is_empty() {
            out.push(b',');
        }
        json(&mut out, item);
    }
    out
}

fn field(out: &mut Vec<u8>, name: &str, value: &(impl Serialize + ?Sized)) {
    out.push(b',');
    json(out, name);
    out.push(b':');
    json(out, value);
}

fn json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Memory takes every byte, and none of these types fails to serialise.
    let written = serde_json::to_writer(&mut *out, value);
    debug_assert!(written.is_ok());
}
