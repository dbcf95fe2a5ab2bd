//! What answers mean. Every stream is read in both framings and in pieces of every size.

use expect_test::{Expect, expect};
use piton_core::event::{AnswerPart, FailureClass};
use piton_wire::gemini::Gemini;

use super::{array, events, gemini};
use crate::recorded::{Read, read, read_all_ways};

/// An answer in lines.
fn show(read: &Read) -> String {
    if let Some(failure) = &read.failure {
        return format!("{:?}: {failure}\n", failure.class);
    }
    let Ok(answer) = &read.answer else {
        return "cut\n".to_owned();
    };
    let mut lines = Vec::new();
    for part in &answer.parts {
        lines.push(match part {
            AnswerPart::Text { text } => format!("text {text:?}\n"),
            AnswerPart::Reasoning { text } => format!("thinks {text:?}\n"),
            AnswerPart::Call { provider_id, name, arguments, .. } => {
                format!("calls {name} {arguments} {}\n", provider_id.as_deref().unwrap_or("-"))
            }
        });
    }
    if let Some(native) = &answer.native {
        lines.push(format!("native {}\n", native.raw));
    }
    if !answer.dropped.is_empty() {
        lines.push(format!("dropped {:?}\n", answer.dropped));
    }
    let usage = answer.usage;
    let counts = format!("{} in ({} cached), {} out", usage.input, usage.cached, usage.output);
    lines.concat() + &format!("{:?}, {counts}\n", answer.finish)
}

fn check(values: &[&str], expected: Expect) {
    let ask = gemini("gemini-3-pro");
    let shown = show(&read_all_ways(&Gemini, &ask, events(values).as_bytes()));
    assert_eq!(show(&read_all_ways(&Gemini, &ask, array(values).as_bytes())), shown);
    expected.assert_eq(&shown);
}

/// A chunk with these parts.
fn parts(parts: &str) -> String {
    format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}},"index":0}}]}}"#)
}

/// The last chunk, with a finish reason.
fn stop(reason: &str) -> String {
    format!(
        r#"{{"candidates":[{{"finishReason":"{reason}"}}],"usageMetadata":{{"promptTokenCount":5}}}}"#
    )
}

