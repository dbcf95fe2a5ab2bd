//! Streams written for every turn that the grammar can take, read in pieces of every size.

use expect_test::{Expect, expect};
use piton_core::event::AnswerPart;
use piton_wire::openai_responses::OpenAiResponses;
use serde_json::{Value, json};

use super::frame;
use crate::recorded::{Read, read_all_ways};

fn body(events: &[Value]) -> Vec<u8> {
    let events = events.iter().map(|event| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message"))
    });
    events.collect::<String>().into_bytes()
}

fn show(read: &Read) -> String {
    if let Some(failure) = &read.failure {
        let wait = failure.retry_after_ms.map(|ms| format!(" after {ms} ms")).unwrap_or_default();
        return format!("{:?}{wait}: {}", failure.class, failure.message);
    }
    let answer = match &read.answer {
        Ok(answer) => answer,
        Err(error) => return error.to_string(),
    };
    let mut lines: Vec<String> = answer
        .parts
        .iter()
        .map(|part| match part {
            AnswerPart::Text { text } => format!("text {text:?}"),
            AnswerPart::Reasoning { text } => format!("reasoning {text:?}"),
            AnswerPart::Call { call, provider_id, name, arguments } => {
                format!("call {} {provider_id:?} {name} {arguments}", call.index)
            }
        })
        .collect();
    lines.extend(answer.dropped.iter().map(|name| format!("dropped {name}")));
    lines.extend(answer.native.iter().map(|native| format!("native {}", native.raw)));
    let usage = answer.usage;
    let cost = format!("{} in, {} cached, {} out", usage.input, usage.cached, usage.output);
    lines.push(format!("{:?}, {cost}", answer.finish));
    lines.join("\n")
}

fn check(events: &[Value], expected: Expect) {
    check_bytes(&body(events), expected);
}

fn check_bytes(body: &[u8], expected: Expect) {
    expected.assert_eq(&show(&read_all_ways(&OpenAiResponses::Public, &frame(), body)));
}

fn added(index: u32, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u32, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn piece(kind: &str, index: u32, delta: &str) -> Value {
    let kind = format!("response.{kind}.delta");
    json!({"type": kind, "output_index": index, "item_id": "x", "delta": delta})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
        "arguments": arguments, "status": "completed"})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": [],
        "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}}}})
}

fn incomplete(reason: &str) -> Value {
    json!({"type": "response.incomplete", "response": {"status": "incomplete",
        "incomplete_details": {"reason": reason}, "output": []}})
}

