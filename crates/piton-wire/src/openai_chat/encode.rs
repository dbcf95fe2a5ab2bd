//! From a transcript to a request body.
//!
//! Messages are encoded one by one and kept; what depends on neighbours (messages of one role in a
//! row, which chat templates refuse, become one; the mark of the last cached piece) is left to
//! [`List`], which only copies. The same transcript and ask always give the same bytes.

use std::collections::BTreeMap;

use piton_core::event::{AnswerPart, ToolSpec, UserPart};
use piton_core::transcript::{Assistant, CallResult, Files, Message, Transcript};
use serde_json::value::RawValue;

use super::{Flavour, native, spelling};
use crate::cache::{Cache, Frame, bytes_estimated};
use crate::effort::is_reasoning;
use crate::file::{Piece, Takes, data_url, given, given_by};
use crate::names::Names;
use crate::schema::{Fitted, fitted};
use crate::{Ask, Effort};

/// Stands behind a list that would end with the model's words, or be empty.
const CONTINUE_NOTE: &[u8] = b"Continue.";
/// Marks a result as an error; the format has no field for it.
const ERROR_MARK: &str = "Error: ";
/// The schema of a tool that takes nothing, or whose own schema cannot be sent.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;
/// Between texts that become one, inside of a string.
const GAP_ESCAPED: &[u8] = b"\\n\\n";

/// More than what stands around a message.
const MESSAGE_BYTES: usize = 64;

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
    let names = Names::of(transcript.tools());
    tools(&mut out, transcript.tools(), &names);
    out.extend_from_slice(b",\"messages\":[");
    let files = transcript.files();
    let takes = flavour.takes(ask);
    let frame = Frame { dialect: dialect(flavour), ask, names: &names, files };
    let encode = |message: &Message| {
        let mut out = Vec::with_capacity(bytes_estimated(message));
        match message {
            Message::User(parts) => user(&mut out, parts, files, &takes),
            Message::Assistant(message) => assistant(&mut out, message, flavour, frame),
            Message::Results(results) => {
                tool_results(&mut out, results, (flavour, shape), (files, &takes));
                let start = out.len();
                images(&mut out, results, files, &takes);
                lengthen(&mut out, start);
            }
        }
        out
    };
    let (last, texts, tail): (_, _, &[u8]) = (Role::Nobody, Vec::new(), &[]);
    let mut list = List { out, shape, wordless: wordless(flavour), last, first: true, texts, tail };
    list.system(transcript.system());
    let messages = cache.encode(transcript.messages(), frame, encode);
    list.out.reserve(messages.clone().map(|message| message.len() + MESSAGE_BYTES).sum());
    for message in messages {
        list.push(message);
    }
    let mut out = list.finish();
    out.extend_from_slice(b"]}");
    out
}

/// Flavours differ in ids and reasoning, so one's messages are not another's.
fn dialect(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::OpenAi => "openai_chat",
        Flavour::DeepSeek => "openai_chat/deepseek",
        Flavour::Mistral => "openai_chat/mistral",
        Flavour::OpenRouter => "openai_chat/openrouter",
        Flavour::Local => "openai_chat/local",
    }
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
        out.extend_from_slice(reasoning(flavour, effort, &ask.model).as_bytes());
    }
    if flavour == Flavour::OpenAi && !ask.cache_key.is_empty() {
        out.extend_from_slice(b",\"prompt_cache_key\":");
        spelling::string(out, &ask.cache_key);
    }
}

/// The field that says how much to think.
fn reasoning(flavour: Flavour, effort: Effort, model: &str) -> String {
    let word = match (flavour, effort) {
        (Flavour::Mistral, _) => return String::new(),
        (Flavour::OpenAi, _) if !is_reasoning(model) => return String::new(),
        (Flavour::DeepSeek, Effort::None) => {
            return ",\"thinking\":{\"type\":\"disabled\"}".into();
        }
        (Flavour::OpenAi, effort) => effort.openai_word(model),
        // The router finds the nearest word of the model itself.
        (Flavour::OpenRouter | Flavour::Local, Effort::None) => "none",
        (Flavour::OpenRouter, Effort::Minimal) => "minimal",
        (Flavour::OpenRouter, Effort::Max) => "xhigh",
        (Flavour::OpenRouter | Flavour::DeepSeek | Flavour::Local, effort) => effort.plain_word(),
    };
    match flavour {
        Flavour::OpenRouter => format!(",\"reasoning\":{{\"effort\":\"{word}\"}}"),
        Flavour::OpenAi | Flavour::DeepSeek | Flavour::Local | Flavour::Mistral => {
            format!(",\"reasoning_effort\":\"{word}\"")
        }
    }
}

