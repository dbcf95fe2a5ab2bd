//! Streams written for the reader: one for each thing that the service or a gateway does.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use piton_core::event::AnswerPart;
use piton_wire::anthropic::Anthropic;

use crate::recorded::{self, Read};
use crate::transcripts;

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":4,"cache_read_input_tokens":3,"output_tokens":1}}}"#;
const TEXT: &str =
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const CALL: &str = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn text(index: u32, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":{text}}}}}"#
    )
}

fn json(index: u32, json: &str) -> String {
    let json = serde_json::to_string(json).unwrap();
    format!(
        r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":{json}}}}}"#
    )
}

fn closed(index: u32) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn reason(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":20}}}}"#
    )
}

fn stream<T: AsRef<str>>(events: &[T]) -> String {
    let mut body = String::new();
    for event in events {
        write!(body, "event: x\ndata: {}\n\n", event.as_ref()).unwrap();
    }
    body
}

/// Reads a stream in pieces of every size and prints what became of it.
fn check<T: AsRef<str>>(events: &[T], expected: Expect) {
    check_body(&stream(events), expected);
}

fn check_body(body: &str, expected: Expect) {
    let ask = transcripts::ask("anthropic", "claude-opus-4-7");
    expected.assert_eq(&print(&recorded::read_all_ways(&Anthropic, &ask, body.as_bytes())));
}

fn print(read: &Read) -> String {
    let mut out = String::new();
    if let Some(failure) = &read.failure {
        writeln!(out, "failed {:?}: {}", failure.class, failure.message).unwrap();
    }
    let Ok(answer) = &read.answer else { return out + "no end mark\n" };
    for part in &answer.parts {
        match part {
            AnswerPart::Text { text } => writeln!(out, "text {text:?}"),
            AnswerPart::Reasoning { text } => writeln!(out, "thought {text:?}"),
            AnswerPart::Call { call, provider_id, name, arguments } => {
                let id = provider_id.as_deref().unwrap_or("-");
                writeln!(out, "call {call} {id} {name} {arguments}")
            }
        }
        .unwrap();
    }
    if !answer.dropped.is_empty() {
        writeln!(out, "dropped {:?}", answer.dropped).unwrap();
    }
    if let Some(native) = &answer.native {
        writeln!(out, "native {} {} {} {}", native.provider, native.host, native.model, native.raw)
            .unwrap();
    }
    let usage = answer.usage;
    let (input, output, cached) = (usage.input, usage.output, usage.cached);
    writeln!(out, "{:?} {input} in, {output} out, {cached} cached", answer.finish).unwrap();
    out
}

