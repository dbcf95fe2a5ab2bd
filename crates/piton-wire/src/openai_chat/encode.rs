//! From a transcript to a request body.
//!
//! Messages are encoded one by one and kept; what depends on neighbours (messages of one role in a
//! row, which chat templates refuse, become one; the mark of the last cached piece) is left to
//! [`List`], which only copies. The same transcript and ask always give the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::event::{AnswerPart, ToolSpec, UserPart};
use piton_core::transcript::{Assistant, CallResult, Message, Transcript};
use serde_json::value::RawValue;

use super::{Flavour, native, spelling};
use crate::cache::Cache;
use crate::{Ask, Effort};

/// Stands behind a list that would end with the model's words, or be empty.
const CONTINUE_NOTE: &[u8] = b"Continue.";
/// Marks a result as an error; the format has no field for it.
const ERROR_MARK: &str = "Error: ";
/// The schema of a tool that takes nothing, or whose own schema cannot be sent.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;
/// Between texts that become one.
const GAP: &str = "\n\n";
const GAP_ESCAPED: &[u8] = b"\\n\\n";

/// Makes the body.
pub(super) fn body(
    flavour: Flavour,
    transcript: &Transcript,
    ask: &Ask,
    cache: &mut Cache,
) -> Vec<u8> {
    let shape = Shape::of(flavour, ask);
    let mut out = Vec::new();
    frame(&mut out, flavour, ask);
    tools(&mut out, transcript.tools());
    out.extend_from_slice(b",\"messages\":[");
    let encode = |message: &Message| match message {
        Message::User(parts) => user(parts),
        Message::Assistant(message) => assistant(message, flavour, ask),
        Message::Results(results) => tool_results(results, flavour, shape),
    };
    let (last, texts, tail): (_, _, &[u8]) = (Role::Nobody, Vec::new(), &[]);
    let mut list = List { out, shape, wordless: wordless(flavour), last, first: true, texts, tail };
    list.system(transcript.system());
    for message in cache.encode(transcript.messages(), ask, encode) {
        list.push(message);
    }
    let mut out = list.finish();
    out.extend_from_slice(b"]}");
    out
}

/// How texts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// As strings.
    Plain,
    /// As lists of parts: there a cache mark can stand.
    Marked,
}

impl Shape {
    /// Most servers cache prefixes unasked; the router passes marks on to the one that does not.
    fn of(flavour: Flavour, ask: &Ask) -> Self {
        if flavour == Flavour::OpenRouter && ask.model.starts_with("anthropic/") {
            Self::Marked
        } else {
            Self::Plain
        }
    }

    fn before(self) -> &'static [u8] {
        match self {
            Self::Plain => b"\"",
            Self::Marked => b"[{\"type\":\"text\",\"text\":\"",
        }
    }

    fn after(self) -> &'static [u8] {
        match self {
            Self::Plain => b"\"",
            Self::Marked => b"\"}]",
        }
    }
}

/// The content of a message that has only calls. Chat templates stumble over null, and the services
/// that look closely want no empty text.
fn wordless(flavour: Flavour) -> &'static [u8] {
    match flavour {
        Flavour::Mistral | Flavour::Local => b"\"\"",
        Flavour::OpenAi | Flavour::DeepSeek | Flavour::OpenRouter => b"null",
    }
}

fn frame(out: &mut Vec<u8>, flavour: Flavour, ask: &Ask) {
    out.extend_from_slice(b"{\"model\":");
    spelling::string(out, &ask.model);
    out.extend_from_slice(b",\"stream\":true");
    // Mistral refuses keys that it does not know, and sends usage unasked.
    if flavour != Flavour::Mistral {
        out.extend_from_slice(b",\"stream_options\":{\"include_usage\":true}");
    }
    if let Some(most) = ask.max_tokens {
        let name = match flavour {
            Flavour::OpenAi => "max_completion_tokens",
            Flavour::DeepSeek | Flavour::Mistral | Flavour::OpenRouter | Flavour::Local => {
                "max_tokens"
            }
        };
        out.extend_from_slice(format!(",\"{name}\":{most}").as_bytes());
    }
    if let Some(effort) = ask.effort {
        let effort = match effort {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        };
        let field = match flavour {
            Flavour::OpenAi | Flavour::DeepSeek | Flavour::Local => {
                format!(",\"reasoning_effort\":\"{effort}\"")
            }
            Flavour::OpenRouter => format!(",\"reasoning\":{{\"effort\":\"{effort}\"}}"),
            Flavour::Mistral => String::new(),
        };
        out.extend_from_slice(field.as_bytes());
    }
    if flavour == Flavour::OpenAi && !ask.cache_key.is_empty() {
        out.extend_from_slice(b",\"prompt_cache_key\":");
        spelling::string(out, &ask.cache_key);
    }
}

