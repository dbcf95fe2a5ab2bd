//! Recorded streams, where they are at hand: what the provider's own library makes of them.

use piton_core::answer::Delta;
use piton_core::event::{AnswerPart, FinishReason, Usage};
use piton_wire::Dialect as _;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use serde_json::Value;

use crate::recorded::{self, Read, Recorded};
use crate::transcripts::ask;

#[test]
fn recorded_streams_read_as_expected() {
    read_folder("openai_chat");
}

// O31: JSON objects one to a line.
#[test]
fn recorded_streams_of_ollama_read_as_expected() {
    read_folder("ollama_native");
}

fn read_folder(folder: &str) {
    let Some(all) = recorded::all(folder) else { return };
    for recorded in &all {
        for flavour in super::FLAVOURS {
            let dialect = OpenAiChat { flavour };
            let read = recorded::read_all_ways(&dialect, &ask("script", "one"), &recorded.body);
            compare(recorded, &read);
        }
    }
    println!("{} read in five flavours, in pieces of six sizes", all.len());
}

fn compare(recorded: &Recorded, read: &Read) {
    let (name, expected) = (&recorded.name, &recorded.expected);
    match expected["outcome"].as_str().unwrap() {
        "error" => {
            let failure = read.failure.as_ref().expect(name);
            let said = expected["error"]["message"].as_str().unwrap();
            assert_eq!(failure.message, said, "{name}");
            // Byte by byte, so that nothing stands in one piece with the error.
            let dialect = OpenAiChat { flavour: Flavour::OpenAi };
            let slow = recorded::read(&dialect, &ask("script", "one"), &recorded.body, 1);
            compare_heard(recorded, &slow.deltas);
        }
        "truncated" => {
            assert_eq!(read.failure, None, "{name}");
            assert!(read.answer.is_err(), "{name}");
            compare_heard(recorded, &read.deltas);
        }
        "complete" => compare_whole(recorded, read),
        other => panic!("{name}: {other}"),
    }
}

/// What was heard before a stream broke: all of it, and no call is whole.
fn compare_heard(recorded: &Recorded, deltas: &[Delta]) {
    let (name, expected) = (&recorded.name, &recorded.expected);
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for delta in deltas {
        match delta {
            Delta::Text { text: more, .. } => text.push_str(more),
            Delta::Reasoning { text: more, .. } => thinking.push_str(more),
            Delta::CallOpened { name, .. } => calls.push((name.clone(), String::new())),
            Delta::CallArguments { json, .. } => calls.last_mut().unwrap().1.push_str(json),
            Delta::Alive | Delta::Closed { .. } | Delta::Native(_) | Delta::End { .. } => {
                panic!("{name}: {delta:?}")
            }
        }
    }
    assert_eq!(text, expected["text"], "{name}");
    assert_eq!(thinking, expected["thinking"], "{name}");
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let all = expected["tool_calls"].as_array().unwrap().iter();
    let all: Vec<_> = all.map(|call| (word(&call["name"]), word(&call["args_raw"]))).collect();
    assert_eq!(calls, all, "{name}");
}

fn compare_whole(recorded: &Recorded, read: &Read) {
    let (name, expected) = (&recorded.name, &recorded.expected);
    assert_eq!(read.failure, None, "{name}");
    let answer = read.answer.as_ref().expect(name);
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &answer.parts {
        match part {
            AnswerPart::Text { text: more } => text.push_str(more),
            AnswerPart::Reasoning { text } => thinking.push_str(text),
            AnswerPart::Call { provider_id, name, arguments, .. } => {
                calls.push((provider_id.clone(), name.clone(), arguments.clone()));
            }
        }
    }
    let word = |key: &str| expected[key].as_str().unwrap_or_default();
    assert_eq!(text, format!("{}{}", word("text"), word("refusal")), "{name}");
    assert_eq!(thinking, word("thinking"), "{name}");
    let all = expected["tool_calls"].as_array().unwrap();
    let (whole, cut): (Vec<_>, Vec<_>) = all.iter().partition(|call| call["args_complete"] == true);
    assert_eq!(calls.len(), whole.len(), "{name}");
    for ((id, tool, arguments), expected) in calls.iter().zip(whole) {
        // Ollama's own library knows of no ids; its server sends them all the same.
        if !recorded.about["expected_by"].as_str().unwrap().starts_with("ollama") {
            assert_eq!(id.as_deref(), expected["id"].as_str(), "{name}");
        }
        assert_eq!(Some(tool.as_str()), expected["name"].as_str(), "{name}");
        assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), expected["args"], "{name}");
    }
    let cut: Vec<_> = cut.iter().map(|call| call["name"].as_str().unwrap()).collect();
    assert_eq!(answer.dropped, cut, "{name}");
    let finish = match word("stop_reason") {
        _ if !word("refusal").is_empty() => FinishReason::Refused,
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::Refused,
        _ if all.is_empty() => FinishReason::Stop,
        _ => FinishReason::ToolCalls,
    };
    assert_eq!(answer.finish, finish, "{name}");
    assert_eq!(answer.usage, usage(&expected["usage"]), "{name}");
}

fn usage(usage: &Value) -> Usage {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let first = |names: [&str; 2]| number(&usage[names[0]]).max(number(&usage[names[1]]));
    let input = first(["prompt_tokens", "prompt_eval_count"]);
    let mut output = first(["completion_tokens", "eval_count"]);
    let reasoning = number(&usage["completion_tokens_details"]["reasoning_tokens"]);
    if input + output < number(&usage["total_tokens"]) {
        output += reasoning;
    }
    let cached = number(&usage["prompt_tokens_details"]["cached_tokens"])
        .max(number(&usage["prompt_cache_hit_tokens"]));
    Usage { input, output, cached }
}

#[test]
fn recorded_error_answers_have_a_class() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/wire/fixtures");
    let Ok(entries) = std::fs::read_dir(format!("{root}/openai_chat/http_errors")) else {
        println!("skipped: recorded errors are not at hand");
        return;
    };
    let mut count = 0;
    for entry in entries {
        let path = entry.unwrap().path();
        let recorded: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let headers = recorded["http"]["headers"].clone();
        let header = |name: &str| headers[name].as_str().map(str::to_owned);
        let status = u16::try_from(recorded["http"]["status"].as_u64().unwrap()).unwrap();
        let body = &recorded["body"];
        let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        let dialect = OpenAiChat { flavour: Flavour::OpenAi };
        let failure = dialect.failure(status, &header, body.as_bytes());
        println!("{status} {:?} {}", failure.class, failure.message);
        assert!(!failure.message.contains("status"), "{}", path.display());
        assert_eq!(failure.class.is_transient(), matches!(status, 429 | 500), "{failure:?}");
        count += 1;
    }
    println!("{count} recorded errors");
}
