//! Session files of Claude Code: a tree of records, one for each block of an answer.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::event::ModelRef;
use piton_core::history::PastPart;
use serde_json::Value;

use crate::blocks::{self, Blocks, words_of};
use crate::chain::{self, Node};
use crate::fields::{at, is_true, items, moment, owned, text};
use crate::lines;
use crate::markers::{is_filler, is_made_up, is_note};
use crate::record::{Piece, Stand, Story, What};

/// Kinds that say nothing of the conversation itself.
const SIDE: [&str; 8] = [
    "queue-operation",
    "last-prompt",
    "mode",
    "attachment",
    "system",
    "file-history-snapshot",
    "progress",
    "permission-mode",
];

/// Reads a file.
pub(crate) fn read(bytes: &[u8], story: &mut Story) {
    let mut records = lines::objects(bytes, story);
    chain::take_out_repeated(&mut records, "uuid", story);
    chain::take_side_for_main(&mut records, story);
    for (line, record) in &records {
        look(*line, record, story);
    }
    let on_line = main_line(&records, story);
    // Where the answer of each message id began.
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    for (line, record) in on_line.iter().filter_map(|place| records.get(*place)) {
        let stand = Stand { line: *line, at: moment(record.get("timestamp")) };
        match text(record, "type") {
            Some("user") => user(record, stand, story),
            Some("assistant") => assistant(record, stand, story, &mut answers),
            _ => {}
        }
    }
}

/// What a record says of the session as a whole.
fn look(line: u64, record: &Value, story: &mut Story) {
    let kind = text(record, "type").unwrap_or_default();
    if let Some(session) = text(record, "sessionId") {
        story.session.get_or_insert_with(|| session.to_owned());
    }
    if let Some(directory) = text(record, "cwd") {
        story.workspace.get_or_insert_with(|| directory.to_owned());
    }
    story.version = owned(record, "version").or(story.version.take());
    match kind {
        "user" | "assistant" => {}
        "summary" => story.title = owned(record, "summary"),
        "custom-title" | "ai-title" => {
            story.title = owned(record, "customTitle").or_else(|| owned(record, "title"));
        }
        kind if SIDE.contains(&kind) => {}
        other => story.unknown(other, line),
    }
}

fn is_spoken(record: &Value) -> bool {
    matches!(text(record, "type"), Some("user" | "assistant")) && !is_true(record, "isSidechain")
}

/// Whether a person says something: results stand in records of the same kind.
fn is_said(record: &Value) -> bool {
    let content = at(record, &["message", "content"]);
    let is_result = |block: &Value| text(block, "type") == Some("tool_result");
    text(record, "type") == Some("user")
        && (content.is_some_and(Value::is_string) || !items(content).iter().all(is_result))
}

/// The records from the first one to the newest leaf, with everything that belongs to them: calls that
/// were asked for together branch as well.
fn main_line(records: &[(u64, Value)], story: &mut Story) -> BTreeSet<usize> {
    let Some(leaf) = records.iter().rposition(|(_, record)| is_spoken(record)) else {
        return BTreeSet::new();
    };
    let nodes: Vec<_> = records
        .iter()
        .map(|(_, record)| Node {
            id: owned(record, "uuid"),
            parent: owned(record, "parentUuid").or_else(|| owned(record, "logicalParentUuid")),
            is_said: is_said(record),
        })
        .collect();
    let chain = chain::walk(&nodes, leaf);
    for place in &chain.gaps {
        if let Some((line, _)) = records.get(*place) {
            let text = "the record before it is not in the file";
            story.remark("chain_gap", Stand::line(*line), text);
        }
    }
    let mut on_line = chain.places;
    let message_of = |record: &Value| {
        at(record, &["message", "id"]).and_then(Value::as_str).map(ToOwned::to_owned)
    };
    let messages: BTreeSet<_> =
        on_line.iter().filter_map(|place| message_of(&records.get(*place)?.1)).collect();
    for (place, (_, record)) in records.iter().enumerate() {
        if is_spoken(record) && message_of(record).is_some_and(|id| messages.contains(&id)) {
            on_line.insert(place);
        }
    }
    let calls: BTreeSet<_> = on_line
        .iter()
        .filter_map(|place| records.get(*place))
        .flat_map(|(_, record)| items(at(record, &["message", "content"])))
        .filter(|block| text(block, "type") == Some("tool_use"))
        .filter_map(|block| owned(block, "id"))
        .collect();
    let answers_one = |record: &Value| {
        let blocks = items(at(record, &["message", "content"])).iter();
        let mut named = blocks.filter_map(|block| text(block, "tool_use_id"));
        named.any(|id| calls.contains(id))
    };
    for (place, (_, record)) in records.iter().enumerate() {
        if is_spoken(record) && answers_one(record) {
            on_line.insert(place);
        }
    }
    tell_left_out(records, &on_line, story);
    on_line.retain(|place| records.get(*place).is_some_and(|(_, record)| is_spoken(record)));
    on_line
}

