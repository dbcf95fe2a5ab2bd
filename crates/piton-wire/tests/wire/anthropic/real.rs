//! Recorded streams, requests and errors, where they are at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use piton_core::answer::Delta;
use piton_core::event::{FailureClass, FinishReason, Usage};
use piton_wire::Dialect as _;
use piton_wire::anthropic::{Anthropic, rules};
use serde_json::{Value, json};

use crate::recorded::{self, Read, Recorded};
use crate::transcripts;

/// What the stream said, put together without the core.
#[derive(Debug, Default)]
struct Said {
    text: String,
    thinking: String,
    calls: BTreeMap<u32, (String, String, String)>,
    closed: BTreeSet<u32>,
    end: Option<(FinishReason, Usage)>,
}

fn said(read: &Read) -> Said {
    let mut said = Said::default();
    for delta in read.deltas.clone() {
        match delta {
            Delta::Text { text, .. } => said.text += &text,
            Delta::Reasoning { text, .. } => said.thinking += &text,
            Delta::CallOpened { index, provider_id, name } => {
                let call = (provider_id.unwrap_or_default(), name, String::new());
                said.calls.insert(index, call);
            }
            Delta::CallArguments { index, json } => {
                said.calls.get_mut(&index).unwrap().2 += &json;
            }
            Delta::Closed { index } => {
                said.closed.insert(index);
            }
            Delta::Native(_) | Delta::Alive => {}
            Delta::End { finish, usage } => said.end = Some((finish, usage)),
        }
    }
    said
}

// J45, J46, D54-D57
#[test]
fn every_recorded_stream_is_read_as_its_own_library_reads_it() {
    let Some(streams) = recorded::all("anthropic") else { return };
    for stream in &streams {
        let ask = transcripts::ask("anthropic", "claude-opus-4-7");
        let read = recorded::read_all_ways(&Anthropic, &ask, &stream.body);
        check(stream, &read);
    }
    println!("{} recorded streams read as expected", streams.len());
    assert_ne!(streams.len(), 0);
}

fn check(stream: &Recorded, read: &Read) {
    let (expected, said) = (&stream.expected, said(read));
    let note = stream.about["note"].as_str().unwrap_or_default();
    let name = &format!("{} {note}", stream.name);
    let outcome = match (&read.failure, &read.answer) {
        (Some(_), _) => "error",
        (None, Ok(_)) => "complete",
        (None, Err(_)) => "truncated",
    };
    assert_eq!(expected["outcome"], outcome, "{name}");
    assert_eq!(expected["text"], *said.text, "{name}");
    assert_eq!(expected["thinking"], *said.thinking, "{name}");
    let calls = expected["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), said.calls.len(), "{name}");
    for (expected, (index, (id, tool, arguments))) in calls.iter().zip(&said.calls) {
        assert_eq!((&expected["id"], &expected["name"]), (&json!(id), &json!(tool)), "{name}");
        let complete = expected["args_complete"].as_bool().unwrap();
        assert_eq!(complete, said.closed.contains(index), "{name}");
        if complete {
            let arguments = if arguments.is_empty() { "{}" } else { arguments };
            assert_eq!(expected["args"], serde_json::from_str::<Value>(arguments).unwrap());
        } else {
            assert_eq!(expected["args_raw"], *arguments, "{name}");
        }
    }
    if outcome == "complete" {
        let (finish, usage) = said.end.unwrap();
        assert_eq!(finish, expected_finish(expected), "{name}");
        assert_eq!(usage, expected_usage(&expected["usage"]), "{name}");
        check_thoughts(name, expected, read);
    }
}

fn expected_finish(expected: &Value) -> FinishReason {
    match expected["stop_reason"].as_str().unwrap() {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "pause_turn" => FinishReason::Length,
        "refusal" => FinishReason::Refused,
        other => panic!("{other}"),
    }
}

fn expected_usage(usage: &Value) -> Usage {
    let count = |name: &str| usage[name].as_u64().unwrap_or(0);
    let cached = count("cache_read_input_tokens");
    let input = count("input_tokens") + count("cache_creation_input_tokens") + cached;
    Usage { input, output: count("output_tokens"), cached }
}

// K48
fn check_thoughts(name: &str, expected: &Value, read: &Read) {
    let is_thought =
        |block: &&Value| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    let thoughts: Vec<&Value> =
        expected["content"].as_array().unwrap().iter().filter(is_thought).collect();
    let native = read.answer.as_ref().unwrap().native.as_ref();
    let raw = native.map_or("[]", |native| &native.raw);
    let kept: Vec<Value> = serde_json::from_str(raw).unwrap();
    let kept: Vec<&Value> = kept.iter().map(|kept| &kept["block"]).collect();
    assert_eq!(kept, thoughts, "{name}");
}

fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire");
    let Ok(entries) = fs::read_dir(root.join(folder)) else {
        println!("skipped: {folder} is not at hand");
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn recorded_errors_have_their_class() {
    let paths = files("fixtures/anthropic/http_errors");
    for path in &paths {
        let about = read(path);
        let status = u16::try_from(about["http"]["status"].as_u64().unwrap()).unwrap();
        let header = |name: &str| about["http"]["headers"][name].as_str().map(str::to_owned);
        let body = serde_json::to_vec(&about["body"]).unwrap();
        let failure = Anthropic.failure(status, &header, &body);
        let message = about["body"]["error"]["message"].as_str().unwrap();
        let expected = match status {
            401 => FailureClass::Auth,
            _ if message.contains("too long") => FailureClass::ContextOverflow,
            _ => FailureClass::InvalidRequest,
        };
        assert_eq!(failure.class, expected, "{}", path.display());
        assert_eq!(failure.message, message);
    }
    println!("{} recorded errors", paths.len());
}

// The checker must not be stricter than the service.
#[test]
fn recorded_requests_break_no_rule() {
    let paths = files("fixtures/anthropic");
    let requests = paths.iter().filter(|path| path.to_string_lossy().ends_with(".request.json"));
    let mut count = 0;
    for path in requests {
        assert_eq!(rules::violations(&read(path)), [""; 0], "{}", path.display());
        count += 1;
    }
    println!("{count} recorded requests break no rule");
}

#[test]
fn the_checker_agrees_with_another_one() {
    let paths = [files("validate/cases/good"), files("validate/cases/bad")].concat();
    let mut count = 0;
    for path in &paths {
        let case = read(path);
        let expected: Vec<String> =
            serde_json::from_value(case["expect"]["rules"].clone()).unwrap_or_default();
        // Images are not sent yet, so there is no rule for them; the other checker does not look at
        // the order of lasting cache marks.
        let beyond = expected.iter().any(|rule| rule == "A-IMAGE") || case["name"] == "cache-4";
        if case["provider"] != "anthropic" || beyond {
            continue;
        }
        let found = rules::violations(&case["body"]);
        let name = path.display();
        assert_eq!(found.is_empty(), case["expect"]["valid"] == true, "{name}: {found:?}");
        for rule in expected.iter().filter(|rule| rule.starts_with("A-")) {
            assert!(found.iter().any(|found| found.starts_with(rule)), "{name}: {found:?}");
        }
        count += 1;
    }
    println!("{count} bodies judged alike");
}