fn tools(out: &mut Vec<u8>, tools: &[ToolSpec]) {
    let mut names = BTreeSet::new();
    for tool in tools {
        let name = spelling::name(&tool.name);
        let before: &[u8] = if names.is_empty() { b",\"tools\":[" } else { b"," };
        if names.contains(&name) {
            continue;
        }
        out.extend_from_slice(before);
        out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
        spelling::string(out, &name);
        if !tool.description.is_empty() {
            out.extend_from_slice(b",\"description\":");
            spelling::string(out, &tool.description);
        }
        out.extend_from_slice(b",\"parameters\":");
        parameters(out, &tool.parameters);
        out.extend_from_slice(b"}}");
        names.insert(name);
    }
    if !names.is_empty() {
        out.push(b']');
    }
}

/// Copies a schema. It must be an object that describes an object, or every request would fail for
/// the sake of one tool.
fn parameters(out: &mut Vec<u8>, schema: &str) {
    let schema = schema.trim();
    let keys = serde_json::from_str::<BTreeMap<String, &RawValue>>(schema);
    let kind = keys.as_ref().ok().map(|keys| keys.get("type").map(|kind| kind.get()));
    match kind {
        Some(Some("\"object\"")) => out.extend_from_slice(schema.as_bytes()),
        Some(None) => {
            let rest = schema.strip_prefix('{').unwrap_or_default().trim_start();
            out.extend_from_slice(b"{\"type\":\"object\"");
            if !rest.starts_with('}') {
                out.push(b',');
            }
            out.extend_from_slice(rest.as_bytes());
        }
        Some(Some(_)) | None => out.extend_from_slice(NO_PARAMETERS.as_bytes()),
    }
}

/// First byte of an encoded message: who speaks.
const USER: u8 = b'u';
const ASSISTANT: u8 = b'a';
const RESULTS: u8 = b't';

fn user(parts: &[UserPart]) -> Vec<u8> {
    let mut out = vec![USER];
    for (place, part) in parts.iter().enumerate() {
        if 0 < place {
            out.extend_from_slice(GAP_ESCAPED);
        }
        match part {
            UserPart::Text { text } => spelling::escape(&mut out, text),
            UserPart::InlinedFile { name, media_type, text } => {
                spelling::escape(&mut out, &format!("Attached file: {name}\nMIME: {media_type}\n"));
                spelling::escape(&mut out, text);
            }
            UserPart::File { name, media_type, .. } => {
                spelling::escape(&mut out, &by_reference(name, media_type));
            }
        }
    }
    out
}

/// A file whose content is kept elsewhere; here it could become an image part.
fn by_reference(name: &str, media_type: &str) -> String {
    format!("Attached file: {name}\nMIME: {media_type}\n(Its content is not shown here.)")
}

/// Text and what stands behind it, with the length of the text in front, so that they can be told
/// apart without looking for the seam.
fn assistant(message: &Assistant, flavour: Flavour, ask: &Ask) -> Vec<u8> {
    let mut text = String::new();
    for part in message.parts.iter() {
        if let AnswerPart::Text { text: more } = part {
            if !text.is_empty() {
                text.push_str(GAP);
            }
            text.push_str(more);
        }
    }
    let calls = message.parts.iter().filter_map(|part| match part {
        AnswerPart::Call { call, provider_id, name, arguments } => {
            Some((*call, provider_id.as_deref(), name, arguments))
        }
        AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } => None,
    });
    let ids = spelling::ids(flavour, calls.clone().map(|(call, id, ..)| (call, id)));
    // Reasoning alone is no message for anybody.
    if text.is_empty() && ids.is_empty() {
        return Vec::new();
    }
    let mut escaped = Vec::with_capacity(text.len());
    spelling::escape(&mut escaped, &text);
    let mut out = vec![ASSISTANT];
    out.extend_from_slice(&u64::try_from(escaped.len()).unwrap_or_default().to_le_bytes());
    out.append(&mut escaped);
    native::replay(&mut out, flavour, message.native.as_ref(), ask);
    for (place, (id, (_, _, name, arguments))) in ids.iter().zip(calls).enumerate() {
        out.extend_from_slice(if place == 0 { b",\"tool_calls\":[" } else { b"," });
        out.extend_from_slice(b"{\"id\":");
        spelling::string(&mut out, id);
        out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
        spelling::string(&mut out, &spelling::name(name));
        out.extend_from_slice(b",\"arguments\":");
        spelling::arguments(&mut out, arguments);
        out.extend_from_slice(b"}}");
    }
    if !ids.is_empty() {
        out.push(b']');
    }
    out
}

