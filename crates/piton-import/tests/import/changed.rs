//! Sessions whose past was changed: summed up, gone back in, begun anew.

use std::fs;

use piton_core::history::History;
use serde_json::{Value, json};

use crate::told::{assistant_texts, kinds, only, user_texts};

/// Reads a file with these lines.
fn read(lines: &[Value]) -> History {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    let text: Vec<_> = lines.iter().map(ToString::to_string).collect();
    fs::write(&path, text.join("\n")).unwrap();
    only(&path).history
}

/// One turn, summed up, and one behind it.
fn check_summed_up(history: &History) {
    let summaries: Vec<_> = history.turns.iter().map(|turn| turn.summary.as_deref()).collect();
    assert_eq!(summaries, [Some("in short"), None], "{history:#?}");
    assert_eq!(user_texts(history), ["one", "two"]);
    assert_eq!(assistant_texts(history), ["first", "second"], "a summary is no answer");
    assert!(kinds(history).contains(&"compaction"));
}

#[test]
fn a_summary_of_claude_code_lies_over_what_was_before() {
    let record = |id: &str, parent: Option<&str>, kind: &str, text: &str| {
        json!({ "uuid": id, "parentUuid": parent, "isSidechain": false, "sessionId": "s", "type": kind,
                "message": { "id": id, "role": kind, "model": "x", "content": text } })
    };
    let mut summary = record("d", Some("c"), "user", "in short");
    summary["isCompactSummary"] = true.into();
    check_summed_up(&read(&[
        record("a", None, "user", "one"),
        record("b", Some("a"), "assistant", "first"),
        json!({ "uuid": "c", "parentUuid": null, "logicalParentUuid": "b", "type": "system",
                "subtype": "compact_boundary", "sessionId": "s" }),
        summary,
        record("e", Some("d"), "user", "two"),
        record("f", Some("e"), "assistant", "second"),
    ]));
}

