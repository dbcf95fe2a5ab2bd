//! Files of Gemini CLI: a log of changes, which has to be played again.

use std::collections::BTreeMap;
use std::path::Path;

use piton_core::event::ModelRef;
use piton_core::history::{PastPart, PastResult};
use serde_json::Value;

use crate::arguments;
use crate::blocks::{Blocks, words_of};
use crate::fields::{items, moment, owned, text};
use crate::lines;
use crate::markers::{is_made_up, is_note};
use crate::parts::{self, Given};
use crate::record::{Piece, Stand, Story, What};

/// Longest path of a project that is believed, in bytes.
const ROOT_BYTES_MAX: u64 = 4096;

/// A message, with the line that said it last.
type Message = (u64, Value);

/// Reads a file of changes.
pub(crate) fn read(bytes: &[u8], story: &mut Story) {
    let (mut messages, mut fullest): (Vec<Message>, Vec<Message>) = (Vec::new(), Vec::new());
    for (line, record) in lines::objects(bytes, story) {
        if let Some(set) = record.get("$set") {
            head(set, story);
            if let Some(list) = set.get("messages").and_then(Value::as_array) {
                if spoken(&fullest) <= spoken(&messages) {
                    fullest.clone_from(&messages);
                }
                messages = list.iter().map(|message| (line, message.clone())).collect();
            }
        } else if let Some(id) = text(&record, "$rewindTo") {
            let place = messages.iter().position(|(_, it)| text(it, "id") == Some(id));
            messages.truncate(place.unwrap_or(0));
            story.remark("other_branch", Stand::line(line), "the person went back");
        } else if record.get("projectHash").is_some() {
            head(&record, story);
        } else if let Some(id) = text(&record, "id") {
            match messages.iter_mut().find(|(_, it)| text(it, "id") == Some(id)) {
                Some(known) => *known = (line, record),
                None => messages.push((line, record)),
            }
        } else {
            story.unknown(text(&record, "type").unwrap_or_default(), line);
        }
    }
    // At a start the agent writes a list without the conversation first; one that is cut there ends with it.
    if spoken(&messages) == 0 && 0 < spoken(&fullest) {
        story.remark(
            "restored_list",
            Stand::default(),
            "the last list of the file holds nothing; the one before it counts",
        );
        messages = fullest;
    } else if spoken(&messages) < spoken(&fullest) {
        story.remark(
            "compaction",
            Stand::default(),
            "the file replaces a longer list of messages by a shorter one",
        );
    }
    play(&messages, story);
}

/// Reads a file that is one object.
pub(crate) fn read_object(bytes: &[u8], story: &mut Story) {
    let bytes = &*lines::readable(bytes, story);
    match serde_json::from_slice::<Value>(bytes) {
        Ok(whole) => {
            head(&whole, story);
            let messages = items(whole.get("messages"));
            let lines = lines::of_list(bytes, &["messages"], messages.len());
            let messages = lines.into_iter().zip(messages.iter().cloned());
            play(&messages.collect::<Vec<_>>(), story);
        }
        Err(error) => {
            let told = story.remarks.len();
            let messages = lines::of_cut_list(bytes, &["messages"], &error, story);
            if messages.is_empty() {
                story.remarks.truncate(told);
                return read(bytes, story);
            }
            play(&messages, story);
        }
    }
}

/// Where the project lies, as a file beside the chats says.
pub(crate) fn workspace_beside(path: &Path) -> Option<String> {
    let root = path.parent()?.parent()?.join(".project_root");
    let bytes = lines::beginning(&root, ROOT_BYTES_MAX).ok()?;
    let text = String::from_utf8(bytes).ok()?.trim().to_owned();
    Some(text).filter(|text| text.starts_with('/'))
}

fn head(record: &Value, story: &mut Story) {
    story.session = story.session.take().or_else(|| owned(record, "sessionId"));
    story.title = owned(record, "summary").or(story.title.take());
}

/// How many messages of a person a list has.
fn spoken(messages: &[Message]) -> usize {
    let said = |(_, message): &&Message| {
        let (Blocks { parts, .. }, _) = parts::read(message.get("content"));
        text(message, "type") == Some("user") && parts.iter().any(|part| !is_not_typed(part))
    };
    messages.iter().filter(said).count()
}

