//! What a server wants back exactly as it sent it: its reasoning.
//!
//! Kept as a JSON object of the message's own fields, so that replay copies values and knows
//! nothing of what is in them. Signed and encrypted pieces are copied letter by letter; streamed
//! fragments of readable text are joined, as their sender would have sent them in one piece.

use std::borrow::Cow;

use piton_core::event::Native;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Flavour;
use super::chunk::Text;
use super::spelling;
use crate::lifted::Lifted;
use crate::{Ask, list};

/// The fields of an answer that go back with it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_details: Option<&'a RawValue>,
}

/// Writes the native fields of an assistant message, each with a comma before it.
///
/// Anything that came from another provider, host or model is left out: signatures do not verify
/// there, and reasoning is not for others to read.
pub(super) fn replay(out: &mut Vec<u8>, flavour: Flavour, native: Option<&Native>, ask: &Ask) {
    let own = native.filter(|native| {
        native.provider == ask.provider && native.host == ask.host && native.model == ask.model
    });
    // The same provider may have been spoken to in another dialect: such blocks do not parse here.
    let fields: Fields<'_> = own
        .filter(|own| own.raw.starts_with('{'))
        .and_then(|own| serde_json::from_str(&own.raw).ok())
        .unwrap_or_default();
    let texts = |value: &&RawValue| value.get().starts_with('"');
    match flavour {
        Flavour::OpenAi | Flavour::Mistral => {}
        Flavour::DeepSeek => {
            // In thinking mode a message without this field is refused; an empty one is taken.
            let text = fields.reasoning_content.filter(texts).map_or("\"\"", RawValue::get);
            field(out, "reasoning_content", text);
        }
        Flavour::OpenRouter => {
            let lists = |value: &&RawValue| value.get().starts_with('[');
            if let Some(details) = fields.reasoning_details.filter(lists) {
                field(out, "reasoning_details", details.get());
            }
        }
        Flavour::Local => {
            if let Some(text) = fields.reasoning_content.filter(texts) {
                field(out, "reasoning_content", text.get());
            }
            if let Some(text) = fields.reasoning.filter(texts) {
                field(out, "reasoning", text.get());
            }
        }
    }
}

fn field(out: &mut Vec<u8>, name: &str, raw: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(raw.as_bytes());
}

/// Collects the native fields while an answer streams.
#[derive(Debug, Default)]
pub(super) struct Sidecar {
    content: String,
    reasoning: String,
    /// Whole entries of `reasoning_details`.
    details: Vec<String>,
    /// The entry that more may follow.
    growing: Option<Growing>,
}

impl Sidecar {
    /// More of `reasoning_content`.
    pub(super) fn content(&mut self, piece: &str) {
        self.content.push_str(piece);
    }

    /// More of `reasoning`.
    pub(super) fn reasoning(&mut self, piece: &str) {
        self.reasoning.push_str(piece);
    }

    /// More of `reasoning_details`; gives the readable text in them.
    pub(super) fn details(&mut self, list: &[&RawValue], lifted: &Lifted<'_>) -> String {
        let mut readable = String::new();
        for raw in list {
            let whole;
            let mut piece = DetailPiece::read(raw.get());
            if lifted.is_cut(raw.get()) && piece.readable().is_some() {
                whole = lifted.whole(raw.get());
                piece = DetailPiece::read(&whole);
            }
            readable.push_str(&piece.text.text);
            readable.push_str(&piece.summary.text);
            if self.growing.as_mut().is_some_and(|last| last.grow(&piece)) {
                continue;
            }
            self.end_growing();
            self.growing = Growing::new(&piece);
            if self.growing.is_none() {
                self.details.push(lifted.whole(raw.get()).into_owned());
            }
        }
        readable
    }

    fn end_growing(&mut self) {
        if let Some(growing) = self.growing.take() {
            self.details.push(growing.written());
        }
    }