fn codex(kind: &str, payload: Value) -> Value {
    json!({ "timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload })
}

fn codex_said(role: &str, text: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": text }]);
    codex("response_item", json!({ "type": "message", "role": role, "content": content }))
}

#[test]
fn a_summary_of_codex_lies_over_what_was_before() {
    let mut output = codex_said("assistant", "in short");
    output["metadata"] = json!({ "compaction_output": true });
    check_summed_up(&read(&[
        codex("session_meta", json!({ "id": "s", "cwd": "/x" })),
        codex_said("user", "one"),
        codex_said("assistant", "first"),
        output,
        codex("compacted", json!({ "message": "in short", "replacement_history": [] })),
        codex_said("user", "two"),
        codex_said("assistant", "second"),
    ]));
}

#[test]
fn turns_that_codex_rolled_back_are_gone() {
    let history = read(&[
        codex("session_meta", json!({ "id": "s", "cwd": "/x" })),
        codex_said("user", "one"),
        codex_said("assistant", "first"),
        codex_said("user", "a mistake"),
        codex_said("assistant", "wrong"),
        codex("event_msg", json!({ "type": "thread_rolled_back", "num_turns": 1 })),
        codex_said("user", "two"),
    ]);
    assert_eq!(user_texts(&history), ["one", "two"]);
    assert_eq!(kinds(&history), ["other_branch"]);
}

#[test]
fn a_summary_of_qwen_code_lies_over_what_was_before() {
    let record = |id: &str, parent: Option<&str>, kind: &str, text: &str| {
        json!({ "uuid": id, "parentUuid": parent, "sessionId": "s", "type": kind,
                "message": { "role": kind, "parts": [{ "text": text }] } })
    };
    check_summed_up(&read(&[
        record("a", None, "user", "one"),
        record("b", Some("a"), "assistant", "first"),
        json!({ "uuid": "c", "parentUuid": "b", "sessionId": "s", "type": "system",
                "subtype": "chat_compression",
                "systemPayload": { "compressedHistory": [{ "role": "user", "parts": [{ "text": "in short" }] }] } }),
        record("d", Some("c"), "user", "two"),
        record("e", Some("d"), "assistant", "second"),
    ]));
}

#[test]
fn a_summary_of_pi_lies_over_what_was_before() {
    let entry = |id: &str, parent: Option<&str>, role: &str, text: &str| {
        json!({ "type": "message", "id": id, "parentId": parent,
                "message": { "role": role, "content": text, "stopReason": "stop" } })
    };
    check_summed_up(&read(&[
        json!({ "type": "session", "version": 3, "id": "s", "cwd": "/x" }),
        entry("a", None, "user", "one"),
        entry("b", Some("a"), "assistant", "first"),
        json!({ "type": "compaction", "id": "c", "parentId": "b", "summary": "in short", "firstKeptEntryId": "d" }),
        entry("d", Some("c"), "user", "two"),
        entry("e", Some("d"), "assistant", "second"),
    ]));
}

#[test]
fn a_summary_of_opencode_lies_over_what_was_before_and_what_was_taken_back_is_gone() {
    let message = |id: &str, role: &str, text: &str| {
        json!({ "info": { "id": id, "role": role, "time": { "created": 1, "completed": 2 } },
                "parts": [{ "type": "text", "text": text, "time": { "end": 2 } }] })
    };
    let mut summary = message("msg_3", "assistant", "in short");
    summary["info"]["summary"] = true.into();
    let session = json!({
        "info": { "id": "ses_1", "revert": { "messageID": "msg_6" } },
        "messages": [
            message("msg_1", "user", "one"),
            message("msg_2", "assistant", "first"),
            summary,
            message("msg_4", "user", "two"),
            message("msg_5", "assistant", "second"),
            message("msg_6", "user", "never mind"),
        ],
    });
    let history = read(&[session]);
    check_summed_up(&history);
    assert!(kinds(&history).contains(&"other_branch"));
}

#[test]
fn a_summary_in_front_of_everything_stands_in_its_place() {
    let history = read(&[
        codex(
            "session_meta",
            json!({ "id": "s", "cwd": "/x", "history_base": { "thread_id": "t" } }),
        ),
        codex("compacted", json!({ "message": "in short" })),
        codex_said("user", "two"),
    ]);
    assert_eq!(user_texts(&history), ["two"], "nobody said the summary");
    assert!(format!("{:?}", history.turns[0].items[0]).contains("in short"));
    assert_eq!(kinds(&history), ["missing_beginning", "compaction"]);
}

fn gemini(id: &str, kind: &str, text: &str) -> Value {
    json!({ "id": id, "type": kind, "content": [{ "text": text }] })
}

#[test]
fn gemini_cli_goes_back_and_a_list_that_was_cut_at_a_start_is_restored() {
    let head = json!({ "sessionId": "s", "projectHash": "h" });
    let context = gemini("c", "user", "<session_context>here");
    let history = read(&[
        head.clone(),
        json!({ "$set": { "messages": [context] } }),
        gemini("1", "user", "one"),
        gemini("2", "gemini", "first"),
        gemini("3", "user", "a mistake"),
        json!({ "$rewindTo": "3" }),
        gemini("4", "user", "two"),
        gemini("5", "gemini", "second"),
        head,
        json!({ "$set": { "messages": [context] } }),
    ]);
    assert_eq!(user_texts(&history), ["one", "two"]);
    assert_eq!(assistant_texts(&history), ["first", "second"]);
    assert!(kinds(&history).contains(&"restored_list"), "{:?}", kinds(&history));
}

#[test]
fn a_text_that_no_entry_could_hold_is_cut_and_told() {
    let long = "x".repeat(3 * 1024 * 1024);
    let history = read(&[
        json!({ "role": "user", "content": long }),
        json!({ "role": "assistant", "content": "ok" }),
    ]);
    assert_eq!(kinds(&history), ["cut_text"]);
    assert!(user_texts(&history)[0].len() < 1_100_000);
}
