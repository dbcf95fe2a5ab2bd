//! Rollout files of Codex, and single items as `OpenAI`'s Responses take them.

use piton_core::event::ModelRef;
use piton_core::history::{PastPart, PastResult};
use serde_json::Value;

use crate::arguments::{self, Arguments};
use crate::blocks::{self, Blocks, words_of};
use crate::fields::{at, items, moment, owned, text};
use crate::lines;
use crate::markers::{is_made_up, is_note};
use crate::record::{Joins, Piece, Stand, Story, What};

/// What is said of work that the provider did itself: its result is not in the file.
const BY_PROVIDER: &str = "(done by the provider; its result is not in the file)";

/// Kinds of lines that say nothing of the conversation itself.
const SIDE: [&str; 3] = ["world_state", "token_usage_record", "inter_agent_communication"];

/// Reads a file.
pub(crate) fn read(bytes: &[u8], story: &mut Story) {
    let mut model = None;
    for (line, record) in lines::objects(bytes, story) {
        let stand = Stand { line, at: moment(record.get("timestamp")) };
        let Some(payload) = record.get("payload").filter(|it| it.is_object()) else {
            bare(&record, stand, model.as_ref(), story);
            continue;
        };
        match text(&record, "type").unwrap_or_default() {
            "session_meta" => meta(payload, stand, story),
            "turn_context" => {
                let named = text(payload, "model")
                    .map(|name| ModelRef { provider: "openai".to_owned(), model: name.to_owned() });
                model = named.or(model);
            }
            "response_item" if at(&record, &["metadata", "compaction_output"]).is_some() => {
                story.note(stand, &words_of(&blocks::read(payload.get("content")).parts));
            }
            "response_item" => item(payload, stand, model.as_ref(), story),
            "compacted" => {
                let words = text(payload, "message").unwrap_or("(without words)");
                story.push(stand, What::Summary(words.into()));
            }
            "event_msg" => event(payload, stand, story),
            kind if SIDE.contains(&kind) => {}
            other => story.unknown(other, line),
        }
    }
}

/// A line of mid-2025: what the session is, or an item without an envelope.
fn bare(record: &Value, stand: Stand, model: Option<&ModelRef>, story: &mut Story) {
    if text(record, "type").is_some() {
        item(record, stand, model, story);
    } else if record.get("instructions").is_some() {
        meta(record, stand, story);
    } else if text(record, "record_type").is_none() {
        story.unknown("", stand.line);
    }
}

fn meta(payload: &Value, stand: Stand, story: &mut Story) {
    // A forked file holds copies of those in front of it.
    if story.session.is_some() {
        return;
    }
    story.session = owned(payload, "id");
    story.workspace = owned(payload, "cwd");
    story.version = owned(payload, "cli_version");
    let prompt =
        at(payload, &["base_instructions", "text"]).or_else(|| payload.get("instructions"));
    let prompt = prompt.or_else(|| payload.get("base_instructions")).and_then(Value::as_str);
    if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
        story.remark("system_prompt", stand, prompt);
    }
    if let Some(base) = payload.get("history_base").filter(|base| !base.is_null()) {
        let thread = text(base, "thread_id").unwrap_or("another thread");
        let words = format!("the conversation begins in the file of {thread}");
        story.remark("missing_beginning", stand, &words);
    }
    if at(payload, &["source", "subagent"]).is_some() {
        story.is_of_sub_agent(stand, text(payload, "parent_thread_id").unwrap_or_default());
    }
}

/// Adds an item of a conversation.
pub(crate) fn item(item: &Value, stand: Stand, model: Option<&ModelRef>, story: &mut Story) {
    let id = || owned(item, "call_id").or_else(|| owned(item, "id"));
    match text(item, "type").unwrap_or("message") {
        "message" => message(item, stand, model, story),
        "reasoning" => {
            let summary = blocks::read(item.get("summary")).parts;
            let shown = if summary.is_empty() { reasoning_in(item) } else { words_of(&summary) };
            let pieces =
                if shown.is_empty() { Vec::new() } else { vec![Piece::Reasoning(shown.into())] };
            // Without words there is only what no other provider can read.
            if !pieces.is_empty() {
                answer(pieces, stand, model, story);
            }
        }
        "function_call" => {
            let given = arguments::of_value(item.get("arguments"));
            call(item, (id(), given), stand, model, story);
        }
        "custom_tool_call" => {
            let input = arguments::raw(text(item, "input").unwrap_or_default());
            call(item, (id(), input), stand, model, story);
        }
        "local_shell_call" => {
            let given = arguments::of_value(item.get("action"));
            call(item, (id(), given), stand, model, story);
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            output(item, id(), stand, story);
        }
        kind @ ("web_search_call"
        | "tool_search_call"
        | "image_generation_call"
        | "file_search_call") => {
            let id = id().unwrap_or_else(|| format!("line-{}", stand.line));
            let input = arguments::of_value(item.get("action").or_else(|| item.get("arguments")));
            call(item, (Some(id.clone()), input), stand, model, story);
            let result = PastResult { text: BY_PROVIDER.into(), ..PastResult::default() };
            let tool = Some(kind.to_owned());
            story.push(stand, What::Result { id: Some(id), tool, result, is_made_up: false });
        }
        // Encrypted: only its provider can read it, and the line `compacted` says the same in words.
        "compaction" | "compaction_summary" | "ghost_snapshot" => {}
        other => story.unknown(other, stand.line),
    }
}