#[test]
fn text_comes_in_pieces_and_counts_are_last_values() {
    check(
        &[
            r#"{"candidates":[{"content":{"parts":[{"text":"Gr\u00fc"}]}}],"usageMetadata":{"promptTokenCount":9,"thoughtsTokenCount":3,"trafficType":"X"}}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"ße 🧗"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":6,"toolUsePromptTokenCount":100}}"#,
        ],
        expect![[r#"
            text "Grüße 🧗"
            Stop, 110 in (4 cached), 9 out
        "#]],
    );
}

#[test]
fn odd_counts_cost_nothing_but_themselves() {
    check(
        &[
            r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":"many"}}"#,
        ],
        expect![[r#"
            text "a"
            Stop, 0 in (0 cached), 0 out
        "#]],
    );
}

// D57
#[test]
fn calls_come_whole_and_keep_their_bytes() {
    check(
        &[
            &parts(
                r#"{"functionCall":{"name":"look","args":{ "z": 1.0, "a": "\u00e4" }}},{"functionCall":{"name":"look","args":{},"id":"x7"}}"#,
            ),
            &stop("STOP"),
        ],
        expect![[r#"
            calls look { "z": 1.0, "a": "\u00e4" } -
            calls look {} x7
            ToolCalls, 5 in (0 cached), 0 out
        "#]],
    );
}

// K50, J58: missing arguments mean none, a missing id is fine, a call without a name is none.
#[test]
fn missing_arguments_are_none_at_a_normal_stop() {
    check(
        &[
            &parts(r#"{"functionCall":{"name":"now"}},{"functionCall":{}}"#),
            &parts(r#"{"functionCall":{"name":"now","args":null,"id":""}}"#),
            &stop("STOP"),
        ],
        expect![[r#"
            calls now {} -
            calls now {} -
            ToolCalls, 5 in (0 cached), 0 out
        "#]],
    );
}

// D70, J54
#[test]
fn missing_arguments_are_cut_off_at_a_length_stop() {
    check(
        &[
            &parts(
                r#"{"functionCall":{"name":"look","args":{"a":1}},"thoughtSignature":"QQ=="},{"functionCall":{"name":"now"}}"#,
            ),
            &stop("MAX_TOKENS"),
        ],
        expect![[r#"
            calls look {"a":1} -
            native [{"functionCall":{"name":"look","args":{"a":1}},"thoughtSignature":"QQ=="}]
            dropped ["now"]
            Length, 5 in (0 cached), 0 out
        "#]],
    );
}

// O29
#[test]
fn a_call_without_a_name_is_not_run() {
    check(
        &[&parts(r#"{"functionCall":{"args":{"a":1}}}"#), &stop("STOP")],
        expect![[r#"
            dropped ["(unnamed)"]
            Stop, 5 in (0 cached), 0 out
        "#]],
    );
}

// K48, pitfall 10: the signature of a text often stands alone on an empty last part.
#[test]
fn signed_parts_keep_their_bytes_and_bounds() {
    check(
        &[
            &parts(r#"{"text":"Hm. ","thought":true},{"text":"Ah.","thought":true}"#),
            &parts(r#"{"text":"One "}"#),
            &parts(r#"{"text":"two "},{"text":""},{ "text":"three", "thoughtSignature":"QUJD" }"#),
            &parts(r#"{"text":" four"},{"thoughtSignature":"Rw==","text":""}"#),
            &stop("STOP"),
        ],
        expect![[r#"
            thinks "Hm. Ah."
            text "One two three four"
            native [{"text":"One two "},{ "text":"three", "thoughtSignature":"QUJD" },{"text":" four"},{"thoughtSignature":"Rw==","text":""}]
            Stop, 5 in (0 cached), 0 out
        "#]],
    );
}

#[test]
fn a_signature_without_content_is_kept_on_an_empty_text() {
    check(
        &[
            &parts(r#"{"text":"a"},{"thoughtSignature":"Rw=="},{"thoughtSignature":""}"#),
            &stop("STOP"),
        ],
        expect![[r#"
            text "a"
            native [{"text":"a"},{"text":"","thoughtSignature":"Rw=="}]
            Stop, 5 in (0 cached), 0 out
        "#]],
    );
}

#[test]
fn tools_of_the_server_are_kept_verbatim() {
    check(
        &[
            &parts(r#"{"executableCode":{"code":"1+1"}},{"codeExecutionResult":{"output":"2"}}"#),
            &parts(r#"{"text":"Two."},{"toolCall":{"toolType":"X","id":"t"}}"#),
            &stop("STOP"),
        ],
        expect![[r#"
            text "Two."
            native [{"executableCode":{"code":"1+1"}},{"codeExecutionResult":{"output":"2"}},{"text":"Two."},{"toolCall":{"toolType":"X","id":"t"}}]
            Stop, 5 in (0 cached), 0 out
        "#]],
    );
}

// D54, D55, O33: fragments with a known id belong to that call, others to the one begun last.
#[test]
fn arguments_in_fragments_are_joined() {
    check(
        &[
            &parts(
                r#"{"functionCall":{"name":"a","willContinue":true},"thoughtSignature":"QQ=="}"#,
            ),
            &parts(
                r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.p","stringValue":"x","willContinue":true}],"willContinue":true}}"#,
            ),
            &parts(
                r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.p","stringValue":"y"}],"willContinue":true}}"#,
            ),
            &parts(r#"{"functionCall":{}}"#),
            &parts(r#"{"functionCall":{"id":"1","name":"b","willContinue":true}}"#),
            &parts(r#"{"functionCall":{"id":"2","name":"c","willContinue":true}}"#),
            &parts(
                r#"{"functionCall":{"id":"1","partialArgs":[{"jsonPath":"$.n","numberValue":1}]}}"#,
            ),
            &parts(r#"{"functionCall":{"id":"late"}}"#),
            &stop("STOP"),
        ],
        expect![[r#"
            calls a {"p":"xy"} -
            calls b {"n":1} 1
            calls c {} 2
            native [{"functionCall":{"args":{"p":"xy"},"name":"a"},"thoughtSignature":"QQ=="},{"functionCall":{"args":{"n":1},"id":"1","name":"b"}},{"functionCall":{"args":{},"id":"2","name":"c"}}]
            ToolCalls, 5 in (0 cached), 0 out
        "#]],
    );
}

// D70
#[test]
fn fragments_that_were_never_closed_or_do_not_fit_are_not_run() {
    check(
        &[
            &parts(r#"{"functionCall":{"name":"open","willContinue":true}}"#),
            &parts(
                r#"{"functionCall":{"id":"1","name":"odd","partialArgs":[{"jsonPath":"$.a[3]","boolValue":true}]}}"#,
            ),
            &stop("STOP"),
        ],
        expect![[r#"
            dropped ["open", "odd"]
            Stop, 5 in (0 cached), 0 out
        "#]],
    );
}

// J53
#[test]
fn filters_refuse() {
    for reason in ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "MODEL_ARMOR"]
    {
        check(
            &[&parts(r#"{"text":"I","thoughtSignature":"QQ=="}"#), &stop(reason)],
            expect![[r#"
                text "I"
                Refused, 5 in (0 cached), 0 out
            "#]],
        );
    }
    check(
        &[r#"{"promptFeedback":{"blockReason":"MODEL_ARMOR","blockReasonMessage":"no"}}"#],
        expect![[r#"
            Refused, 0 in (0 cached), 0 out
        "#]],
    );
}

#[test]
fn finish_reasons_may_be_numbers_and_names_of_the_future() {
    let number = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":2}]}"#;
    check(
        &[number],
        expect![[r#"
            text "a"
            Length, 0 in (0 cached), 0 out
        "#]],
    );
    for reason in ["OTHER", "ENOUGH_FOR_TODAY"] {
        check(
            &[&parts(r#"{"text":"a"}"#), &stop(reason)],
            expect![[r#"
                text "a"
                Stop, 5 in (0 cached), 0 out
            "#]],
        );
    }
}

// J45
#[test]
fn a_body_without_a_finish_reason_was_cut() {
    check(&[&parts(r#"{"text":"a"}"#)], expect!["cut\n"]);
    check(&[&parts(r#"{"text":"a"}"#), &stop("FINISH_REASON_UNSPECIFIED")], expect!["cut\n"]);
    check(&[], expect!["cut\n"]);
    check(&[r#"{"promptFeedback":{"safetyRatings":[]}}"#], expect!["cut\n"]);
}

// J55: an empty end is an end; the core asks again.
#[test]
fn an_empty_stop_is_an_empty_answer() {
    check(
        &[r#"{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}"#],
        expect![[r#"
            Stop, 0 in (0 cached), 0 out
        "#]],
    );
}

#[test]
fn a_call_that_the_service_could_not_read_is_asked_again() {
    check(
        &[
            &parts(r#"{"text":"I will now call"}"#),
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: look(("}]}"#,
        ],
        expect![[r#"
            Malformed: MALFORMED_FUNCTION_CALL Malformed function call: look((
        "#]],
    );
}

// J56: gateways stamp a finish reason on every chunk.
#[test]
fn the_last_finish_reason_counts() {
    check(
        &[
            r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":{}}}]},"finishReason":"STOP"}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"MAX_TOKENS"}]}"#,
        ],
        expect![[r#"
            calls a {} -
            text "b"
            Length, 0 in (0 cached), 0 out
        "#]],
    );
}

// J46
#[test]
fn errors_count_before_the_finish_reason_only() {
    let error =
        r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#;
    check(
        &[&parts(r#"{"text":"a"}"#), error],
        expect![[r#"
            Overloaded: UNAVAILABLE 503: The model is overloaded.
        "#]],
    );
    check(
        &[&parts(r#"{"text":"a"}"#), &stop("STOP"), error],
        expect![[r#"
            text "a"
            Stop, 5 in (0 cached), 0 out
        "#]],
    );
    check(
        &[r#"{"error":{"status":"RESOURCE_EXHAUSTED","message":"Please retry in 2.5s."}}"#],
        expect![[r#"
            RateLimited: RESOURCE_EXHAUSTED 429: Please retry in 2.5s.
        "#]],
    );
    check(
        &[r#"{"error":"no"}"#],
        expect![[r#"
            Server: status 500: no
        "#]],
    );
}

// O32
#[test]
fn what_is_not_known_is_skipped() {
    check(
        &[
            r#"{"ping":true}"#,
            r#"{"candidates":null,"promptFeedback":null,"usageMetadata":null,"error":null}"#,
            r#"{"candidates":"none"}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"another"}]},"index":1}]}"#,
            &parts(r#"{"hologram":{}},{"text":5},7,{"text":"a","mood":"fine"},{}"#),
            &stop("STOP"),
        ],
        expect![[r#"
            text "a"
            Stop, 5 in (0 cached), 0 out
        "#]],
    );
}

// O31, O32
#[test]
fn bytes_that_are_not_json_break_the_stream_before_its_end_only() {
    let ask = gemini("gemini-3-pro");
    let text = parts(r#"{"text":"a"}"#);
    let broken = format!("data: {text}\n\ndata: {{\"candidates\":[}}\n\n");
    let failure = read_all_ways(&Gemini, &ask, broken.as_bytes()).failure.unwrap();
    assert_eq!(failure.class, FailureClass::Malformed);
    let stopped = format!("data: {text}\n\ndata: {}\n\ndata: [DONE]\n\ndata: {{\n\n", stop("STOP"));
    assert!(read_all_ways(&Gemini, &ask, stopped.as_bytes()).answer.is_ok());
}

#[test]
fn an_unfinished_event_or_array_is_not_read() {
    let ask = gemini("gemini-3-pro");
    let whole = format!("[{},{}", parts(r#"{"text":"a"}"#), stop("STOP"));
    assert!(read_all_ways(&Gemini, &ask, whole.as_bytes()).answer.is_ok());
    for cut in [
        format!("data: {}\n", stop("STOP")),
        format!("data: {}", stop("STOP")),
        whole[..whole.len() - 1].to_owned(),
    ] {
        let read = read_all_ways(&Gemini, &ask, cut.as_bytes());
        assert!(read.answer.is_err() && read.failure.is_none(), "{cut}");
    }
}

#[test]
fn a_bare_error_is_one_too() {
    let ask = gemini("gemini-3-pro");
    let body = br#"{"error":{"code":500,"message":"Internal","status":"INTERNAL"}}"#;
    let failure = read_all_ways(&Gemini, &ask, body).failure.unwrap();
    assert_eq!(failure.class, FailureClass::Server);
}

// J60
#[test]
fn a_chunk_without_end_is_not_kept() {
    let ask = gemini("gemini-3-pro");
    let line = vec![b'x'; 17 * 1024 * 1024];
    for start in ["data: ", "[{\"a\":\""] {
        let body = [start.as_bytes(), &line].concat();
        let failure = read(&Gemini, &ask, &body, 1 << 20).failure.unwrap();
        assert_eq!(failure.class, FailureClass::TooLarge);
    }
}
