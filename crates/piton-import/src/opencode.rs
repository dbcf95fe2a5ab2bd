//! Sessions of opencode: one form of messages and parts, kept in three ways.

mod database;
mod tree;

use piton_core::event::ModelRef;
use piton_core::history::{PastPart, PastResult};
use serde_json::{Value, json};

pub(crate) use self::database::{digests, exports, sessions};
pub(crate) use self::tree::tree;
use crate::arguments;
use crate::blocks;
use crate::fields::{at, is_true, items, moment, owned, text};
use crate::lines;
use crate::markers::is_made_up;
use crate::record::{Piece, Stand, Story, What};

/// Parts that say nothing of the conversation itself.
const SIDE: [&str; 8] =
    ["step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry", "compaction"];

/// Reads a session as `opencode export` prints it.
pub(crate) fn read(bytes: &[u8], story: &mut Story) {
    let bytes = &*lines::readable(bytes, story);
    let whole = match serde_json::from_slice::<Value>(bytes) {
        Ok(whole) => whole,
        Err(error) => {
            let messages = lines::of_cut_list(bytes, &["messages"], &error, story);
            let messages: Vec<_> = messages.into_iter().map(|(_, message)| message).collect();
            json!({ "messages": messages })
        }
    };
    let info = whole.get("info").unwrap_or(&Value::Null);
    story.session = owned(info, "id");
    story.workspace = owned(info, "directory");
    story.title = owned(info, "title");
    story.version = owned(info, "version");
    if let Some(parent) = text(info, "parentID").or_else(|| text(info, "parent_id")) {
        story.is_of_sub_agent(Stand::default(), parent);
    }
    for damaged in items(whole.get("damaged")).iter().filter_map(Value::as_str) {
        story.remark("torn_line", Stand::default(), damaged);
    }
    let is_written = 1 < lines::breaks(bytes);
    let undone = at(info, &["revert", "messageID"]).and_then(Value::as_str);
    let messages = items(whole.get("messages"));
    let lines = lines::of_list(bytes, &["messages"], messages.len());
    for (line, message) in lines.into_iter().zip(messages) {
        // What was put together from rows or files has one line.
        let line = if is_written { line } else { 0 };
        let info = message.get("info").unwrap_or(&Value::Null);
        if undone.is_some() && text(info, "id") == undone {
            story.remark("other_branch", Stand::default(), "what was taken back is left out");
            break;
        }
        let stand = Stand { line, at: moment(at(info, &["time", "created"])) };
        match text(info, "role").unwrap_or_default() {
            "user" => user(items(message.get("parts")), stand, story),
            "assistant" => assistant(info, items(message.get("parts")), stand, story),
            other => story.unknown(&format!("role {other}"), 0),
        }
    }
}

fn user(parts: &[Value], stand: Stand, story: &mut Story) {
    let mut said = Vec::new();
    for part in parts {
        match text(part, "type").unwrap_or_default() {
            "text" => match text(part, "text") {
                Some(words) if is_true(part, "synthetic") => story.note(stand, words),
                Some(words) if !is_true(part, "ignored") && !words.trim().is_empty() => {
                    said.push(PastPart::Text(words.into()));
                }
                _ => {}
            },
            "file" => {
                if let Some(file) = file(part) {
                    said.push(PastPart::File(file));
                } else {
                    let name = text(part, "filename").or_else(|| text(part, "url"));
                    let name = name.unwrap_or("without a name");
                    story.remark("agent_note", stand, &format!("file {name}"));
                }
            }
            kind if SIDE.contains(&kind) => {}
            other => story.unknown(other, 0),
        }
    }
    story.say(stand, said);
}

fn file(part: &Value) -> Option<piton_core::history::PastFile> {
    let (said, content) = blocks::data_url(text(part, "url")?)?;
    Some(blocks::named(text(part, "filename"), text(part, "mime").unwrap_or(&said), content))
}

