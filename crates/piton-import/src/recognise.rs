//! Which program wrote a file, by its content.
//!
//! Names of files are no evidence, and neither is one record: the first line can be torn, or of a side
//! kind.

use serde_json::Value;

use crate::fields::{at, items, text};
use crate::lines::{self, ZSTD, bare, without_mark};

/// How many bytes of a file are looked at.
pub(crate) const LOOK_BYTES: u64 = 1024 * 1024;
/// How many records that can be read are looked at.
const LOOK_RECORDS: usize = 40;
const SQLITE: &[u8] = b"SQLite format 3\0";

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Claude Code, a record per line.
    Claude,
    /// Codex, a record per line.
    Codex,
    /// The same, packed.
    CodexPacked,
    /// Gemini CLI, a change per line.
    Gemini,
    /// Gemini CLI of older versions: one object.
    GeminiObject,
    /// Qwen Code, a record per line.
    Qwen,
    /// pi, an entry per line.
    Pi,
    /// opencode, a database.
    OpencodeDatabase,
    /// What `opencode export` prints.
    OpencodeExport,
    /// opencode before 1.2: the file of a session beside directories with its messages.
    OpencodeTree,
    /// Messages of any provider: a list, an object around one, or one message per line.
    Messages,
}

impl Format {
    /// The program that writes it, as people call it.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex | Self::CodexPacked => "codex",
            Self::Gemini | Self::GeminiObject => "gemini-cli",
            Self::Qwen => "qwen-code",
            Self::Pi => "pi",
            Self::OpencodeDatabase | Self::OpencodeExport | Self::OpencodeTree => "opencode",
            Self::Messages => "messages",
        }
    }

    /// The name of the form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude-jsonl",
            Self::Codex => "codex-rollout",
            Self::CodexPacked => "codex-rollout-zstd",
            Self::Gemini => "gemini-jsonl",
            Self::GeminiObject => "gemini-json",
            Self::Qwen => "qwen-jsonl",
            Self::Pi => "pi-jsonl",
            Self::OpencodeDatabase => "opencode-sqlite",
            Self::OpencodeExport => "opencode-export",
            Self::OpencodeTree => "opencode-json-tree",
            Self::Messages => "messages",
        }
    }
}

/// What a file is that begins like this; none if nobody here knows.
pub(crate) fn recognise(beginning: &[u8]) -> Option<Format> {
    if beginning.starts_with(SQLITE) {
        return Some(Format::OpencodeDatabase);
    }
    if beginning.starts_with(&ZSTD) {
        return Some(Format::CodexPacked);
    }
    let beginning = without_mark(beginning);
    let mut records: Vec<Value> = beginning
        .split(|byte| *byte == b'\n')
        .map(bare)
        .filter(|line| !line.is_empty())
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(Value::is_object)
        .take(LOOK_RECORDS)
        .collect();
    if records.is_empty() {
        // Somebody has written them over several lines, or as one list.
        let spread = lines::spread(beginning).into_iter().map(|(_, record)| record);
        records = spread.take(LOOK_RECORDS).collect();
    }
    if let Some(format) = records.iter().find_map(of_record) {
        return Some(format);
    }
    if records.iter().any(is_message) {
        return Some(Format::Messages);
    }
    // A file of Claude Code can begin with lines that are only of side kinds.
    let is_side = |it: &Value| text(it, "sessionId").is_some() && text(it, "type").is_some();
    if records.iter().any(is_side) {
        return Some(Format::Claude);
    }
    of_whole(beginning)
}

/// What one record of a file of lines says about it.
fn of_record(record: &Value) -> Option<Format> {
    let has = |name: &str| record.get(name).is_some();
    let kind = text(record, "type");
    if kind.is_some() && record.get("payload").is_some_and(Value::is_object) {
        return Some(Format::Codex);
    }
    // Codex of mid-2025: its first line, then bare items.
    if kind.is_none() && has("id") && has("timestamp") && has("instructions") {
        return Some(Format::Codex);
    }
    let speaks = at(record, &["message", "role"]).is_some();
    if kind == Some("session") && has("cwd") && has("id") || kind == Some("message") && speaks {
        return Some(Format::Pi);
    }
    if has("sessionId") && has("projectHash") {
        return Some(if has("messages") { Format::GeminiObject } else { Format::Gemini });
    }
    if has("$set") || has("$rewindTo") || kind == Some("gemini") {
        return Some(Format::Gemini);
    }
    if has("sessionId") && at(record, &["message", "parts"]).is_some() {
        return Some(Format::Qwen);
    }
    if has("sessionId") && (has("isSidechain") || at(record, &["message", "content"]).is_some()) {
        return Some(Format::Claude);
    }
    of_object(record)
}

