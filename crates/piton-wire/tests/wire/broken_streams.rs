//! Streams that break: what came before the break is kept, however the bytes were cut (J44-J46).

use piton_core::answer::Delta;
use piton_core::event::FailureClass;
use piton_wire::Dialect;
use piton_wire::anthropic::Anthropic;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;
use piton_wire::sse::EVENT_BYTES_MAX;

use crate::recorded::{read, read_all_ways};
use crate::transcripts::ask;

/// A dialect, two pieces of text as it streams them, and how it says that it is overloaded.
struct Case {
    dialect: Box<dyn Dialect>,
    before: &'static [&'static str],
    error: &'static str,
}

fn cases() -> Vec<Case> {
    let responses: &[&str] = &[
        r#"{"type":"response.output_text.delta","item_id":"m","output_index":0,"delta":"Hel"}"#,
        r#"{"type":"response.output_text.delta","item_id":"m","output_index":0,"delta":"lo"}"#,
    ];
    let responses_error = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_is_overloaded","message":"Busy."}}}"#;
    vec![
        Case {
            dialect: Box::new(Anthropic),
            before: &[
                r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hel"}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}"#,
            ],
            error: r#"{"type":"error","error":{"type":"overloaded_error","message":"Busy."}}"#,
        },
        Case {
            dialect: Box::new(OpenAiChat { flavour: Flavour::OpenAi }),
            before: &[
                r#"{"choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"lo"}}]}"#,
            ],
            error: r#"{"error":{"code":"overloaded","message":"The engine is currently overloaded"}}"#,
        },
        Case {
            dialect: Box::new(OpenAiResponses::Public),
            before: responses,
            error: responses_error,
        },
        Case {
            dialect: Box::new(OpenAiResponses::Codex),
            before: responses,
            error: responses_error,
        },
        Case {
            dialect: Box::new(Gemini),
            before: &[
                r#"{"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}"#,
                r#"{"candidates":[{"content":{"parts":[{"text":"lo"}]}}]}"#,
            ],
            error: r#"{"error":{"code":503,"status":"UNAVAILABLE","message":"The model is overloaded."}}"#,
        },
    ]
}

/// Reads the text and then `last`, whole and in pieces: both texts come, then the failure.
fn check(case: &Case, last: &str, class: FailureClass) {
    let body = format!("{}{}", events(case.before), events(&[last]));
    let read = read_all_ways(&*case.dialect, &ask("test", "m"), body.as_bytes());
    let said: String = read.deltas.iter().filter_map(text).collect();
    assert_eq!(said, "Hello", "{:?}: {body}", case.dialect);
    let failed = read.failure.as_ref().map(|failure| failure.class);
    assert_eq!(failed, Some(class), "{:?}: {:?}", case.dialect, read.failure);
    assert!(read.answer.is_err(), "a broken stream is no answer");
}

fn events(datas: &[&str]) -> String {
    format!("data: {}\n\n", datas.join("\n\ndata: "))
}

fn text(delta: &Delta) -> Option<&str> {
    if let Delta::Text { text, .. } = delta { Some(text) } else { None }
}

#[test]
fn j46_text_in_front_of_an_error_event_is_kept() {
    for case in cases() {
        check(&case, case.error, FailureClass::Overloaded);
    }
}

#[test]
fn j45_text_in_front_of_an_unreadable_event_is_kept() {
    let cut = r#"{"type":"content_block_delta","candidates":[{"choices":"#;
    for case in cases() {
        check(&case, cut, FailureClass::Malformed);
    }
}

#[test]
fn text_in_front_of_an_event_that_is_too_large_is_kept() {
    for case in cases() {
        let body = format!("{}data: {}", events(case.before), "x".repeat(EVENT_BYTES_MAX));
        for size in [64 * 1024, body.len()] {
            let read = read(&*case.dialect, &ask("test", "m"), body.as_bytes(), size);
            let said: String = read.deltas.iter().filter_map(text).collect();
            assert_eq!(said, "Hello", "{:?}", case.dialect);
            assert_eq!(read.failure.map(|it| it.class), Some(FailureClass::TooLarge));
        }
    }
}

// The growing array is the other framing of this dialect.
#[test]
fn text_in_front_of_an_error_in_an_array_is_kept() {
    let case = cases().pop().unwrap();
    let body = format!("[{},\n{}]", case.before.join(",\n"), case.error);
    let read = read_all_ways(&*case.dialect, &ask("test", "m"), body.as_bytes());
    assert_eq!(read.deltas.iter().filter_map(text).collect::<String>(), "Hello");
    assert_eq!(read.failure.map(|it| it.class), Some(FailureClass::Overloaded));
}

#[test]
fn nothing_is_read_behind_a_failure() {
    for case in cases() {
        let mut decoder = case.dialect.decoder(&[], &ask("test", "m"));
        let mut deltas = Vec::new();
        decoder.push(events(&[case.error]).as_bytes(), &mut deltas).unwrap_err();
        decoder.push(events(case.before).as_bytes(), &mut deltas).unwrap();
        decoder.end(&mut deltas).unwrap();
        assert_eq!(deltas, [], "{:?}", case.dialect);
    }
}

// A gateway answers with status 200, and with an error that is no stream.
#[test]
fn an_error_that_is_no_stream_keeps_the_words_of_the_provider() {
    let plain = r#"{"error":{"type":"api_error","message":"The model large is not loaded."}}"#;
    let spread = "{\n  \"error\": {\n    \"message\": \"The model large is not loaded.\"\n  }\n}";
    for case in cases() {
        for body in
            [plain.to_owned(), format!("{plain}\n"), spread.to_owned(), format!(" {spread}\n")]
        {
            let read = read_all_ways(&*case.dialect, &ask("test", "m"), body.as_bytes());
            let said = read.failure.as_ref().map(|failure| failure.message.as_str());
            let kept = said.is_some_and(|said| said.ends_with("The model large is not loaded."));
            assert!(kept, "{:?}: {body}: {said:?}", case.dialect);
        }
    }
}