fn tools(out: &mut Vec<u8>, tools: &[ToolSpec], names: &Names) {
    let mut none = true;
    for (name, tool) in names.offered(tools) {
        let before: &[u8] = if std::mem::take(&mut none) { b",\"tools\":[" } else { b"," };
        out.extend_from_slice(before);
        out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
        spelling::string(out, &name);
        let Fitted { description, parameters: schema } = fitted(tool);
        if !description.is_empty() {
            out.extend_from_slice(b",\"description\":");
            spelling::string(out, &description);
        }
        out.extend_from_slice(b",\"parameters\":");
        parameters(out, &schema);
        out.extend_from_slice(b"}}");
    }
    if !none {
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

/// First byte of an encoded message: who speaks. What has files in it is a list of parts already.
const USER: u8 = b'u';
const USER_PARTS: u8 = b'p';
const ASSISTANT: u8 = b'a';
const RESULTS: u8 = b't';
/// How long the length of an answer's text is.
const LENGTH_BYTES: usize = size_of::<u64>();

fn user(out: &mut Vec<u8>, parts: &[UserPart], files: &Files, takes: &Takes) {
    let pieces: Vec<_> = parts.iter().map(|part| Piece::of(part, files, takes)).collect();
    let is_text = pieces.iter().all(|piece| matches!(piece, Piece::Text(_)));
    let (kind, gap): (u8, &[u8]) = if is_text { (USER, GAP_ESCAPED) } else { (USER_PARTS, b",") };
    out.push(kind);
    for (place, piece) in pieces.iter().enumerate() {
        if 0 < place {
            out.extend_from_slice(gap);
        }
        match (piece, is_text) {
            (Piece::Text(text), true) => spelling::escape(out, text),
            (piece, _) => part(out, piece),
        }
    }
}

fn part(out: &mut Vec<u8>, piece: &Piece<'_>) {
    match piece {
        Piece::Text(text) => text_part(out, |out| spelling::escape(out, text)),
        Piece::LongText { text, .. } => text_part(out, |out| spelling::escape(out, text)),
        Piece::Image { media_type, data } => {
            out.extend_from_slice(b"{\"type\":\"image_url\",\"image_url\":{\"url\":");
            spelling::string(out, &data_url(media_type, data));
            out.extend_from_slice(b"}}");
        }
        Piece::Pdf { name, data } => {
            out.extend_from_slice(b"{\"type\":\"file\",\"file\":{\"filename\":");
            spelling::string(out, name);
            out.extend_from_slice(b",\"file_data\":");
            spelling::string(out, &data_url("application/pdf", data));
            out.extend_from_slice(b"}}");
        }
    }
}

fn text_part(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"{\"type\":\"text\",\"text\":\"");
    write(out);
    out.extend_from_slice(b"\"}");
}

/// Text and what stands behind it, with the length of the text in front, so that they can be told
/// apart without looking for the seam.
fn assistant(out: &mut Vec<u8>, message: &Assistant, flavour: Flavour, frame: Frame<'_>) {
    let calls = message.parts.iter().filter_map(|part| match part {
        AnswerPart::Call { call, provider_id, name, arguments } => {
            Some((*call, provider_id.as_deref(), name, arguments))
        }
        AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } => None,
    });
    let ids = spelling::ids(flavour, calls.clone().map(|(call, id, ..)| (call, id)));
    out.push(ASSISTANT);
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    let texts = message.parts.iter().filter_map(|part| match part {
        AnswerPart::Text { text } if !text.is_empty() => Some(text),
        AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
    });
    for (place, text) in texts.enumerate() {
        if 0 < place {
            out.extend_from_slice(GAP_ESCAPED);
        }
        spelling::escape(out, text);
    }
    let length = out.len() - 1 - LENGTH_BYTES;
    // Reasoning alone is no message for anybody.
    if length == 0 && ids.is_empty() {
        return out.clear();
    }
    lengthen(out, 1 + LENGTH_BYTES + length);
    native::replay(out, flavour, message.native.as_ref(), frame.ask);
    for (place, (id, (_, _, name, arguments))) in ids.iter().zip(calls).enumerate() {
        out.extend_from_slice(if place == 0 { b",\"tool_calls\":[" } else { b"," });
        out.extend_from_slice(b"{\"id\":");
        spelling::string(out, id);
        out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
        spelling::string(out, &frame.names.wire(name));
        out.extend_from_slice(b",\"arguments\":");
        spelling::arguments(out, arguments);
        out.extend_from_slice(b"}}");
    }
    if !ids.is_empty() {
        out.push(b']');
    }
}

/// Results, with room for their length in front: images stand behind them, in a message of the user, since
/// results have nothing but text here.
fn tool_results(
    out: &mut Vec<u8>,
    results: &[CallResult],
    (flavour, shape): (Flavour, Shape),
    (files, takes): (&Files, &Takes),
) {
    let calls = results.iter().map(|result| (result.call, result.provider_id.as_deref()));
    out.push(RESULTS);
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    for (result, id) in results.iter().zip(spelling::ids(flavour, calls)) {
        if 1 + LENGTH_BYTES < out.len() {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"role\":\"tool\",\"tool_call_id\":");
        spelling::string(out, &id);
        out.extend_from_slice(b",\"content\":");
        out.extend_from_slice(shape.before());
        if result.is_error {
            out.extend_from_slice(ERROR_MARK.as_bytes());
        }
        spelling::escape(out, &result.text);
        // What stands in the place of an image that this model does not take.
        for piece in given(result, files, takes) {
            if let Piece::Text(note) = piece {
                spelling::escape(out, "\n");
                spelling::escape(out, &note);
            }
        }
        out.extend_from_slice(shape.after());
        out.push(b'}');
    }
}