/// What one object says that holds a whole session.
fn of_object(object: &Value) -> Option<Format> {
    let is_session = |id: Option<&str>| id.is_some_and(|id| id.starts_with("ses_"));
    if is_session(at(object, &["info", "id"]).and_then(Value::as_str)) {
        return Some(Format::OpencodeExport);
    }
    if is_session(text(object, "id")) && object.get("time").is_some() {
        return Some(Format::OpencodeTree);
    }
    let is_of_opencode = |it: &Value| it.get("info").is_some() && it.get("parts").is_some();
    if items(object.get("messages")).iter().any(is_of_opencode) {
        return Some(Format::OpencodeExport);
    }
    if object.get("sessionId").is_some() && object.get("messages").is_some() {
        return Some(Format::GeminiObject);
    }
    None
}

fn is_message(record: &Value) -> bool {
    let wraps = ["messages", "input", "contents", "request", "body"];
    // A message of opencode is a file of its own, and only part of a session.
    let is_part = record.get("sessionID").is_some();
    text(record, "role").is_some() && !is_part
        || wraps
            .iter()
            .any(|name| record.get(name).is_some_and(|it| it.is_array() || it.is_object()))
}

/// A file that is not made of lines, as far as its beginning tells.
fn of_whole(beginning: &[u8]) -> Option<Format> {
    if let Ok(whole) = serde_json::from_slice::<Value>(beginning) {
        return match &whole {
            Value::Object(_) => {
                of_object(&whole).or_else(|| is_message(&whole).then_some(Format::Messages))
            }
            Value::Array(list) => {
                let is_one = |it: &Value| is_message(it) || text(it, "type").is_some();
                (list.is_empty() || list.iter().any(is_one)).then_some(Format::Messages)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
    }
    // Cut, or longer than what is looked at: its words have to do.
    let words = String::from_utf8_lossy(beginning);
    let has = |name: &str| words.contains(&format!("\"{name}\""));
    match words.trim_start().chars().next()? {
        '{' if words.contains("\"ses_") && has("info") => Some(Format::OpencodeExport),
        '{' if has("sessionId") && has("projectHash") => Some(Format::GeminiObject),
        '{' if has("messages") && has("gemini") => Some(Format::GeminiObject),
        '{' | '[' if has("parentUuid") && has("isSidechain") => Some(Format::Claude),
        '{' | '[' if has("parentUuid") => Some(Format::Qwen),
        '{' | '[' if has("parentId") => Some(Format::Pi),
        '{' | '[' if has("payload") && has("timestamp") => Some(Format::Codex),
        '{' | '[' if has("role") || has("function_call") => Some(Format::Messages),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_records_and_not_by_the_first_one() {
        let rows: [(&str, Option<Format>); 14] = [
            ("{\"type\":\"sess\n{\"type\":\"x\",\"payload\":{}}", Some(Format::Codex)),
            ("{\"id\":\"a\",\"timestamp\":\"b\",\"instructions\":null}", Some(Format::Codex)),
            ("{\"type\":\"session\",\"version\":3,\"id\":\"a\",\"cwd\":\"/\"}", Some(Format::Pi)),
            ("{\"sessionId\":\"a\",\"projectHash\":\"b\"}", Some(Format::Gemini)),
            (
                "{\"sessionId\":\"a\",\"projectHash\":\"b\",\"messages\":[]}",
                Some(Format::GeminiObject),
            ),
            ("{\"sessionId\":\"a\",\"message\":{\"parts\":[]}}", Some(Format::Qwen)),
            ("{\"type\":\"mode\",\"sessionId\":\"a\"}", Some(Format::Claude)),
            ("{\"info\":{\"id\":\"ses_1\"},\n\"messages\":[]}", Some(Format::OpencodeExport)),
            ("{\"id\":\"ses_1\",\"projectID\":\"p\",\"time\":{}}", Some(Format::OpencodeTree)),
            ("\u{feff}[\r\n{\"role\":\"user\",\"content\":\"a\"}\r\n]", Some(Format::Messages)),
            ("[{\"role\":\"user\",\"content\":\"cut he", Some(Format::Messages)),
            ("SQLite format 3\0", Some(Format::OpencodeDatabase)),
            ("hello", None),
            ("{\"a\":1}", None),
        ];
        for (text, format) in rows {
            assert_eq!(recognise(text.as_bytes()), format, "{text}");
        }
    }
}
