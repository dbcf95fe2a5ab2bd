//! The content of a message: a text, or blocks as Anthropic, `OpenAI` and their relatives write them.

use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use piton_core::history::{PastFile, PastPart, PastResult};
use serde_json::Value;

use crate::arguments;
use crate::fields::{at, is_true, items, owned, text};
use crate::record::Piece;

/// Base64 as it is found: with the signs that fill up its end or without them.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// What the blocks of a message are.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// In order, for a message of a person.
    pub(crate) parts: Vec<PastPart>,
    /// In order, for an answer.
    pub(crate) pieces: Vec<Piece>,
    /// Results of calls, with the name of the call.
    pub(crate) results: Vec<(Option<String>, PastResult)>,
    /// Kinds that nobody here knows.
    pub(crate) unknown: Vec<String>,
}

/// Reads the content of a message.
pub(crate) fn read(content: Option<&Value>) -> Blocks {
    let mut blocks = Blocks::default();
    match content {
        Some(Value::String(text)) => blocks.say(text),
        Some(Value::Array(list)) => list.iter().for_each(|block| blocks.add(block)),
        Some(block @ Value::Object(_)) => blocks.add(block),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {}
    }
    blocks
}

impl Blocks {
    fn say(&mut self, words: &str) {
        if !words.trim().is_empty() {
            let words: Arc<str> = words.into();
            self.parts.push(PastPart::Text(words.clone()));
            self.pieces.push(Piece::Text(words));
        }
    }

    fn think(&mut self, words: Option<&str>) {
        if let Some(words) = words.filter(|words| !words.trim().is_empty()) {
            self.pieces.push(Piece::Reasoning(words.into()));
        }
    }

    fn add(&mut self, block: &Value) {
        if let Some(words) = block.as_str() {
            return self.say(words);
        }
        let kind = text(block, "type").unwrap_or("text");
        match kind {
            "text" | "input_text" | "output_text" | "summary_text" => {
                self.say(text(block, "text").unwrap_or_default());
            }
            "refusal" => self.say(text(block, "refusal").unwrap_or_default()),
            "thinking" | "reasoning" | "reasoning_text" => {
                self.think(text(block, "thinking").or_else(|| text(block, "text")));
            }
            // Nobody but its provider can read it.
            "redacted_thinking" => {}
            "tool_use" | "server_tool_use" | "mcp_tool_use" => self.pieces.push(Piece::Call {
                id: owned(block, "id"),
                tool: owned(block, "name").unwrap_or_default(),
                arguments: arguments::of_value(block.get("input")),
                line: 0,
            }),
            "toolCall" => self.pieces.push(Piece::Call {
                id: owned(block, "id"),
                tool: owned(block, "name").unwrap_or_default(),
                arguments: arguments::of_value(block.get("arguments")),
                line: 0,
            }),
            kind if kind.ends_with("tool_result") => {
                self.results.push((owned(block, "tool_use_id"), result(block)));
            }
            "image" | "image_url" | "input_image" | "document" | "input_file" | "file" => {
                match file(block) {
                    Some(file) => self.parts.push(PastPart::File(file)),
                    None => self.elsewhere(block),
                }
            }
            other => self.unknown.push(other.to_owned()),
        }
    }

    /// A picture that is not in the file, but somewhere.
    fn elsewhere(&mut self, block: &Value) {
        let place = [&["image_url", "url"][..], &["image_url"], &["source", "url"], &["file_id"]];
        let place = place.iter().find_map(|path| at(block, path).and_then(Value::as_str));
        let is_text = at(block, &["source", "type"]).and_then(Value::as_str) == Some("text");
        let words = at(block, &["source", "data"]).and_then(Value::as_str).filter(|_| is_text);
        match (place, words) {
            (Some(place), _) => self.say(&format!("[a file that is not here: {place}]")),
            (None, Some(words)) => self.say(words),
            (None, None) => self.unknown.push(text(block, "type").unwrap_or("file").to_owned()),
        }
    }
}

/// The words of a message.
pub(crate) fn words_of(parts: &[PastPart]) -> String {
    let words = parts.iter().map(|part| match part {
        PastPart::Text(text) => text.to_string(),
        PastPart::File(file) => format!("[{}]", file.name),
    });
    words.collect::<Vec<_>>().join("\n")
}

/// What a result block says.
pub(crate) fn result(block: &Value) -> PastResult {
    let failed = is_true(block, "is_error") || is_true(block, "isError");
    of_content(block.get("content"), failed)
}

/// A result whose content is a text, blocks, or any other JSON.
pub(crate) fn of_content(content: Option<&Value>, failed: bool) -> PastResult {
    let blocks = read(content);
    let (mut words, mut files) = (Vec::new(), Vec::new());
    for part in blocks.parts {
        match part {
            PastPart::Text(text) => words.push(text.to_string()),
            PastPart::File(file) => files.push(file),
        }
    }
    // What is none of ours is still what the tool gave.
    if words.is_empty() && files.is_empty() {
        let rest = content.filter(|content| !matches!(content, Value::Null | Value::String(_)));
        words.extend(
            rest.filter(|rest| !items(Some(rest)).is_empty() || rest.is_object())
                .map(Value::to_string),
        );
    }
    PastResult { text: words.join("\n").into(), failed, files, at: None }
}

/// A file that is written into a block.
pub(crate) fn file(block: &Value) -> Option<PastFile> {
    let name = text(block, "filename").or_else(|| text(block, "file_name"));
    let name = name.or_else(|| text(block, "title")).or_else(|| text(block, "name"));
    let source = block.get("source").or_else(|| block.get("file")).unwrap_or(block);
    let data = ["data", "file_data", "url", "image_url"].iter().find_map(|key| text(source, key));
    let data = data.or_else(|| at(block, &["image_url", "url"]).and_then(Value::as_str))?;
    let media_type = ["media_type", "mimeType", "mime"].iter().find_map(|key| text(source, key));
    if let Some((said, content)) = data_url(data) {
        return Some(named(name, media_type.unwrap_or(&said), content));
    }
    if text(source, "type").is_some_and(|kind| kind == "text" || kind == "url") {
        return None;
    }
    let content = decoded(data)?;
    Some(named(name, media_type.unwrap_or("application/octet-stream"), content))
}

/// A file of this kind. One without a name gets one.
pub(crate) fn named(name: Option<&str>, media_type: &str, content: Vec<u8>) -> PastFile {
    let ending = media_type.rsplit('/').next().unwrap_or("bin");
    let name = name.map_or_else(|| format!("imported.{ending}"), ToOwned::to_owned);
    PastFile { name, media_type: media_type.to_owned(), content: content.into() }
}

/// The kind and the content of an address that holds its own content.
pub(crate) fn data_url(url: &str) -> Option<(String, Vec<u8>)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.split(';').next().filter(|kind| kind.contains('/'))?;
    let content = decoded(data)?;
    head.ends_with(";base64").then(|| (media_type.to_owned(), content))
}

/// What a text in base64 stands for; none if it is no such text, or stands for nothing.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let content = STANDARD.decode(&text).or_else(|_| URL_SAFE.decode(&text)).ok()?;
    Some(content).filter(|content| !content.is_empty())
}