#[test]
fn text_comes_in_pieces() {
    check(
        &[
            json!({"type": "response.created", "response": {"id": "resp_1", "output": []}}),
            added(0, json!({"type": "message", "id": "msg_1", "content": []})),
            json!({"type": "response.content_part.added", "output_index": 0,
                "part": {"type": "output_text", "text": ""}}),
            piece("output_text", 0, "Grüezi "),
            piece("output_text", 0, "🧗\n\"hi\""),
            json!({"type": "response.output_text.done", "output_index": 0,
                "text": "Grüezi 🧗\n\"hi\""}),
            done(0, message("Grüezi 🧗\n\"hi\"")),
            completed(),
        ],
        expect![[r#"
            text "Grüezi 🧗\n\"hi\""
            Stop, 9 in, 4 cached, 5 out"#]],
    );
}

// D57: an answer of calls only
#[test]
fn calls_come_with_pieces_or_whole() {
    check(
        &[
            added(0, call("call_a", "look", "")),
            piece("function_call_arguments", 0, "{\"path\":"),
            piece("function_call_arguments", 0, "\"a\"}"),
            json!({"type": "response.function_call_arguments.done", "output_index": 0,
                "arguments": "{\"path\":\"a\"}"}),
            done(0, call("call_a", "look", "{\"path\":\"a\"}")),
            done(1, call("call_b", "look", "{\"path\":\"b\"}")),
            completed(),
        ],
        expect![[r#"
            call 0 Some("call_a") look {"path":"a"}
            call 1 Some("call_b") look {"path":"b"}
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

// J56: an end mark or item that comes twice
#[test]
fn what_comes_twice_counts_once() {
    check(
        &[
            added(0, call("call_a", "look", "")),
            added(0, call("call_a", "look", "")),
            done(0, call("call_a", "look", "{}")),
            done(0, call("call_a", "look", "{}")),
            done(1, message("Hi")),
            done(1, message("Hi")),
            completed(),
            completed(),
            piece("output_text", 1, " and more"),
        ],
        expect![[r#"
            call 0 Some("call_a") look {}
            text "Hi"
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

// O33: pieces are matched by call id, then item id, then index
#[test]
fn interleaved_calls_on_a_host_that_does_not_count() {
    let piece = |key: &str, id: &str, delta: &str| {
        let kind = "response.function_call_arguments.delta";
        json!({"type": kind, "output_index": 0, "delta": delta, key: id})
    };
    check(
        &[
            added(0, call("call_a", "look", "")),
            added(0, call("call_b", "find", "")),
            piece("item_id", "fc_call_a", "{\"a\":"),
            piece("call_id", "call_b", "{\"b\":"),
            piece("item_id", "fc_call_b", "2}"),
            piece("call_id", "call_a", "1}"),
            done(0, call("call_a", "look", "{\"a\":1}")),
            done(0, call("call_b", "find", "{\"b\":2}")),
            completed(),
        ],
        expect![[r#"
            call 0 Some("call_a") look {"a":1}
            call 1 Some("call_b") find {"b":2}
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

// Pitfall 2
#[test]
fn ids_may_change_with_every_event() {
    let rename = |mut item: Value, id: &str| {
        item["id"] = id.into();
        item
    };
    check(
        &[
            added(0, rename(message(""), "m1")),
            piece("output_text", 0, "Hi"),
            done(0, rename(message("Hi"), "m2")),
            added(1, rename(call("call_a", "look", ""), "f1")),
            piece("function_call_arguments", 1, "{}"),
            done(1, rename(call("call_a", "look", "{}"), "f2")),
            completed(),
        ],
        expect![[r#"
            text "Hi"
            call 0 Some("call_a") look {}
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

// D55: gaps and any order of indices
#[test]
fn items_are_ordered_by_index() {
    check(
        &[
            done(7, message("last")),
            done(2, call("call_a", "look", "{}")),
            done(4, message("middle")),
            completed(),
        ],
        expect![[r#"
            call 0 Some("call_a") look {}
            text "middle"
            text "last"
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

// O29, X22
#[test]
fn a_call_needs_a_name_but_no_id() {
    check(
        &[done(0, call("", "look", "{}")), done(1, call("call_b", "", "{}")), completed()],
        expect![[r#"
            call 0 None look {}
            dropped (unnamed)
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

// D54, K50: empty arguments of a whole answer
#[test]
fn empty_arguments_mean_none_when_the_model_was_done() {
    check(
        &[done(0, call("call_a", "look", "")), completed()],
        expect![[r#"
            call 0 Some("call_a") look {}
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

// D70, J54, pitfall 7
#[test]
fn calls_cut_by_the_limit_are_dropped_by_name() {
    let mut cut = call("call_c", "cut", "{\"path\":\"a");
    cut["status"] = "incomplete".into();
    check(
        &[
            done(0, call("call_a", "whole", "{\"path\":\"a\"}")),
            done(1, call("call_b", "empty", "")),
            done(2, cut),
            done(3, call("call_d", "broken", "{\"path\":")),
            added(4, call("call_e", "open", "")),
            piece("function_call_arguments", 4, "{}"),
            incomplete("max_output_tokens"),
        ],
        expect![[r#"
            call 0 Some("call_a") whole {"path":"a"}
            dropped empty
            dropped cut
            dropped broken
            dropped open
            Length, 0 in, 0 cached, 0 out"#]],
    );
}

// K51, O30: kept as they came, for the core to refuse
#[test]
fn broken_arguments_of_a_whole_answer_are_kept() {
    check(
        &[done(0, call("call_a", "look", "{\"path\":")), completed()],
        expect![[r#"
            call 0 Some("call_a") look {"path":
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

#[test]
fn arguments_in_two_versions_are_not_run() {
    check(
        &[
            added(0, call("call_a", "look", "")),
            piece("function_call_arguments", 0, "{\"path\":\"a\"}"),
            done(0, call("call_a", "look", "{\"path\":\"b\"}")),
            added(1, call("call_b", "find", "")),
            piece("function_call_arguments", 1, "{\"path\":\"a\"}"),
            done(1, call("call_b", "find", "{ \"path\": \"a\" }")),
            completed(),
        ],
        expect![[r#"
            call 0 Some("call_b") find {"path":"a"}
            dropped look
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

#[test]
fn a_call_that_was_never_closed_is_dropped() {
    check(
        &[
            added(0, call("call_a", "look", "")),
            piece("function_call_arguments", 0, "{}"),
            completed(),
        ],
        expect![[r#"
            dropped look
            Stop, 9 in, 4 cached, 5 out"#]],
    );
}

#[test]
fn the_list_at_the_end_stands_in_for_items_that_did_not_come() {
    let mut end = completed();
    end["response"]["output"] = json!([message("Hi"), call("call_a", "look", "{}")]);
    check(
        &[end.clone()],
        expect![[r#"
            text "Hi"
            call 0 Some("call_a") look {}
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
    check(
        &[piece("output_text", 0, "H"), done(1, call("call_a", "look", "{}")), end],
        expect![[r#"
            text "Hi"
            call 0 Some("call_a") look {}
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

#[test]
fn a_finished_item_tops_up_what_its_pieces_left_out() {
    check(
        &[piece("output_text", 0, "Hello"), done(0, message("Hello, world")), completed()],
        expect![[r#"
            text "Hello, world"
            Stop, 9 in, 4 cached, 5 out"#]],
    );
}

#[test]
fn reasoning_is_readable_and_kept_for_replay() {
    let item = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA=",
        "summary": [{"type": "summary_text", "text": "First."},
            {"type": "summary_text", "text": "Then."}]});
    let summary = |part: u32, delta: &str| {
        let kind = "response.reasoning_summary_text.delta";
        json!({"type": kind, "output_index": 0, "summary_index": part, "delta": delta})
    };
    check(
        &[
            added(0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
            summary(0, "First"),
            summary(0, "."),
            summary(1, "Then."),
            done(0, item),
            done(1, call("call_a", "look", "{}")),
            completed(),
        ],
        expect![[r#"
            reasoning "First.\n\nThen."
            call 0 Some("call_a") look {}
            native [{"call":0,"reasoning":[{"encrypted_content":"gAAA=","id":"rs_1","summary":[{"text":"First.","type":"summary_text"},{"text":"Then.","type":"summary_text"}],"type":"reasoning"}]}]
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

#[test]
fn raw_reasoning_of_open_models_is_readable() {
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}]});
    check(
        &[
            piece("reasoning_text", 0, "Hm."),
            done(0, item.clone()),
            done(1, item),
            done(2, message("4")),
            completed(),
        ],
        expect![[r#"
            reasoning "Hm."
            reasoning "Hm."
            text "4"
            Stop, 9 in, 4 cached, 5 out"#]],
    );
}

#[test]
fn reasoning_is_kept_only_with_what_it_led_to() {
    let reasoning = |content: &str| json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": content});
    let mut comment = message("Looking.");
    comment["phase"] = "commentary".into();
    check(
        &[
            done(0, reasoning("to a hosted tool")),
            done(1, json!({"type": "web_search_call", "id": "ws_1", "status": "completed"})),
            done(2, reasoning("to the comment")),
            done(3, comment),
            done(4, reasoning("to the call")),
            done(5, reasoning("to the call too")),
            done(6, call("call_a", "look", "{}")),
            done(7, reasoning("to nothing")),
            completed(),
        ],
        expect![[r#"
            text "Looking."
            call 0 Some("call_a") look {}
            native [{"text":0,"reasoning":[{"encrypted_content":"to the comment","id":"rs_1","summary":[],"type":"reasoning"}],"phase":"commentary"},{"call":0,"reasoning":[{"encrypted_content":"to the call","id":"rs_1","summary":[],"type":"reasoning"},{"encrypted_content":"to the call too","id":"rs_1","summary":[],"type":"reasoning"}]}]
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

// J53
#[test]
fn a_refusal_is_a_refusal() {
    let item = json!({"type": "message", "id": "msg_1",
        "content": [{"type": "refusal", "refusal": "I cannot."}]});
    check(
        &[piece("refusal", 0, "I can"), done(0, item.clone()), completed()],
        expect![[r#"
            text "I cannot."
            Refused, 9 in, 4 cached, 5 out"#]],
    );
    check(
        &[done(0, item), completed()],
        expect![[r#"
            text "I cannot."
            Refused, 9 in, 4 cached, 5 out"#]],
    );
    check(
        &[
            done(0, message("So")),
            done(1, call("call_a", "look", "")),
            incomplete("content_filter"),
        ],
        expect![[r#"
            text "So"
            dropped look
            Refused, 0 in, 0 cached, 0 out"#]],
    );
}

#[test]
fn custom_tools_give_their_input() {
    let mut item = json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_a",
        "name": "run", "input": ""});
    let opened = added(0, item.clone());
    item["input"] = "print(1)".into();
    check(
        &[opened, piece("custom_tool_call_input", 0, "print"), done(0, item), completed()],
        expect![[r#"
            call 0 Some("call_a") run print(1)
            ToolCalls, 9 in, 4 cached, 5 out"#]],
    );
}

// O32: what is unknown, of another type or out of order
#[test]
fn strange_events_cost_nothing_but_themselves() {
    check(
        &[
            json!({"type": "response.audio.delta", "delta": {"data": 1}}),
            json!({"type": "codex.rate_limits", "output_index": "no"}),
            json!({"no": "type", "delta": {}}),
            json!({"type": "keepalive", "sequence_number": 3}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": null}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": 5}}),
            done(1, json!({"type": "tool_search_call", "arguments": {"q": 1}, "call_id": null})),
            done(2, json!({"type": "message", "content": "no list", "phase": 5, "id": 7})),
            done(3, json!({"type": "function_call", "name": "look", "arguments": {"path": "a"}})),
            piece("output_text", 3, "late"),
            json!({"type": "response.completed", "response": {"usage": {"input_tokens": "many"}}}),
        ],
        expect![[r#"
            call 0 None look {"path":"a"}
            text "late"
            ToolCalls, 0 in, 0 cached, 0 out"#]],
    );
}

// O31, pitfall 1
#[test]
fn gateways_add_lines() {
    let mut bytes = b": ping\n\ndata: [DONE]\n\ndata: ping\n\n{\"type\":\"raw\"}\n\n".to_vec();
    bytes.extend(body(&[done(0, message("Hi")), completed()]));
    bytes.extend(b"event: data\ndata: [DONE]\n\ndata: {broken\n\n");
    check_bytes(
        &bytes,
        expect![[r#"
            text "Hi"
            Stop, 9 in, 4 cached, 5 out"#]],
    );
    let crlf = String::from_utf8(body(&[piece("output_text", 0, "é"), completed()])).unwrap();
    check_bytes(
        crlf.replace('\n', "\r\n").as_bytes(),
        expect![[r#"
            text "é"
            Stop, 9 in, 4 cached, 5 out"#]],
    );
}

// J45, D56: only the end mark is an end
#[test]
fn a_body_that_just_ends_was_cut() {
    check(
        &[done(0, message("Hi")), done(1, call("call_a", "look", "{}"))],
        expect!["the stream ended without its end mark after 8 bytes"],
    );
    check_bytes(b"", expect!["the stream ended without its end mark after 0 bytes"]);
    let mut unterminated = body(&[done(0, message("Hi")), completed()]);
    unterminated.truncate(unterminated.len() - 1);
    check_bytes(&unterminated, expect!["the stream ended without its end mark after 2 bytes"]);
}

// J46
#[test]
fn errors_in_the_stream_are_errors() {
    let failed = |code: &str, message: &str| {
        let error = json!({"code": code, "message": message});
        json!({"type": "response.failed", "response": {"status": "failed", "error": error}})
    };
    check(
        &[
            piece("output_text", 0, "H"),
            failed("rate_limit_exceeded", "Limit. Please try again in 1.5s."),
        ],
        expect!["RateLimited after 1500 ms: Limit. Please try again in 1.5s."],
    );
    check(&[failed("context_length_exceeded", "Too long.")], expect!["ContextOverflow: Too long."]);
    check(&[failed("something_new", "What?")], expect!["Server: What?"]);
    check(
        &[json!({"type": "response.failed", "response": {"error": null}})],
        expect!["Server: the provider gave up without a reason"],
    );
    check(
        &[json!({"type": "error", "code": "server_error", "message": "Sorry."})],
        expect!["Server: Sorry."],
    );
    check(
        &[json!({"type": "error", "error": {"code": "insufficient_quota", "message": "Pay."}})],
        expect!["Quota: Pay."],
    );
    check(
        &[json!({"error": {"message": "Overloaded upstream", "code": 502}})],
        expect!["Overloaded: Overloaded upstream"],
    );
    check(
        &[json!({"type": "response.completed",
            "response": {"status": "failed", "error": {"code": "slow_down"}}})],
        expect!["Overloaded: slow_down"],
    );
    check_bytes(
        b"data: {\"type\":\"response.output_text.delta\",\"delta\":\n\n",
        expect!["Malformed: an event of the stream is no JSON"],
    );
    // A connection that breaks behind the end mark broke nothing.
    check(&[completed(), failed("server_error", "Sorry.")], expect!["Stop, 9 in, 4 cached, 5 out"]);
}
