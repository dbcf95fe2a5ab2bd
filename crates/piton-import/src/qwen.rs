//! Session files of Qwen Code: a tree of records with parts as Gemini writes them.

use piton_core::event::ModelRef;
use serde_json::Value;

use crate::blocks::{Blocks, words_of};
use crate::chain::{self, Node};
use crate::fields::{at, is_true, items, moment, owned, text};
use crate::lines;
use crate::markers::{is_made_up, is_note};
use crate::parts::{self, Given};
use crate::record::{Stand, Story, What};

/// Messages of these kinds are no person's.
const NOT_TYPED: [&str; 3] = ["notification", "cron", "agent_launch_prompt"];

/// Reads a file.
pub(crate) fn read(bytes: &[u8], story: &mut Story) {
    let mut records = lines::objects(bytes, story);
    chain::take_out_repeated(&mut records, "uuid", story);
    chain::take_side_for_main(&mut records, story);
    records.retain(|(_, record)| !is_true(record, "isSidechain"));
    let nodes: Vec<_> = records
        .iter()
        .map(|(_, it)| Node {
            id: owned(it, "uuid"),
            parent: owned(it, "parentUuid"),
            is_said: text(it, "type") == Some("user"),
        })
        .collect();
    let Some(leaf) = records.len().checked_sub(1) else { return };
    let chain = chain::walk(&nodes, leaf);
    for (line, _) in chain.gaps.iter().filter_map(|place| records.get(*place)) {
        let text = "the record before it is not in the file: lost, or a way back";
        story.remark("chain_gap", Stand::line(*line), text);
    }
    let mut left_out = 0;
    for (place, (line, record)) in records.iter().enumerate() {
        look(record, story);
        if chain.places.contains(&place) {
            add(record, Stand { line: *line, at: moment(record.get("timestamp")) }, story);
        } else if text(record, "type") != Some("system") {
            left_out += 1;
        }
    }
    if 0 < left_out {
        let text = format!("records that were left there: {left_out}");
        story.remark("other_branch", Stand::default(), &text);
    }
}

fn look(record: &Value, story: &mut Story) {
    story.session = story.session.take().or_else(|| owned(record, "sessionId"));
    story.workspace = story.workspace.take().or_else(|| owned(record, "cwd"));
    story.version = owned(record, "version").or(story.version.take());
}

fn add(record: &Value, stand: Stand, story: &mut Story) {
    let (Blocks { parts, pieces, unknown, .. }, given) =
        parts::read(at(record, &["message", "parts"]));
    story.unknown_all(&unknown, stand.line);
    for Given { id, tool, mut result } in given {
        result.at = stand.at;
        let is_made_up = is_made_up(&result.text);
        story.push(stand, What::Result { id, tool, result, is_made_up });
    }
    match text(record, "type").unwrap_or_default() {
        "user" => {
            let words = words_of(&parts);
            let subtype = text(record, "subtype").unwrap_or_default();
            if NOT_TYPED.contains(&subtype) || is_note(&words) {
                story.note(stand, &words);
            } else {
                story.say(stand, parts);
            }
        }
        "assistant" => {
            let model = text(record, "model")
                .map(|model| ModelRef { provider: "qwen".to_owned(), model: model.to_owned() });
            story.answer(stand, pieces, model);
        }
        "tool_result" => {}
        "system" => system(record, stand, story),
        other => story.unknown(other, stand.line),
    }
}

fn system(record: &Value, stand: Stand, story: &mut Story) {
    let payload = record.get("systemPayload");
    match text(record, "subtype").unwrap_or_default() {
        "ui_telemetry" => {
            let event = payload.and_then(|payload| payload.get("uiEvent")).unwrap_or(&Value::Null);
            if text(event, "event.name") == Some("qwen-code.api_error") {
                let message = text(event, "error_message").or_else(|| text(event, "error"));
                let message = format!("api_error {}", message.unwrap_or("without words"));
                story.fail(stand, &message);
            }
        }
        "chat_compression" => {
            let history = payload.and_then(|payload| payload.get("compressedHistory"));
            let words = items(history).iter().map(|message| {
                let (blocks, _) = parts::read(message.get("parts").or(Some(message)));
                words_of(&blocks.parts)
            });
            let words = words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("\n\n");
            story.push(stand, What::Summary(words.into()));
        }
        "custom_title" => {
            let title = payload.and_then(|payload| {
                owned(payload, "customTitle").or_else(|| owned(payload, "title"))
            });
            story.title = title.or(story.title.take());
        }
        // Timing, snapshots, commands to the agent itself: links of the chain, and nothing more.
        _ => {}
    }
}