/// The images of results as parts of a message.
fn images(out: &mut Vec<u8>, results: &[CallResult], files: &Files, takes: &Takes) {
    let mut is_first = true;
    for result in results {
        let given = given(result, files, takes);
        for image in given.filter(|piece| !matches!(piece, Piece::Text(_))) {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            part(out, &Piece::Text(given_by(result).into()));
            out.push(b',');
            part(out, &image);
        }
    }
}

/// Says in front of a message where its first half ends.
fn lengthen(out: &mut [u8], end: usize) {
    let length = end.saturating_sub(1 + LENGTH_BYTES);
    let length = u64::try_from(length).unwrap_or_default().to_le_bytes();
    if let Some(place) = out.get_mut(1..=LENGTH_BYTES) {
        place.copy_from_slice(&length);
    }
}

/// Both halves of such a message.
fn halves(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = message.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    rest.split_at_checked(length)
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
    texts: Vec<Said<'a>>,
    tail: &'a [u8],
}

/// What one message adds to the one that is being joined.
#[derive(Clone, Copy)]
enum Said<'a> {
    /// The inside of a string.
    Text(&'a [u8]),
    /// The inside of a list of parts.
    Parts(&'a [u8]),
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
            Some((&USER, text)) => self.said(Role::User, Said::Text(text), &[]),
            Some((&USER_PARTS, parts)) => self.said(Role::User, Said::Parts(parts), &[]),
            Some((&ASSISTANT, rest)) => {
                let Some((text, tail)) = halves(rest) else { return };
                self.said(Role::Assistant, Said::Text(text), tail);
            }
            Some((&RESULTS, rest)) => {
                let Some((results, images)) = halves(rest) else { return };
                self.flush();
                self.comma();
                self.out.extend_from_slice(results);
                self.last = Role::Tool;
                if !images.is_empty() {
                    self.said(Role::User, Said::Parts(images), &[]);
                }
            }
            Some(_) | None => {}
        }
    }

    fn said(&mut self, role: Role, said: Said<'a>, tail: &'a [u8]) {
        if self.last != role {
            self.flush();
            self.last = role;
        }
        if !matches!(said, Said::Text([])) {
            self.texts.push(said);
        }
        // Of answers in a row the last one's reasoning is the one that goes on.
        self.tail = tail;
    }

    /// Writes the message that was being joined.
    fn flush(&mut self) {
        let tail = std::mem::take(&mut self.tail);
        let (role, shape) = match self.last {
            Role::User => ("user", self.shape),
            Role::Assistant => ("assistant", Shape::Plain),
            Role::Nobody | Role::Tool => return,
        };
        let mut texts = std::mem::take(&mut self.texts);
        self.open(role);
        if texts.is_empty() {
            self.out.extend_from_slice(self.wordless);
        } else if texts.iter().any(|said| matches!(said, Said::Parts(_))) {
            self.write_parts(&texts);
        } else {
            self.out.extend_from_slice(shape.before());
            for (place, said) in texts.iter().enumerate() {
                if 0 < place {
                    self.out.extend_from_slice(GAP_ESCAPED);
                }
                let (Said::Text(text) | Said::Parts(text)) = said;
                self.out.extend_from_slice(text);
            }
            self.out.extend_from_slice(shape.after());
        }
        self.out.extend_from_slice(tail);
        self.out.push(b'}');
        // Kept, so that a list costs no allocation per message.
        texts.clear();
        self.texts = texts;
        self.last = Role::Nobody;
    }

    fn write_parts(&mut self, said: &[Said<'_>]) {
        for (place, said) in said.iter().enumerate() {
            self.out.push(if place == 0 { b'[' } else { b',' });
            match said {
                Said::Text(text) => text_part(&mut self.out, |out| out.extend_from_slice(text)),
                Said::Parts(parts) => self.out.extend_from_slice(parts),
            }
        }
        self.out.push(b']');
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
        // Only texts can be marked.
        if self.shape == Shape::Marked && self.out.ends_with(b"\"}]") {
            self.out.truncate(self.out.len() - 2);
            self.out.extend_from_slice(b",\"cache_control\":{\"type\":\"ephemeral\"}}]");
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if matches!(self.last, Role::Nobody | Role::Assistant) {
            self.said(Role::User, Said::Text(CONTINUE_NOTE), &[]);
        }
        self.flush();
        self.out.pop();
        self.mark();
        self.out.push(b'}');
        self.out
    }
}
