//! Session files of pi: a tree of entries.

use piton_core::event::ModelRef;
use serde_json::Value;

use crate::blocks::{self, Blocks, words_of};
use crate::chain::{self, Node};
use crate::fields::{at, moment, owned, text};
use crate::lines;
use crate::markers::is_made_up;
use crate::record::{Piece, Stand, Story, What};

/// Reads a file.
pub(crate) fn read(bytes: &[u8], story: &mut Story) {
    let mut entries = lines::objects(bytes, story);
    chain::take_out_repeated(&mut entries, "id", story);
    for (_, entry) in entries.iter().filter(|(_, entry)| text(entry, "type") == Some("session")) {
        story.session = story.session.take().or_else(|| owned(entry, "id"));
        story.workspace = story.workspace.take().or_else(|| owned(entry, "cwd"));
        let version = entry.get("version").map(|version| format!("format {version}"));
        story.version = story.version.take().or(version);
    }
    entries.retain(|(_, entry)| text(entry, "type") != Some("session"));
    let Some(leaf) = entries.len().checked_sub(1) else { return };
    // The first version is a plain list.
    let is_tree = entries.iter().any(|(_, entry)| text(entry, "parentId").is_some());
    let nodes: Vec<_> = entries
        .iter()
        .map(|(_, it)| Node {
            id: owned(it, "id"),
            parent: owned(it, "parentId"),
            is_said: at(it, &["message", "role"]).and_then(Value::as_str) == Some("user"),
        })
        .collect();
    let chain = chain::walk(&nodes, leaf);
    for (line, _) in chain.gaps.iter().filter_map(|place| entries.get(*place)) {
        story.remark("chain_gap", Stand::line(*line), "the entry before it is not in the file");
    }
    let mut left_out = 0;
    for (place, (line, entry)) in entries.iter().enumerate() {
        let stand = Stand { line: *line, at: moment(entry.get("timestamp")) };
        if !is_tree || chain.places.contains(&place) {
            add(entry, stand, story);
        } else if text(entry, "type") == Some("message") {
            left_out += 1;
        }
    }
    if 0 < left_out {
        let text = format!("messages that were left there: {left_out}");
        story.remark("other_branch", Stand::default(), &text);
    }
}

fn add(entry: &Value, stand: Stand, story: &mut Story) {
    match text(entry, "type").unwrap_or_default() {
        "message" => message(entry.get("message").unwrap_or(entry), stand, story),
        "compaction" => {
            let words = text(entry, "summary").unwrap_or("(without words)");
            story.push(stand, What::Summary(words.into()));
        }
        "branch_summary" => {
            story.remark("agent_note", stand, text(entry, "summary").unwrap_or_default());
        }
        "custom_message" => {
            let words = words_of(&blocks::read(entry.get("content")).parts);
            story.remark("agent_note", stand, &words);
        }
        "session_info" => story.title = owned(entry, "name").or(story.title.take()),
        "model_change" | "thinking_level_change" | "custom" | "label" => {}
        other => story.unknown(other, stand.line),
    }
}

fn message(message: &Value, stand: Stand, story: &mut Story) {
    match text(message, "role").unwrap_or_default() {
        "user" => {
            let Blocks { parts, unknown, .. } = blocks::read(message.get("content"));
            story.unknown_all(&unknown, stand.line);
            story.say(stand, parts);
        }
        "assistant" => assistant(message, stand, story),
        "toolResult" => {
            let mut result = blocks::result(message);
            result.at = stand.at;
            let is_made_up = is_made_up(&result.text);
            let (id, tool) = (owned(message, "toolCallId"), owned(message, "toolName"));
            story.push(stand, What::Result { id, tool, result, is_made_up });
        }
        "bashExecution" => {
            let command = text(message, "command").unwrap_or_default();
            let output = text(message, "output").unwrap_or_default();
            story.remark("agent_note", stand, &format!("the person ran: {command}\n{output}"));
        }
        "custom" | "hookMessage" | "branchSummary" | "compactionSummary" => {
            let words = words_of(&blocks::read(message.get("content")).parts);
            let words = text(message, "summary").map_or(words, ToOwned::to_owned);
            story.remark("agent_note", stand, &words);
        }
        other => story.unknown(&format!("role {other}"), stand.line),
    }
}

fn assistant(message: &Value, stand: Stand, story: &mut Story) {
    let Blocks { parts, pieces, unknown, .. } = blocks::read(message.get("content"));
    story.unknown_all(&unknown, stand.line);
    let model = text(message, "model").map(|model| ModelRef {
        provider: text(message, "provider").unwrap_or("pi").to_owned(),
        model: model.to_owned(),
    });
    let stop = text(message, "stopReason").unwrap_or_default();
    if matches!(stop, "error" | "aborted") {
        let error = text(message, "errorMessage").unwrap_or("without words");
        let words = words_of(&parts);
        let calls = pieces.iter().filter(|piece| matches!(piece, Piece::Call { .. })).count();
        let asked = if calls == 0 {
            String::new()
        } else {
            format!(", with {calls} calls that were not run")
        };
        let said = if words.is_empty() { String::new() } else { format!("; it had said: {words}") };
        let told = format!("{stop}: {error}{asked}{said}");
        story.remark("failed_attempt", stand, &told);
        story.push(stand, What::Failed { message: told, model });
        return;
    }
    story.answer(stand, pieces, model);
}