// D54
#[test]
fn text_comes_in_pieces_between_pings() {
    let ping = r#"{"type": "ping"}"#;
    check(
        &[
            START,
            TEXT,
            &text(0, "Grüß "),
            ping,
            &text(0, "Gott 🧗\n"),
            &closed(0),
            &reason("end_turn"),
            STOP,
        ],
        expect![[r#"
            text "Grüß Gott 🧗\n"
            Stop 17 in, 20 out, 3 cached
        "#]],
    );
}

// D54, K50
#[test]
fn arguments_are_joined_and_none_at_all_is_an_empty_object() {
    let second = CALL.replace("\"index\":1", "\"index\":2").replace("toolu_1", "toolu_2");
    check(
        &[
            START,
            TEXT,
            &text(0, "Let me look."),
            &closed(0),
            CALL,
            &json(1, ""),
            &json(1, "{\"path\""),
            &json(1, ": \"a\"}"),
            &closed(1),
            &second,
            &json(2, ""),
            &closed(2),
            &reason("tool_use"),
            STOP,
        ],
        expect![[r#"
            text "Let me look."
            call 1.1.0 toolu_1 look {"path": "a"}
            call 1.1.1 toolu_2 look {}
            ToolCalls 17 in, 20 out, 3 cached
        "#]],
    );
}

// D57
#[test]
fn an_answer_may_be_calls_alone() {
    check(
        &[START, CALL, &json(1, "{}"), &closed(1), &reason("tool_use"), STOP],
        expect![[r#"
            call 1.1.0 toolu_1 look {}
            ToolCalls 17 in, 20 out, 3 cached
        "#]],
    );
}

// D55
#[test]
fn blocks_may_interleave_and_leave_gaps() {
    let seventh = CALL.replace("\"index\":1", "\"index\":7").replace("toolu_1", "toolu_7");
    check(
        &[
            START,
            &seventh,
            CALL,
            &json(7, "{\"path\":"),
            &json(1, "{\"path\":\"one\""),
            &json(7, "\"seven\"}"),
            &json(1, "}"),
            &closed(7),
            &closed(1),
            &reason("tool_use"),
            STOP,
        ],
        expect![[r#"
            call 1.1.0 toolu_1 look {"path":"one"}
            call 1.1.1 toolu_7 look {"path":"seven"}
            ToolCalls 17 in, 20 out, 3 cached
        "#]],
    );
}

// K48: collected just before the end mark, in block order, with places among texts and calls.
#[test]
fn thoughts_are_kept_with_their_signatures() {
    let start = |index: u32| {
        format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"thinking","thinking":"","signature":""}}}}"#
        )
    };
    let piece = |index: u32, kind: &str, field: &str, value: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":"{value}"}}}}"#
        )
    };
    let redacted = r#"{"type":"content_block_start","index":3,"content_block":{"type":"redacted_thinking","data":"a\u002fb==", "later":1}}"#;
    let events = [
        START.to_owned(),
        start(0),
        piece(0, "thinking_delta", "thinking", "First \\\"this\\\", "),
        piece(0, "thinking_delta", "thinking", "then that."),
        piece(0, "thinking_delta", "thinking", ""),
        piece(0, "signature_delta", "signature", "old"),
        piece(0, "signature_delta", "signature", "c2ln"),
        closed(0),
        TEXT.replace("\"index\":0", "\"index\":1"),
        text(1, " \n"),
        closed(1),
        TEXT.replace("\"index\":0", "\"index\":2"),
        text(2, "So."),
        closed(2),
        redacted.to_owned(),
        closed(3),
        CALL.replace("\"index\":1", "\"index\":4"),
        json(4, "{}"),
        closed(4),
        start(5),
        piece(5, "signature_delta", "signature", "bGFzdA=="),
        closed(5),
        reason("tool_use"),
        STOP.to_owned(),
    ];
    check(
        &events,
        expect![[r#"
            thought "First \"this\", then that."
            text " \n"
            text "So."
            call 1.1.0 toolu_1 look {}
            native anthropic anthropic.invalid claude-opus-4-7 [{"before":0,"block":{"type":"thinking","thinking":"First \"this\", then that.","signature":"c2ln"}},{"before":1,"block":{"type":"redacted_thinking","data":"a\u002fb==", "later":1}},{"before":2,"block":{"type":"thinking","thinking":"","signature":"bGFzdA=="}}]
            ToolCalls 17 in, 20 out, 3 cached
        "#]],
    );
    // One of them without a signature: none may be sent back.
    let unsigned: Vec<String> =
        events.into_iter().filter(|event| !event.contains("bGFzdA==")).collect();
    let ask = transcripts::ask("anthropic", "claude-opus-4-7");
    let read = recorded::read_all_ways(&Anthropic, &ask, stream(&unsigned).as_bytes());
    assert_eq!(read.answer.unwrap().native, None);
}

// Pitfall 3
#[test]
fn a_message_may_arrive_whole_with_its_start() {
    let start = r#"{"type":"message_start","message":{"id":"msg_1","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"Now."},{"type":"tool_use","id":"toolu_1","name":"look","input":{"path": "a"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}}"#;
    check(
        &[start, STOP],
        expect![[r#"
            thought "Hm."
            text "Now."
            call 1.1.0 toolu_1 look {"path": "a"}
            native anthropic anthropic.invalid claude-opus-4-7 [{"before":0,"block":{"type":"thinking","thinking":"Hm.","signature":"c2ln"}}]
            ToolCalls 1 in, 2 out, 0 cached
        "#]],
    );
}

#[test]
fn arguments_may_come_with_the_start_of_the_call() {
    let whole = CALL.replace("\"input\":{}", "\"input\":{\"path\": \"a\"}");
    check(
        &[START, &whole, &json(1, ""), &closed(1), &reason("tool_use"), STOP],
        expect![[r#"
            call 1.1.0 toolu_1 look {"path": "a"}
            ToolCalls 17 in, 20 out, 3 cached
        "#]],
    );
}

// D70, J54, pitfall 7: the service closes the block that the limit cut.
#[test]
fn calls_that_the_limit_cut_are_dropped_by_name() {
    let cut = |arguments: &str, stop: &[&str]| {
        let second = CALL.replace("\"index\":1", "\"index\":2").replace("look", "cut");
        let mut events = vec![START.to_owned(), CALL.to_owned(), json(1, "{}"), closed(1), second];
        events.push(json(2, arguments));
        events.extend(stop.iter().map(|event| (*event).to_owned()));
        events.extend([reason("max_tokens"), STOP.to_owned()]);
        events
    };
    let expected = || {
        expect![[r#"
            call 1.1.0 toolu_1 look {}
            dropped ["cut"]
            Length 17 in, 20 out, 3 cached
        "#]]
    };
    check(&cut("{\"path\": \"a", &[&closed(2)]), expected());
    check(&cut("", &[&closed(2)]), expected());
    check(&cut("{\"path\": \"a\"}", &[]), expected());
}

// K51, O30: not this reader's to judge; the core answers such a call with an error.
#[test]
fn arguments_that_are_not_json_are_kept_as_they_came() {
    check(
        &[START, CALL, &json(1, "{'path': a}"), &closed(1), &reason("tool_use"), STOP],
        expect![[r#"
            call 1.1.0 toolu_1 look {'path': a}
            ToolCalls 17 in, 20 out, 3 cached
        "#]],
    );
}

// K50, O29, X22
#[test]
fn a_call_needs_a_name_but_no_id() {
    let nobody = CALL.replace("toolu_1", "").replace("look", "");
    let unnamed = CALL.replace("look", "").replace("\"index\":1", "\"index\":2");
    let no_id = CALL.replace("\"id\":\"toolu_1\",", "").replace("\"index\":1", "\"index\":3");
    check(
        &[
            START,
            &nobody,
            &closed(1),
            &unnamed,
            &closed(2),
            &no_id,
            &closed(3),
            &reason("tool_use"),
            STOP,
        ],
        expect![[r#"
            call 1.1.0 - look {}
            dropped ["(unnamed)"]
            ToolCalls 17 in, 20 out, 3 cached
        "#]],
    );
}

#[test]
fn stop_reasons() {
    for (reason_given, expected) in [
        ("end_turn", "Stop"),
        ("stop_sequence", "Stop"),
        ("tool_use", "Stop"),
        ("compaction", "Stop"),
        ("something_new", "Stop"),
        ("max_tokens", "Length"),
        ("pause_turn", "Length"),
        ("model_context_window_exceeded", "Length"),
        ("refusal", "Refused"),
    ] {
        let body = stream(&[START, TEXT, &text(0, "a"), &closed(0), &reason(reason_given), STOP]);
        let ask = transcripts::ask("anthropic", "claude-opus-4-7");
        let answer = recorded::read_all_ways(&Anthropic, &ask, body.as_bytes()).answer.unwrap();
        assert_eq!(format!("{:?}", answer.finish), expected, "{reason_given}");
    }
    // Gateways say `end_turn` behind calls, too.
    check(
        &[START, CALL, &closed(1), &reason("end_turn"), STOP],
        expect![[r#"
            call 1.1.0 toolu_1 look {}
            ToolCalls 17 in, 20 out, 3 cached
        "#]],
    );
}

// J45, pitfall 1
#[test]
fn only_the_end_mark_is_an_end() {
    let whole = [START, TEXT, &text(0, "a"), &closed(0), &reason("end_turn"), STOP];
    for events in 0..whole.len() {
        check(
            &whole[..events],
            expect![[r#"
            no end mark
        "#]],
        );
    }
    // An event without its empty line never happened.
    let body = stream(&whole);
    check_body(
        body.trim_end(),
        expect![[r#"
        no end mark
    "#]],
    );
}

// J46, J56, pitfall 1
#[test]
fn nothing_behind_the_end_mark_counts() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let more = text(0, " more");
    let end = reason("max_tokens");
    check(
        &[
            START,
            TEXT,
            &text(0, "a"),
            &closed(0),
            &reason("end_turn"),
            STOP,
            STOP,
            "[DONE]",
            &more,
            &end,
            STOP,
            error,
        ],
        expect![[r#"
            text "a"
            Stop 17 in, 20 out, 3 cached
        "#]],
    );
}

// D56, pitfall 5
#[test]
fn an_error_event_is_an_error() {
    for (error, expected) in [
        (r#"{"type":"overloaded_error","message":"Overloaded"}"#, "Overloaded: Overloaded"),
        (
            r#"{"type":"api_error","message":"Internal server error"}"#,
            "Server: Internal server error",
        ),
        (r#"{"type":"rate_limit_error","message":"Slow down"}"#, "RateLimited: Slow down"),
        (
            r#"{"type":"authentication_error","message":"invalid x-api-key"}"#,
            "Auth: invalid x-api-key",
        ),
        (
            r#"{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}"#,
            "ContextOverflow: prompt is too long: 9 tokens > 8 maximum",
        ),
        (r#"{"code":429,"message":"later"}"#, "RateLimited: later"),
        (r#""just words""#, "Server: just words"),
    ] {
        for body in [
            format!(r#"{{"type":"error","error":{error},"request_id":"req_1"}}"#),
            format!(r#"{{"error":{error}}}"#),
        ] {
            let body = stream(&[START, TEXT, &text(0, "a"), &body]);
            let ask = transcripts::ask("anthropic", "claude-opus-4-7");
            let read = recorded::read_all_ways(&Anthropic, &ask, body.as_bytes());
            assert_eq!(print(&read), format!("failed {expected}\nno end mark\n"));
            // What came before stays valid, also where it came with the same bytes.
            assert_eq!(read.deltas.len(), 1);
        }
    }
}

// O32
#[test]
fn what_is_not_known_is_skipped() {
    check(
        &[
            START,
            "",
            "null",
            "17",
            "{}",
            "[DONE]",
            "not json",
            r#"{"type":"message_pause","delta":"a string","index":"x"}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}"#,
            &json(0, "{\"query\":\"x\"}"),
            &closed(0),
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"text":"hits"}],"text":[]}}"#,
            &closed(1),
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Found","citations":[]}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"cited_text":"hits"}}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"hologram_delta","text":{"not":"text"}}}"#,
            &text(2, "."),
            &closed(2),
            &closed(9),
            &reason("end_turn"),
            STOP,
        ],
        expect![[r#"
            text "Found."
            Stop 17 in, 20 out, 3 cached
        "#]],
    );
}

// O32, O33: deltas go to the block of their index, those without one to the latest.
#[test]
fn pieces_find_their_blocks() {
    check(
        &[
            START,
            &text(0, "no start, "),
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"no index"}}"#,
            &json(5, "{\"to\":\"nobody\"}"),
            CALL,
            CALL,
            &text(1, "not a text"),
            r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
            r#"{"type":"content_block_stop"}"#,
            &json(1, "late"),
            &reason("tool_use"),
            STOP,
        ],
        expect![[r#"
            text "no start, no index"
            call 1.1.0 toolu_1 look {}
            ToolCalls 17 in, 20 out, 3 cached
        "#]],
    );
}

// O32: a missing piece would not be noticed later, so the attempt fails.
#[test]
fn a_known_event_that_cannot_be_read_ends_the_answer() {
    let expected = || {
        expect![[r#"
            failed Malformed: an event of the stream could not be read
            no end mark
        "#]]
    };
    check(&[START, TEXT, r#"{"type":"content_block_delta","index":0,"delta":{"#], expected());
    let number =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":5}}"#;
    check(&[START, TEXT, number], expected());
}

#[test]
fn a_repeated_start_is_ignored_and_another_message_is_not() {
    let other = START.replace("msg_1", "msg_2");
    check(
        &[START, START, TEXT, &text(0, "a"), START, &closed(0), &reason("end_turn"), STOP],
        expect![[r#"
            text "a"
            Stop 17 in, 20 out, 3 cached
        "#]],
    );
    check(
        &[START, TEXT, &text(0, "a"), &other],
        expect![[r#"
            failed Malformed: another message began inside a message
            no end mark
        "#]],
    );
}

// Pitfall 13
#[test]
fn usage_is_cumulative_and_keeps_what_is_not_repeated() {
    let more = r#"{"type":"message_delta","delta":{},"usage":{"input_tokens":12,"cache_read_input_tokens":0,"output_tokens":30,"output_tokens_details":{"thinking_tokens":9}}}"#;
    let odd =
        r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":"many"}}"#;
    check(
        &[START, TEXT, &text(0, "a"), &closed(0), &reason("end_turn"), more, odd, STOP],
        expect![[r#"
            text "a"
            Stop 16 in, 30 out, 0 cached
        "#]],
    );
}

// J53
#[test]
fn a_refusal_is_not_an_answer() {
    let refusal = r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"category":"cyber"}},"usage":{"output_tokens":5}}"#;
    check(
        &[START, refusal, STOP],
        expect![[r#"
            Refused 17 in, 5 out, 3 cached
        "#]],
    );
}

// J60, in small: a stream cannot make the reader hold more than one event's bound.
#[test]
fn an_endless_event_is_an_error() {
    let ask = transcripts::ask("anthropic", "claude-opus-4-7");
    let body = vec![b'x'; piton_wire::sse::EVENT_BYTES_MAX + 1];
    let read = recorded::read(&Anthropic, &ask, &body, 1 << 20);
    assert_eq!(format!("{:?}", read.failure.unwrap().class), "TooLarge");
}
