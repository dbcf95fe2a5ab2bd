//! Recorded streams and errors of real services, read in place.

use std::fs;
use std::path::Path;

use piton_core::answer::Delta;
use piton_core::event::{AnswerPart, FailureClass, FinishReason, Usage};
use piton_wire::Dialect;
use piton_wire::openai_responses::OpenAiResponses;
use serde_json::Value;

use super::frame;
use crate::recorded::{self, Read, Recorded, read_all_ways};

fn text(read: &Read) -> String {
    let texts = read.deltas.iter().filter_map(|delta| {
        let Delta::Text { text, .. } = delta else { return None };
        Some(text.as_str())
    });
    texts.collect()
}

fn reasoning(read: &Read) -> String {
    let texts = read.deltas.iter().filter_map(|delta| {
        let Delta::Reasoning { text, .. } = delta else { return None };
        Some(text.as_str())
    });
    texts.collect()
}

fn string<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// What a call should have been given, and whether it may be run.
fn check_calls(stream: &Recorded, read: &Read) {
    let expected = stream.expected["tool_calls"].as_array().unwrap();
    let whole: Vec<&Value> = expected.iter().filter(|call| call["args_complete"] == true).collect();
    let closed = read.deltas.iter().filter(|delta| matches!(delta, Delta::Closed { .. })).count();
    // In a stream that broke, calls without arguments wait for an end that tells what they mean.
    assert!(closed <= whole.len(), "{}", stream.name);
    let Ok(answer) = &read.answer else { return };
    let calls = answer.parts.iter().filter_map(|part| match part {
        AnswerPart::Call { provider_id, name, arguments, .. } => {
            Some((provider_id.as_deref().unwrap_or_default(), name.as_str(), &**arguments))
        }
        AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } => None,
    });
    let calls: Vec<_> = calls.collect();
    assert_eq!(calls.len(), whole.len(), "{}", stream.name);
    for ((id, name, arguments), expected) in calls.into_iter().zip(whole) {
        assert_eq!(id, string(expected, "id"), "{}", stream.name);
        assert_eq!(name, string(expected, "name"), "{}", stream.name);
        if let Some(input) = expected.get("custom_input") {
            assert_eq!(arguments, input.as_str().unwrap(), "{}", stream.name);
        } else {
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            assert_eq!(arguments, expected["args"], "{}", stream.name);
        }
    }
    assert_eq!(answer.dropped.len(), expected.len() - closed, "{}", stream.name);
}

fn check_end(stream: &Recorded, read: &Read) {
    let expected = &stream.expected;
    match string(expected, "outcome") {
        "complete" => {
            let answer = read.answer.as_ref().unwrap_or_else(|_| panic!("{}", stream.name));
            let finish = match (string(expected, "stop_reason"), string(expected, "refusal")) {
                (_, refusal) if !refusal.is_empty() => FinishReason::Refused,
                ("incomplete", _) => FinishReason::Length,
                _ if expected["tool_calls"].as_array().unwrap().is_empty() => FinishReason::Stop,
                _ => FinishReason::ToolCalls,
            };
            assert_eq!(answer.finish, finish, "{}", stream.name);
            let count = |pointer: &str| expected["usage"].pointer(pointer).and_then(Value::as_u64);
            let usage = Usage {
                input: count("/input_tokens").unwrap(),
                output: count("/output_tokens").unwrap(),
                cached: count("/input_tokens_details/cached_tokens").unwrap(),
            };
            assert_eq!(answer.usage, usage, "{}", stream.name);
        }
        "error" => {
            let failure = read.failure.as_ref().unwrap_or_else(|| panic!("{}", stream.name));
            let class = match expected["error"]
                .pointer("/body/code")
                .or(expected["error"].get("code"))
            {
                Some(code) if code == "insufficient_quota" => FailureClass::Quota,
                Some(code) if code == "rate_limit_exceeded" => FailureClass::RateLimited,
                Some(code) if code == "context_length_exceeded" => FailureClass::ContextOverflow,
                Some(code) if code == "server_is_overloaded" => FailureClass::Overloaded,
                _ => FailureClass::Server,
            };
            assert_eq!(failure.class, class, "{}", stream.name);
        }
        _ => assert!(read.failure.is_none() && read.answer.is_err(), "{}", stream.name),
    }
}

fn is_patched(stream: &Recorded, visible: &str) -> bool {
    let note = stream.about["note"].as_str().unwrap_or_default();
    let patched = note.contains("trimmed the delta events") && stream.name.starts_with("014-");
    if patched {
        println!("{}: pieces missing from its middle, {} characters", stream.name, visible.len());
    }
    patched
}

fn check_all(dialect: &dyn Dialect, folder: &str) {
    let Some(streams) = recorded::all(folder) else { return };
    for stream in &streams {
        let read = read_all_ways(dialect, &frame(), &stream.body);
        let expected = &stream.expected;
        // Byte by byte, the way that cuts in most places; an error loses nothing in any way.
        let pieces = recorded::read(dialect, &frame(), &stream.body, 1);
        let visible = format!("{}{}", string(expected, "text"), string(expected, "refusal"));
        // Where a source cut pieces out of the middle, what was passed on cannot be taken back.
        if !is_patched(stream, &visible) {
            assert_eq!(text(&pieces), visible, "{}", stream.name);
        }
        let thought =
            format!("{}{}", string(expected, "thinking_summary"), string(expected, "thinking"));
        assert_eq!(reasoning(&pieces), thought, "{}", stream.name);
        check_calls(stream, &pieces);
        check_end(stream, &read);
    }
    println!("{} recorded streams of {folder} decode as expected", streams.len());
}

#[test]
fn recorded_streams_decode_as_expected() {
    check_all(&OpenAiResponses::Public, "openai_responses");
}

#[test]
fn recorded_codex_streams_decode_as_expected() {
    check_all(&OpenAiResponses::Codex, "codex");
}

#[test]
fn recorded_errors_have_a_class() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire/fixtures");
    let mut count = 0;
    for folder in ["openai_responses", "codex"] {
        let Ok(entries) = fs::read_dir(root.join(folder).join("http_errors")) else {
            println!("skipped: recorded errors are not at hand");
            return;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let error: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let status = u16::try_from(error["http"]["status"].as_u64().unwrap()).unwrap();
            let body = &error["body"];
            let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
            let headers = |name: &str| error["http"]["headers"][name].as_str().map(str::to_owned);
            let failure = OpenAiResponses::Public.failure(status, &headers, body.as_bytes());
            println!("{}: {failure:?}", path.file_name().unwrap().to_string_lossy());
            assert!(!failure.class.is_transient(), "{failure:?}");
            assert_ne!(failure.class, FailureClass::Unknown, "{failure:?}");
            count += 1;
        }
    }
    println!("{count} recorded errors have a class");
}