/// What no person typed, and commands to the agent itself.
fn is_not_typed(part: &PastPart) -> bool {
    matches!(part, PastPart::Text(text) if {
        let text = text.trim_start();
        is_note(text) || text.starts_with('/') || text.starts_with('?')
    })
}

fn play(messages: &[Message], story: &mut Story) {
    let mut given_in_calls: BTreeMap<String, (u32, Stand)> = BTreeMap::new();
    for (line, message) in messages {
        let stand = Stand { line: *line, at: moment(message.get("timestamp")) };
        match text(message, "type").unwrap_or_default() {
            "user" => user(message, stand, story, &mut given_in_calls),
            "gemini" => answer(message, stand, story, &mut given_in_calls),
            "error" => {
                let (blocks, _) = parts::read(message.get("content"));
                story.fail(stand, &words_of(&blocks.parts));
            }
            "info" | "warning" => {
                let (blocks, _) = parts::read(message.get("content"));
                story.remark("agent_note", stand, &words_of(&blocks.parts));
            }
            other => story.unknown(other, stand.line),
        }
    }
    for (id, (times, stand)) in given_in_calls.into_iter().filter(|(_, (times, _))| 1 < *times) {
        story.remark("duplicate_result", stand, &format!("{id}: {times} results"));
    }
}

/// A message of a person, or the results of calls. Results are here for the second time, as a rule.
fn user(
    message: &Value,
    stand: Stand,
    story: &mut Story,
    known: &mut BTreeMap<String, (u32, Stand)>,
) {
    let (Blocks { parts, unknown, .. }, given) = parts::read(message.get("content"));
    story.unknown_all(&unknown, stand.line);
    for Given { id, tool, mut result } in given {
        if let Some((times, last)) = id.as_ref().and_then(|id| known.get_mut(id)) {
            *times += 1;
            *last = stand;
            continue;
        }
        result.at = stand.at;
        let is_made_up = is_made_up(&result.text);
        story.push(stand, What::Result { id, tool, result, is_made_up });
    }
    let (notes, said) = parts.into_iter().partition::<Vec<_>, _>(is_not_typed);
    if !notes.is_empty() {
        story.note(stand, &words_of(&notes));
    }
    story.say(stand, said);
}

fn answer(
    message: &Value,
    stand: Stand,
    story: &mut Story,
    known: &mut BTreeMap<String, (u32, Stand)>,
) {
    let (Blocks { pieces, unknown, .. }, _) = parts::read(message.get("content"));
    story.unknown_all(&unknown, stand.line);
    let calls = items(message.get("toolCalls"));
    let is_listed = |piece: &Piece| match piece {
        Piece::Call { id, .. } => calls.iter().any(|call| owned(call, "id") == *id),
        Piece::Text(_) | Piece::Reasoning(_) => false,
    };
    let thoughts = items(message.get("thoughts")).iter().filter_map(|thought| {
        let said = [text(thought, "subject"), text(thought, "description")];
        let said: Vec<_> = said.into_iter().flatten().collect();
        (!said.is_empty()).then(|| Piece::Reasoning(said.join(": ").into()))
    });
    let mut all: Vec<_> = thoughts.collect();
    all.extend(pieces.into_iter().filter(|piece| !is_listed(piece)));
    all.extend(calls.iter().map(|call| Piece::Call {
        id: owned(call, "id"),
        tool: owned(call, "name").unwrap_or_default(),
        arguments: arguments::of_value(call.get("args")),
        line: 0,
    }));
    let model = text(message, "model")
        .map(|model| ModelRef { provider: "gemini".to_owned(), model: model.to_owned() });
    story.answer(stand, all, model);
    for call in calls {
        let Some(result) = call.get("result").filter(|result| !result.is_null()) else { continue };
        let (blocks, mut given) = parts::read(Some(result));
        let mut result = match given.pop() {
            Some(given) => given.result,
            None => PastResult { text: words_of(&blocks.parts).into(), ..PastResult::default() },
        };
        result.failed |= text(call, "status") == Some("error");
        result.at = moment(call.get("timestamp")).or(stand.at);
        let (id, tool) = (owned(call, "id"), owned(call, "name"));
        let is_made_up = is_made_up(&result.text);
        if let Some(id) = &id {
            known.entry(id.clone()).or_insert((0, stand));
        }
        story.push(stand, What::Result { id, tool, result, is_made_up });
    }
}
