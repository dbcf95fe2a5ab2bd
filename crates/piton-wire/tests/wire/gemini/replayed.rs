//! Recorded streams, read in place, against what the official library makes of them.

use piton_core::answer::Delta;
use piton_core::event::{AnswerPart, FailureClass, FinishReason, Usage};
use piton_wire::gemini::Gemini;
use piton_wire::gemini::rules::violations_for;
use serde_json::Value;

use super::{gemini, json};
use crate::recorded::{Read, Recorded, all, read_all_ways};
use crate::transcripts::Journal;
use piton_wire::Dialect;
use piton_wire::cache::Cache;

#[test]
fn recorded_streams_mean_what_the_official_library_says() {
    let Some(recorded) = all("gemini") else {
        return;
    };
    for stream in &recorded {
        let read = read_all_ways(&Gemini, &gemini("gemini-3-pro"), &stream.body);
        compare(stream, &read);
    }
    println!("{} recorded streams agree", recorded.len());
}

fn compare(stream: &Recorded, read: &Read) {
    let (name, expected) = (&stream.name, &stream.expected);
    let reason = expected["stop_reason"].as_str();
    let outcome = match (&read.failure, &read.answer) {
        (Some(failure), _) if failure.class == FailureClass::Malformed => "malformed",
        (Some(_), _) => "error",
        (None, Ok(_)) => "complete",
        (None, Err(_)) => "truncated",
    };
    // A call that the service could not read is asked again, not an answer.
    let wanted = match reason {
        Some("MALFORMED_FUNCTION_CALL") => "malformed",
        _ => expected["outcome"].as_str().unwrap(),
    };
    assert_eq!(outcome, wanted, "{name}");
    let (mut text, mut thinking) = (String::new(), String::new());
    for delta in &read.deltas {
        match delta {
            Delta::Text { text: piece, .. } => text += piece,
            Delta::Reasoning { text: piece, .. } => thinking += piece,
            Delta::CallOpened { .. }
            | Delta::CallArguments { .. }
            | Delta::Closed { .. }
            | Delta::Native(_)
            | Delta::Alive
            | Delta::End { .. } => {}
        }
    }
    if read.failure.is_none() {
        assert_eq!(text, expected["text"].as_str().unwrap_or_default(), "{name}");
        assert_eq!(thinking, expected["thinking"].as_str().unwrap_or_default(), "{name}");
    }
    let Ok(answer) = &read.answer else {
        return;
    };
    let calls = expected["tool_calls"].as_array().unwrap();
    let finish = match reason {
        Some("STOP") if calls.is_empty() => FinishReason::Stop,
        Some("STOP") => FinishReason::ToolCalls,
        Some("MAX_TOKENS") => FinishReason::Length,
        _ => FinishReason::Refused,
    };
    assert_eq!(answer.finish, finish, "{name}");
    assert_eq!(answer.usage, usage(&expected["usage"]), "{name}");
    assert_eq!(shown(&answer.parts), wanted_calls(calls), "{name}");
    let signatures = expected["signatures"].as_array().map_or(0, Vec::len);
    let native = answer.native.as_ref().map_or("", |native| &native.raw);
    for signature in expected["parts"].as_array().into_iter().flatten() {
        if let Some(signature) = signature["thoughtSignature"].as_str() {
            assert!(native.contains(signature), "{name} lost one of {signatures} signatures");
        }
    }
    if answer.finish != FinishReason::Refused && !answer.parts.is_empty() {
        goes_back(name, read);
    }
}

fn usage(counts: &Value) -> Usage {
    let count = |name: &str| counts[name].as_u64().unwrap_or(0);
    Usage {
        input: count("promptTokenCount") + count("toolUsePromptTokenCount"),
        output: count("candidatesTokenCount") + count("thoughtsTokenCount"),
        cached: count("cachedContentTokenCount"),
    }
}

fn shown(parts: &[AnswerPart]) -> Vec<(Option<String>, String, Value)> {
    let calls = parts.iter().filter_map(|part| match part {
        AnswerPart::Call { provider_id, name, arguments, .. } => {
            Some((provider_id.clone(), name.clone(), serde_json::from_str(arguments).unwrap()))
        }
        AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } => None,
    });
    calls.collect()
}

fn wanted_calls(calls: &[Value]) -> Vec<(Option<String>, String, Value)> {
    let whole = calls.iter().filter(|call| call["args_complete"] == true);
    let call = |call: &Value| {
        let id = call["id"].as_str().map(str::to_owned);
        (id, call["name"].as_str().unwrap().to_owned(), call["args"].clone())
    };
    whole.map(call).collect()
}

/// What was answered is sent back in the next request, signatures and all.
fn goes_back(name: &str, read: &Read) {
    let answer = read.answer.as_ref().unwrap();
    let (mut text, mut calls) = (String::new(), Vec::new());
    for part in &answer.parts {
        match part {
            AnswerPart::Text { text: piece } => text += piece,
            AnswerPart::Reasoning { .. } => {}
            AnswerPart::Call { provider_id, name, arguments, .. } => {
                let id = provider_id.as_deref().unwrap_or_default();
                calls.push((name.as_str(), &**arguments, id));
            }
        }
    }
    let mut journal = Journal::new();
    journal.user("Go.").answer(&text, &calls, answer.native.clone());
    let ask = gemini("gemini-3-pro");
    let body = json(&Gemini.encode(&journal.transcript(), &ask, &mut Cache::default()));
    assert_eq!(violations_for("gemini-3-pro", &body), [""; 0], "{name}");
    if let Some(native) = &answer.native {
        let parts: Value = serde_json::from_str(&native.raw).unwrap();
        assert_eq!(body["contents"][1]["parts"], parts, "{name}");
    }
}