/// Says what lies beside the line: branches that were left, and work of sub-agents.
fn tell_left_out(records: &[(u64, Value)], on_line: &BTreeSet<usize>, story: &mut Story) {
    let beside = |side: bool| {
        let is_kind = move |record: &Value| {
            matches!(text(record, "type"), Some("user" | "assistant"))
                && is_true(record, "isSidechain") == side
        };
        let all = records.iter().enumerate();
        all.filter(move |(place, (_, record))| is_kind(record) && !on_line.contains(place))
    };
    for (side, kind) in [(false, "other_branch"), (true, "sub_agent")] {
        let count = beside(side).count();
        if let Some((_, (line, _))) = beside(side).next() {
            story.remark(kind, Stand::line(*line), &format!("records: {count}"));
        }
    }
}

fn user(record: &Value, stand: Stand, story: &mut Story) {
    let Blocks { parts, results, unknown, .. } = blocks::read(at(record, &["message", "content"]));
    story.unknown_all(&unknown, stand.line);
    for (id, mut result) in results {
        let is_made_up = is_made_up(&result.text);
        result.at = stand.at;
        story.push(stand, What::Result { id, tool: None, result, is_made_up });
    }
    let words = words_of(&parts);
    if is_true(record, "isCompactSummary") {
        story.push(stand, What::Summary(words.into()));
    } else if is_true(record, "isMeta") {
        story.note(stand, &words);
    } else {
        let (notes, said) = parts.into_iter().partition::<Vec<_>, _>(is_note_part);
        for part in &notes {
            story.note(stand, &words_of(std::slice::from_ref(part)));
        }
        story.say(stand, said);
    }
}

fn is_note_part(part: &PastPart) -> bool {
    matches!(part, PastPart::Text(text) if is_note(text))
}

fn assistant(
    record: &Value,
    stand: Stand,
    story: &mut Story,
    answers: &mut BTreeMap<String, usize>,
) {
    let message = record.get("message").unwrap_or(record);
    let Blocks { parts, mut pieces, results, unknown, .. } = blocks::read(message.get("content"));
    story.unknown_all(&unknown, stand.line);
    let words = words_of(&parts);
    let is_error = is_true(record, "isApiErrorMessage") || words.starts_with("API Error:");
    if text(message, "model") == Some("<synthetic>") || is_error && is_filler(&words) {
        story.remark("agent_made_message", stand, &words);
        if is_error {
            story.push(stand, What::Failed { message: words, model: None });
        }
        return;
    }
    for piece in &mut pieces {
        if let Piece::Call { line, .. } = piece {
            *line = stand.line;
        }
    }
    let model = text(message, "model")
        .map(|model| ModelRef { provider: "anthropic".to_owned(), model: model.to_owned() });
    let known = text(message, "id").and_then(|id| answers.get(id)).copied();
    let before =
        known.and_then(|place| story.records.get_mut(place)).map(|record| &mut record.what);
    if let Some(What::Answer { pieces: before, .. }) = before {
        before.append(&mut pieces);
    } else {
        if let Some(id) = text(message, "id") {
            answers.insert(id.to_owned(), story.records.len());
        }
        story.answer(stand, pieces, model);
    }
    for (id, result) in results {
        story.push(stand, What::Result { id, tool: None, result, is_made_up: false });
    }
}