fn answer(pieces: Vec<Piece>, stand: Stand, model: Option<&ModelRef>, story: &mut Story) {
    let (model, joins) = (model.cloned(), Joins::TheOneBefore);
    story.push(stand, What::Answer { pieces, model, joins });
}

fn reasoning_in(item: &Value) -> String {
    let texts = items(item.get("content")).iter().filter_map(|block| text(block, "text"));
    texts.collect::<Vec<_>>().join("\n")
}

fn call(
    item: &Value,
    (id, arguments): (Option<String>, Arguments),
    stand: Stand,
    model: Option<&ModelRef>,
    story: &mut Story,
) {
    let kind = text(item, "type").unwrap_or_default();
    let tool = match (text(item, "name"), kind) {
        (Some(name), _) => name.to_owned(),
        (None, "function_call" | "custom_tool_call") => String::new(),
        (None, kind) => kind.trim_end_matches("_call").to_owned(),
    };
    answer(vec![Piece::Call { id, tool, arguments, line: 0 }], stand, model, story);
}

fn output(item: &Value, id: Option<String>, stand: Stand, story: &mut Story) {
    let output = item.get("output");
    let inner = output.and_then(|output| output.get("content")).or(output);
    let failed = output.and_then(|output| output.get("success")).and_then(Value::as_bool);
    let mut result = blocks::of_content(inner, failed == Some(false));
    result.at = stand.at;
    let is_made_up = is_made_up(&result.text);
    story.push(stand, What::Result { id, tool: None, result, is_made_up });
}

fn message(item: &Value, stand: Stand, model: Option<&ModelRef>, story: &mut Story) {
    let Blocks { parts, pieces, unknown, .. } = blocks::read(item.get("content"));
    story.unknown_all(&unknown, stand.line);
    match text(item, "role").unwrap_or_default() {
        "assistant" => answer(pieces, stand, model, story),
        "user" => {
            let parts: Vec<_> = parts.into_iter().filter(|part| !is_wrap(part)).collect();
            if is_of_person(item, &parts) {
                story.say(stand, parts);
            } else {
                story.note(stand, &words_of(&parts));
            }
        }
        _ => story.note(stand, &words_of(&parts)),
    }
}

/// Whether a person said it. Newer files say so themselves.
fn is_of_person(item: &Value, parts: &[PastPart]) -> bool {
    let kinds = at(item, &["internal_chat_message_metadata_passthrough", "content_item_kinds"]);
    let mut kinds =
        items(kinds).iter().filter_map(Value::as_str).filter(|kind| *kind != "unknown").peekable();
    if kinds.peek().is_some() {
        return kinds.any(|kind| kind.starts_with("user."));
    }
    !matches!(parts.first(), Some(PastPart::Text(text)) if is_note(text))
}

/// Words around a picture.
fn is_wrap(part: &PastPart) -> bool {
    matches!(part, PastPart::Text(text) if {
        let text = text.trim();
        text == "</image>" || text.starts_with("<image") && text.ends_with('>')
    })
}

/// What happened to the turn. What was said stands in the items; the events only repeat it.
fn event(payload: &Value, stand: Stand, story: &mut Story) {
    match text(payload, "type").unwrap_or_default() {
        "task_complete" => {
            let error = payload.get("error").filter(|error| !error.is_null());
            let message = error.map(|error| text(error, "message").unwrap_or("failed"));
            if let Some(message) = message {
                story.fail(stand, &format!("task_complete with error: {message}"));
            }
        }
        "turn_aborted" => {
            let reason = text(payload, "reason").unwrap_or("no reason is said");
            story.fail(stand, &format!("turn aborted: {reason}"));
        }
        "error" | "stream_error" => {
            let message = text(payload, "message").unwrap_or("no words are said");
            story.remark("error_recorded", stand, message);
        }
        "thread_rolled_back" => {
            let turns = payload.get("num_turns").and_then(Value::as_u64).unwrap_or(1);
            roll_back(turns, stand, story);
        }
        _ => {}
    }
}

/// Takes the last turns away: the person went back.
fn roll_back(turns: u64, stand: Stand, story: &mut Story) {
    let mut left = turns;
    while 0 < left {
        let is_said = |record: &crate::record::Record| matches!(record.what, What::Said(_));
        let Some(place) = story.records.iter().rposition(is_said) else { break };
        story.records.truncate(place);
        left -= 1;
    }
    story.remark("other_branch", stand, &format!("the person went back {turns} turns"));
}