fn tool_results(results: &[CallResult], flavour: Flavour, shape: Shape) -> Vec<u8> {
    let calls = results.iter().map(|result| (result.call, result.provider_id.as_deref()));
    let mut out = vec![RESULTS];
    for (result, id) in results.iter().zip(spelling::ids(flavour, calls)) {
        if 1 < out.len() {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"role\":\"tool\",\"tool_call_id\":");
        spelling::string(&mut out, &id);
        out.extend_from_slice(b",\"content\":");
        out.extend_from_slice(shape.before());
        if result.is_error {
            out.extend_from_slice(ERROR_MARK.as_bytes());
        }
        spelling::escape(&mut out, &result.text);
        out.extend_from_slice(shape.after());
        out.push(b'}');
    }
    out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Nobody,
    User,
    Assistant,
    Tool,
}

/// The message list as it is written: joins messages of one role, and keeps the model's words from
/// the end of the list.
struct List<'a> {
    out: Vec<u8>,
    shape: Shape,
    wordless: &'static [u8],
    last: Role,
    first: bool,
    texts: Vec<&'a [u8]>,
    tail: &'a [u8],
}

impl<'a> List<'a> {
    fn system(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.open("system");
        self.out.extend_from_slice(self.shape.before());
        spelling::escape(&mut self.out, text);
        self.out.extend_from_slice(self.shape.after());
        self.mark();
        self.out.push(b'}');
    }

    fn push(&mut self, message: &'a [u8]) {
        match message.split_first() {
            Some((&USER, text)) => self.text(Role::User, text, &[]),
            Some((&ASSISTANT, rest)) => {
                let Some((length, rest)) = rest.split_first_chunk() else { return };
                let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
                let Some((text, tail)) = rest.split_at_checked(length) else { return };
                self.text(Role::Assistant, text, tail);
            }
            Some((&RESULTS, results)) => {
                self.flush();
                self.comma();
                self.out.extend_from_slice(results);
                self.last = Role::Tool;
            }
            Some(_) | None => {}
        }
    }

    fn text(&mut self, role: Role, text: &'a [u8], tail: &'a [u8]) {
        if self.last != role {
            self.flush();
            self.last = role;
        }
        if !text.is_empty() {
            self.texts.push(text);
        }
        // Of answers in a row the last one's reasoning is the one that goes on.
        self.tail = tail;
    }

    /// Writes the message that was being joined.
    fn flush(&mut self) {
        let texts = std::mem::take(&mut self.texts);
        let tail = std::mem::take(&mut self.tail);
        let (role, shape) = match self.last {
            Role::User => ("user", self.shape),
            Role::Assistant => ("assistant", Shape::Plain),
            Role::Nobody | Role::Tool => return,
        };
        self.open(role);
        if texts.is_empty() {
            self.out.extend_from_slice(self.wordless);
        } else {
            self.out.extend_from_slice(shape.before());
            for (place, text) in texts.iter().enumerate() {
                if 0 < place {
                    self.out.extend_from_slice(GAP_ESCAPED);
                }
                self.out.extend_from_slice(text);
            }
            self.out.extend_from_slice(shape.after());
        }
        self.out.extend_from_slice(tail);
        self.out.push(b'}');
        self.last = Role::Nobody;
    }

    fn open(&mut self, role: &str) {
        self.comma();
        self.out.extend_from_slice(b"{\"role\":\"");
        self.out.extend_from_slice(role.as_bytes());
        self.out.extend_from_slice(b"\",\"content\":");
    }

    fn comma(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
    }

    /// Marks the list of parts that was just written as the end of what is worth caching.
    fn mark(&mut self) {
        if self.shape == Shape::Marked && self.out.ends_with(b"}]") {
            self.out.truncate(self.out.len() - 2);
            self.out.extend_from_slice(b",\"cache_control\":{\"type\":\"ephemeral\"}}]");
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if matches!(self.last, Role::Nobody | Role::Assistant) {
            self.text(Role::User, CONTINUE_NOTE, &[]);
        }
        self.flush();
        self.out.pop();
        self.mark();
        self.out.push(b'}');
        self.out
    }
}
