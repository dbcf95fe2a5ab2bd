//! From streamed pieces to an answer: only the end mark makes one.

use expect_test::{Expect, expect};
use piton_core::answer::{Answer, Delta, NoEndMark, Partial};
use piton_core::event::{AnswerPart, FinishReason, Native, Usage};
use piton_core::id::TurnId;

/// Pieces by their words: `t0:text`, `th0:reasoning`, `open0:id:name`, `json0:piece`, `close0`,
/// `end:stop`; the digit is the block.
fn pieces(script: &str) -> Partial {
    let mut partial = Partial::default();
    script.split_whitespace().for_each(|word| partial.push(piece(word)));
    partial
}

fn piece(word: &str) -> Delta {
    let (head, rest) = word.split_once(':').unwrap_or((word, ""));
    let verb = head.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let index = head[verb.len()..].parse().unwrap_or(0);
    match verb {
        "t" => Delta::Text { index, text: rest.into() },
        "th" => Delta::Reasoning { index, text: rest.into() },
        "open" => {
            let (id, name) = rest.split_once(':').unwrap();
            Delta::CallOpened { index, provider_id: Some(id.into()), name: name.into() }
        }
        "json" => Delta::CallArguments { index, json: rest.into() },
        "close" => Delta::Closed { index },
        "end" => {
            let finish = serde_json::from_str(&format!("\"{rest}\"")).unwrap();
            Delta::End { finish, usage: Usage { input: 1, output: 2, cached: 0 } }
        }
        _ => panic!("no piece is called {verb}"),
    }
}

fn check(script: &str, expected: Expect) {
    let answer = pieces(script).finish(TurnId(1), 2);
    expected.assert_eq(&answer.map_or_else(|error| error.to_string(), |answer| shown(&answer)));
}

fn shown(answer: &Answer) -> String {
    let parts = answer.parts.iter().map(|part| match part {
        AnswerPart::Text { text } => format!("text {text}"),
        AnswerPart::Reasoning { text } => format!("reasoning {text}"),
        AnswerPart::Call { call, provider_id, name, arguments } => {
            format!("call {call} {name} {arguments} {}", provider_id.as_deref().unwrap_or("-"))
        }
    });
    let dropped = answer.dropped.iter().map(|name| format!("dropped {name}"));
    let empty = answer.is_empty().then(|| "empty".to_owned());
    parts.chain(dropped).chain(empty).collect::<Vec<_>>().join("; ")
}

// J45, O28, D56, O22
#[test]
fn a_stream_without_its_end_mark_is_an_error() {
    check("", expect!["the stream ended without its end mark after 0 bytes"]);
    check("t0:hello", expect!["the stream ended without its end mark after 5 bytes"]);
    check(
        "open0:id:read json0:{} close0",
        expect!["the stream ended without its end mark after 6 bytes"],
    );
    assert_eq!(pieces("t0:hello").finish(TurnId(1), 1), Err(NoEndMark { bytes_received: 5 }));
}

// J46, J56, O23
#[test]
fn pieces_behind_the_end_mark_are_ignored() {
    check("t0:a end:stop t0:b", expect!["text a"]);
    check(
        "open0:x:read close0 end:tool_calls open1:x:read close1 end:stop",
        expect!["call 1.2.0 read {} x"],
    );
    let answer = pieces("t0:a end:stop end:length").finish(TurnId(1), 1).unwrap();
    assert_eq!(answer.finish, FinishReason::Stop);
}

// D54, D55
#[test]
fn interleaved_blocks_come_in_index_order_without_gaps() {
    check("t7:c t2:a t7:d t2:b th0:e end:stop", expect!["reasoning e; text ab; text cd"]);
    check(
        "open5:b:w open3:a:r json5:{} close5 json3:{} close3 end:tool_calls",
        expect!["call 1.2.0 r {} a; call 1.2.1 w {} b"],
    );
}

// D54, K50
#[test]
fn empty_arguments_are_an_empty_object() {
    check("open0:x:read close0 end:tool_calls", expect!["call 1.2.0 read {} x"]);
    check(
        "open0:x:read json0:{\"a\": json0:1} close0 end:tool_calls",
        expect![[r#"call 1.2.0 read {"a":1} x"#]],
    );
}

// K51
#[test]
fn arguments_are_kept_as_they_came_also_when_they_are_not_json() {
    check("open0:x:read json0:{\"a close0 end:tool_calls", expect![[r#"call 1.2.0 read {"a x"#]]);
}

// D70, J54, M4, J42
#[test]
fn a_call_that_was_not_closed_is_dropped_by_name() {
    check("t0:so open1:x:write json1:{\"a end:length", expect!["text so; dropped write"]);
    check(
        "open0:x:read close0 open1:y:write end:length",
        expect!["call 1.2.0 read {} x; dropped write"],
    );
}

// X22, J58
#[test]
fn an_empty_provider_id_is_fine() {
    check(
        "open0::read close0 open1::read close1 end:tool_calls",
        expect!["call 1.2.0 read {} -; call 1.2.1 read {} -"],
    );
}

// O29, X22
#[test]
fn a_call_without_a_name_is_rejected() {
    check("open0:x: json0:{} close0 end:tool_calls", expect!["dropped (unnamed)"]);
    check("open0:: json0:{} close0 end:tool_calls", expect!["dropped (unnamed)"]);
}

// K50
#[test]
fn a_block_without_id_name_and_arguments_is_nothing() {
    check("t0:hi open1:: close1 end:stop", expect!["text hi"]);
}

// O32, O33
#[test]
fn pieces_that_do_not_fit_their_block_cost_nothing() {
    check("t0:a json0:{} th0:b close0 json9:{} close9 end:stop", expect!["text a"]);
    check(
        "open0:x:read close0 json0:[1] open0:y:write t0:z end:tool_calls",
        expect!["call 1.2.0 read {} x"],
    );
}

// X4
#[test]
fn an_answer_without_text_and_calls_is_empty() {
    check("end:stop", expect!["empty"]);
    check("t0: end:stop", expect!["empty"]);
    check("th0:hm end:stop", expect!["reasoning hm; empty"]);
    check("open0:x:read end:length", expect!["dropped read"]);
}

// K48
#[test]
fn native_blocks_ride_along() {
    let native =
        Native { provider: "p".into(), host: "h".into(), model: "m".into(), raw: "[ 1 ]".into() };
    let mut partial = pieces("t0:a");
    partial.push(Delta::Native(native.clone()));
    assert!(!partial.is_finished());
    partial.push(piece("end:stop"));
    assert!(partial.is_finished());
    assert_eq!(partial.bytes_received(), 1);
    assert_eq!(partial.finish(TurnId(1), 1).unwrap().native, Some(native));
}