/// What an answer consists of, and how far it came.
#[derive(Default)]
struct Heard {
    pieces: Vec<Piece>,
    results: Vec<(Option<String>, PastResult)>,
    /// The last words, behind the last call.
    tail: String,
    /// Whether those have an end.
    tail_ended: bool,
    calls: usize,
}

fn assistant(info: &Value, parts: &[Value], stand: Stand, story: &mut Story) {
    let model = text(info, "modelID").map(|model| ModelRef {
        provider: text(info, "providerID").unwrap_or("opencode").to_owned(),
        model: model.to_owned(),
    });
    let mut heard = hear(parts, story);
    if is_true(info, "summary") {
        story.push(stand, What::Summary(heard.tail.into()));
        return;
    }
    let error = info.get("error").filter(|error| !error.is_null());
    let is_whole = at(info, &["time", "completed"]).is_some();
    let is_cut = error.is_some() || !is_whole && heard.calls == 0 || !heard.tail_ended && !is_whole;
    if is_cut && !heard.tail.trim().is_empty() {
        // Only what stands in front of the last call was whole.
        let last = heard.pieces.iter().rposition(|piece| matches!(piece, Piece::Call { .. }));
        heard.pieces.truncate(last.map_or(0, |last| last + 1));
    }
    let has_pieces = !heard.pieces.is_empty();
    if has_pieces || !is_cut {
        story.answer(stand, heard.pieces, model.clone());
    }
    for (id, result) in heard.results {
        let is_made_up = is_made_up(&result.text);
        story.push(stand, What::Result { id, tool: None, result, is_made_up });
    }
    let words = heard.tail.trim();
    let said = if words.is_empty() { String::new() } else { format!("; it had said: {words}") };
    if let Some(error) = error {
        let name = text(error, "name").unwrap_or("error");
        let why =
            at(error, &["data", "message"]).and_then(Value::as_str).unwrap_or("without words");
        let told = format!("{name}: {why}{said}");
        story.remark("failed_attempt", stand, &told);
        story.push(stand, What::Failed { message: told, model });
    } else if is_cut && !words.is_empty() {
        let told = format!("the answer was never finished{said}");
        story.remark("partial_text", stand, &told);
        story.push(stand, What::Failed { message: told, model });
    }
}

fn hear(parts: &[Value], story: &mut Story) -> Heard {
    let mut heard = Heard { tail_ended: true, ..Heard::default() };
    for part in parts {
        match text(part, "type").unwrap_or_default() {
            "text" => {
                let words = text(part, "text").unwrap_or_default();
                if !words.trim().is_empty() && !is_true(part, "ignored") {
                    heard.pieces.push(Piece::Text(words.into()));
                    words.clone_into(&mut heard.tail);
                    heard.tail_ended = at(part, &["time", "end"]).is_some();
                }
            }
            "reasoning" => {
                if let Some(words) = text(part, "text") {
                    heard.pieces.push(Piece::Reasoning(words.into()));
                }
            }
            "tool" => tool(part, &mut heard),
            kind if SIDE.contains(&kind) => {}
            other => story.unknown(other, 0),
        }
    }
    heard
}

fn tool(part: &Value, heard: &mut Heard) {
    let state = part.get("state").unwrap_or(&Value::Null);
    let id = owned(part, "callID");
    heard.calls += 1;
    heard.tail.clear();
    heard.tail_ended = true;
    heard.pieces.push(Piece::Call {
        id: id.clone(),
        tool: owned(part, "tool").unwrap_or_default(),
        arguments: arguments::of_value(state.get("input")),
        line: 0,
    });
    let (words, failed) = match text(state, "status").unwrap_or_default() {
        "completed" => (text(state, "output").unwrap_or_default(), false),
        "error" => (text(state, "error").unwrap_or("failed"), true),
        _ => return,
    };
    let files = items(state.get("attachments")).iter().filter_map(file).collect();
    let at = moment(at(state, &["time", "end"]));
    heard.results.push((id, PastResult { text: words.into(), failed, files, at }));
}