    /// What the flavour wants back, or nothing.
    pub(super) fn raw(&mut self, flavour: Flavour) -> Option<String> {
        self.end_growing();
        let mut out = Vec::new();
        match flavour {
            Flavour::OpenAi | Flavour::Mistral => {}
            Flavour::DeepSeek => {
                let text = if self.content.is_empty() { &self.reasoning } else { &self.content };
                text_field(&mut out, "reasoning_content", text);
            }
            Flavour::OpenRouter => {
                let entries: Vec<&str> = self.details.iter().map(String::as_str).collect();
                let whole = || list::written("{\"reasoning_details\":[", &entries, "]}");
                return (!entries.is_empty()).then(whole);
            }
            Flavour::Local => {
                text_field(&mut out, "reasoning_content", &self.content);
                text_field(&mut out, "reasoning", &self.reasoning);
            }
        }
        // Every field has a comma before it; the first one's becomes the brace.
        *out.first_mut()? = b'{';
        out.push(b'}');
        String::from_utf8(out).ok()
    }
}

fn text_field(out: &mut Vec<u8>, name: &str, text: &str) {
    if !text.is_empty() {
        field(out, name, "");
        spelling::string(out, text);
    }
}

/// An entry of `reasoning_details` that comes in fragments: readable text. Every other one comes
/// whole and is copied.
#[derive(Debug)]
struct Growing {
    kind: Kind,
    text: String,
    index: Option<String>,
    rest: [Option<String>; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Summary,
}

/// Fields of a growing entry beside its text; the first value that comes is kept.
const REST: [&str; 3] = ["signature", "format", "id"];

#[derive(Debug, Default, Deserialize)]
struct DetailPiece<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    summary: Text<'a>,
    #[serde(borrow, default)]
    signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    format: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
}

impl<'a> DetailPiece<'a> {
    /// An entry without a word of text is not looked into.
    fn read(raw: &'a str) -> Self {
        let bytes = raw.as_bytes();
        let has = |ending: &[u8]| memchr::memmem::find(bytes, ending).is_some();
        let told = (has(b"text\"") || has(b"summary\"")).then(|| serde_json::from_str(raw));
        told.and_then(Result::ok).unwrap_or_default()
    }

    fn readable(&self) -> Option<(Kind, &Cow<'_, str>)> {
        match &*self.kind.text {
            "reasoning.text" => Some((Kind::Text, &self.text.text)),
            "reasoning.summary" => Some((Kind::Summary, &self.summary.text)),
            _ => None,
        }
    }

    fn index(&self) -> Option<String> {
        self.index.map(|index| index.get().to_owned())
    }

    fn rest(&self) -> [Option<String>; 3] {
        [self.signature, self.format, self.id].map(|value| Some(value?.get().to_owned()))
    }
}

impl Growing {
    /// The first fragment, if this is one.
    fn new(piece: &DetailPiece<'_>) -> Option<Self> {
        let (kind, text) = piece.readable()?;
        let text = text.clone().into_owned();
        Some(Self { kind, text, index: piece.index(), rest: piece.rest() })
    }

    /// Takes in a fragment of the same entry; `false` if it is of another.
    fn grow(&mut self, piece: &DetailPiece<'_>) -> bool {
        let Some((kind, more)) = piece.readable() else { return false };
        if self.kind != kind || self.index != piece.index() {
            return false;
        }
        self.text.push_str(more);
        for (known, new) in self.rest.iter_mut().zip(piece.rest()) {
            *known = known.take().or(new);
        }
        true
    }

    fn written(&self) -> String {
        let (kind, text_name) = match self.kind {
            Kind::Text => ("reasoning.text", "text"),
            Kind::Summary => ("reasoning.summary", "summary"),
        };
        let mut out = b"{\"type\":".to_vec();
        spelling::string(&mut out, kind);
        field(&mut out, text_name, "");
        spelling::string(&mut out, &self.text);
        for (name, value) in REST.iter().zip(&self.rest) {
            if let Some(value) = value {
                field(&mut out, name, value);
            }
        }
        if let Some(index) = &self.index {
            field(&mut out, "index", index);
        }
        out.push(b'}');
        // Made of texts only.
        String::from_utf8(out).unwrap_or_default()
    }
}
