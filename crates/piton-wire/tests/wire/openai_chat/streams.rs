//! Self-written streams: the grammar by the book, and every known deviation from it.

use piton_core::event::{FailureClass, Usage};
use piton_wire::openai_chat::Flavour;

use super::{check, deltas, events, read, told};

// D54, D57
#[test]
fn text_grows_and_ends() {
    check(
        r#"{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}
           {"index":0,"delta":{"content":"Hällo"}}
           {"index":0,"delta":{"content":" 🧗"}}
           {"index":0,"delta":{},"finish_reason":"stop"}
           [DONE]"#,
        "Hällo 🧗 | stop",
    );
}

#[test]
fn nothing_but_an_end_is_an_empty_answer() {
    check(r#"[DONE]"#, "stop");
    check(r#"{"index":0,"delta":{},"finish_reason":"stop"}"#, "stop");
}

// D54, D55
#[test]
fn calls_by_the_book() {
    check(
        r#"{"delta":{"content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":""}}]}}
           {"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\""}}]}}
           {"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"see","arguments":""}}]}}
           {"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}
           {"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}}
           {"delta":{},"finish_reason":"tool_calls"}
           [DONE]"#,
        r#"<look#a {"p":1}> | <see#b {}> | calls"#,
    );
}

// O33: id, then index, then the neighbour.
#[test]
fn fragments_find_their_call() {
    // No index at all.
    check(
        r#"{"delta":{"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{\"a\":"}},{"id":"b","function":{"name":"look","arguments":"{\"b\":"}}]}}
           {"delta":{"tool_calls":[{"id":"a","function":{"arguments":"1}"}},{"id":"b","function":{"arguments":"2}"}}]}}
           {"delta":{},"finish_reason":"tool_calls"}"#,
        r#"<look#a {"a":1}> | <look#b {"b":2}> | calls"#,
    );
    // Neither index nor id.
    check(
        r#"{"delta":{"tool_calls":[{"function":{"name":"look","arguments":"{\"a\":"}}]}}
           {"delta":{"tool_calls":[{"function":{"arguments":"1}"}}]}}
           {"delta":{"tool_calls":[{"function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}"#,
        r#"<look#- {"a":1}> | <look#- {}> | calls"#,
    );
    // Id and name with every fragment.
    check(
        r#"{"delta":{"tool_calls":[{"index":0,"id":"0","function":{"name":"look","arguments":""}}]}}
           {"delta":{"tool_calls":[{"index":0,"id":"0","function":{"name":"look","arguments":"{}"}}]}}
           {"delta":{},"finish_reason":"tool_calls"}"#,
        "<look#0 {}> | calls",
    );
    // Another id with every fragment, and an empty name.
    check(
        r#"{"delta":{"tool_calls":[{"index":0,"id":"r1","function":{"name":"look","arguments":"{\"a\""}}]}}
           {"delta":{"tool_calls":[{"index":0,"id":"r2","function":{"name":"","arguments":":1}"}}]}}
           {"delta":{},"finish_reason":"tool_calls"}"#,
        r#"<look#r1 {"a":1}> | calls"#,
    );
    // Indices from 1, with a gap.
    check(
        r#"{"delta":{"tool_calls":[{"index":1,"id":"a","function":{"name":"look","arguments":"{}"}}]}}
           {"delta":{"tool_calls":[{"index":5,"id":"b","function":{"name":"see","arguments":"{}"}}]},"finish_reason":"tool_calls"}"#,
        "<look#a {}> | <see#b {}> | calls",
    );
}

// X22, J58: repeated ids and indices are two calls where they are two.
#[test]
fn calls_that_look_alike_stay_apart() {
    check(
        r#"{"delta":{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"look","arguments":"{\"a\":1}"}}]}}
           {"delta":{"tool_calls":[{"index":1,"id":"call_0","function":{"name":"look","arguments":"{\"a\":2}"}}]},"finish_reason":"tool_calls"}"#,
        r#"<look#call_0 {"a":1}> | <look#call_0 {"a":2}> | calls"#,
    );
    check(
        r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}]}}
           {"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}"#,
        "<look#a {}> | <look#b {}> | calls",
    );
    check(
        r#"{"delta":{"tool_calls":[{"index":0,"function":{"name":"look","arguments":"{}"}}]}}
           {"delta":{"tool_calls":[{"index":0,"function":{"name":"look","arguments":"{}"}}]},"finish_reason":"stop"}"#,
        "<look#- {}> | <look#- {}> | calls",
    );
}

// O29, K50
#[test]
fn a_late_name_is_waited_for_and_a_missing_one_is_told() {
    check(
        r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"a\":"}}]}}
           {"delta":{"tool_calls":[{"index":0,"function":{"name":"look","arguments":"1}"}}]},"finish_reason":"tool_calls"}"#,
        r#"<look#a {"a":1}> | calls"#,
    );
    check(
        r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}"#,
        "!(unnamed) | calls",
    );
    check(
        r#"{"delta":{"content":"Hi.","tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":""}}]},"finish_reason":"stop"}"#,
        "Hi. | stop",
    );
    check(
        r#"{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}"#,
        "<look#- {}> | calls",
    );
}

// D54, K50: no arguments are no arguments only when the answer ended well.
#[test]
fn empty_arguments() {
    let call = r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":""}}]}}"#;
    check(
        &format!("{call}\n{{\"delta\":{{}},\"finish_reason\":\"tool_calls\"}}"),
        "<look#a {}> | calls",
    );
    check(&format!("{call}\n[DONE]"), "<look#a {}> | calls");
    check(&format!("{call}\n{{\"delta\":{{}},\"finish_reason\":\"length\"}}"), "!look | length");
    let object = r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":{"p": 1}}}]},"finish_reason":"tool_calls"}"#;
    check(object, r#"<look#a {"p": 1}> | calls"#);
    let null = r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":null}}]},"finish_reason":"tool_calls"}"#;
    check(null, "<look#a {}> | calls");
}

// D70, J54
#[test]
fn what_the_output_limit_cut_is_dropped_by_name() {
    let calls = r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"p\":1}"}},{"index":1,"id":"b","function":{"name":"see","arguments":"{\"p\":"}}]}}"#;
    let ends =
        |reason: &str| format!("{calls}\n{{\"delta\":{{}},\"finish_reason\":{reason}}}\n[DONE]");
    check(&ends("\"length\""), r#"<look#a {"p":1}> | !see | length"#);
    check(&ends("null"), r#"<look#a {"p":1}> | !see | calls"#);
    // K51, O30: kept as it came, so that the engine can answer it with an error.
    check(&ends("\"tool_calls\""), r#"<look#a {"p":1}> | <see#b {"p":> | calls"#);
}

// J53
#[test]
fn refusals() {
    check(
        r#"{"delta":{"refusal":"I"}}
           {"delta":{"refusal":" won't."}}
           {"delta":{},"finish_reason":"stop"}"#,
        "I won't. | refused",
    );
    check(r#"{"delta":{"content":"So"},"finish_reason":"content_filter"}"#, "So | refused");
}

// J45, J53: what was cut in the middle may have gone on otherwise
#[test]
fn a_refusal_that_was_cut_is_no_answer() {
    check(r#"{"delta":{"refusal":"I wo"}}"#, "cut");
    check("{\"delta\":{\"refusal\":\"I won't.\"}}\n[DONE]", "I won't. | refused");
}

#[test]
fn reasons_are_hints() {
    let call = r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}]}}"#;
    for reason in ["stop", "tool_calls", "function_call", "eos", "whatever"] {
        let end = format!("{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}");
        check(&format!("{call}\n{end}"), "<look#a {}> | calls");
        check(&format!("{{\"delta\":{{\"content\":\"Hi\"}}}}\n{end}"), "Hi | stop");
    }
    check("{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"\"}\n[DONE]", "Hi | stop");
    check(
        "{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"length\"}\n{\"delta\":{},\"finish_reason\":\"stop\"}",
        "Hi | length",
    );
    check(
        r#"{"delta":{"function_call":{"name":"look","arguments":"{\"a\""}}}
           {"delta":{"function_call":{"arguments":":1}"}},"finish_reason":"function_call"}"#,
        r#"<look#- {"a":1}> | calls"#,
    );
}

// J45
#[test]
fn a_body_without_an_end_was_cut() {
    check(r#"{"delta":{"content":"Hi"}}"#, "cut");
    check(r#"{"delta":{"content":"Hi"},"finish_reason":""}"#, "cut");
    check("", "cut");
    let unterminated = format!("{}data: [DONE]\n", deltas(r#"{"delta":{"content":"Hi"}}"#));
    assert_eq!(told(&read(Flavour::OpenAi, &unterminated).answer), "cut");
}

// J46, J56
#[test]
fn what_follows_the_end_is_ignored() {
    check(
        r#"{"delta":{"content":"Hi"},"finish_reason":"stop"}
           [DONE]
           {"delta":{"content":" again"}}
           {"error":{"message":"late"},"choices":[]}
           [DONE]"#,
        "Hi | stop",
    );
}

#[test]
fn thoughts_come_in_many_fields() {
    check(
        r#"{"delta":{"reasoning_content":"Hm"}}
           {"delta":{"reasoning_content":"m.","content":""}}
           {"delta":{"content":"Yes."},"finish_reason":"stop"}"#,
        "(Hmm.) | Yes. | stop",
    );
    check(
        r#"{"delta":{"reasoning":"Hm","reasoning_content":"Hm","reasoning_details":[{"type":"reasoning.text","text":"Hm"}]}}
           {"delta":{"content":"Yes.","reasoning":null},"finish_reason":"stop"}"#,
        "(Hm) | Yes. | stop",
    );
    check(
        r#"{"delta":{"reasoning_details":[{"type":"reasoning.summary","summary":"Hm"}]}}
           {"delta":{"content":[{"type":"text","text":"Yes."}]},"finish_reason":"stop"}"#,
        "(Hm) | Yes. | stop",
    );
    check(
        r#"{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}}
           {"delta":{"content":"Yes."}}
           {"delta":{"reasoning":"But"}}
           {"delta":{"content":"No."},"finish_reason":"stop"}"#,
        "(Hm) | Yes. | (But) | No. | stop",
    );
}

#[test]
fn only_the_first_choice_is_read() {
    check(
        r#"{"index":1,"delta":{"content":"B"},"finish_reason":"length"}
           {"index":0,"delta":{"content":"A"},"finish_reason":"stop"}"#,
        "A | stop",
    );
}

// O32
#[test]
fn oddities_are_skipped() {
    let body = ": OPENROUTER PROCESSING\n\nevent: ping\ndata: ping\n\ndata:\n\ndata: 5\n\n\
        data: {\"choices\":null,\"id\":\"\"}\n\ndata: {\"choices\":[],\"prompt_filter_results\":[]}\n\n\
        data: {\"choices\":\"none\"}\n\ndata: {}\n\n{\"choices\":[]}\n\n\
        data:{\"new\":{},\"choices\":[{\"delta\":{\"content\":\"Hi\",\"refusal\":\"\",\"tool_calls\":null,\"x\":[1]},\"logprobs\":{}}]}\r\n\r\n\
        data: {\"choices\":[{\"delta\":null,\"finish_reason\":\"stop\",\"index\":\"0\"}]}\n\ndata: [DONE]\n\n";
    let read = read(Flavour::Local, body);
    assert_eq!((told(&read.answer), read.failure), ("Hi | stop".into(), None));
}

#[test]
fn broken_json_fails_the_attempt() {
    let read = read(Flavour::OpenAi, &events("{\"choices\":[{\"delta\":{\"content\":\"Hi"));
    assert_eq!(read.failure.map(|failure| failure.class), Some(FailureClass::Malformed));
}

// D56
#[test]
fn errors_inside_a_stream() {
    let class = |event: &str| {
        let start = r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
        let read = read(Flavour::OpenRouter, &events(&format!("{start}\n{event}\n[DONE]")));
        read.failure.map(|failure| (failure.class, failure.message, failure.retry_after_ms))
    };
    let is = |class, message: &str, wait| Some((class, message.to_owned(), wait));
    assert_eq!(
        class(r#"{"error":{"message":"Sorry.","type":"server_error","param":null,"code":null}}"#),
        is(FailureClass::Server, "Sorry.", None)
    );
    assert_eq!(
        class(r#"{"choices":[{"delta":{"content":""}}],"error":{"code":400,"message":"Limit"}}"#),
        is(FailureClass::InvalidRequest, "Limit", None)
    );
    assert_eq!(
        class(r#"{"error":{"code":429,"message":"Slow. Try again in 2s"}}"#),
        is(FailureClass::RateLimited, "Slow. Try again in 2s", Some(2000))
    );
    assert_eq!(
        class(
            r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"gone"}}}"#
        ),
        is(FailureClass::Server, "Provider returned error: gone", None)
    );
    assert_eq!(
        class(
            r#"{"error":{"message":"Bad call","code":"tool_use_failed","failed_generation":"x"}}"#
        ),
        is(FailureClass::Malformed, "Bad call", None)
    );
    assert_eq!(class(r#"{"error":"gone"}"#), is(FailureClass::Server, "gone", None));
    assert_eq!(
        class(r#"{"object":"error","message":"too long: maximum context length","code":400}"#),
        is(FailureClass::ContextOverflow, "too long: maximum context length", None)
    );
    assert_eq!(class(r#"{"detail":"gone"}"#), is(FailureClass::Server, "gone", None));
    let word = r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#;
    assert_eq!(class(word).map(|failure| failure.0), Some(FailureClass::Server));
    let word = r#"{"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]}"#;
    assert_eq!(class(word).map(|failure| failure.0), Some(FailureClass::Overloaded));
    for nothing in ["null", "\"\"", "false", "{}"] {
        assert_eq!(class(&format!("{{\"choices\":[],\"error\":{nothing}}}")), None);
    }
}

#[test]
fn usage_in_all_its_places() {
    let usage = |lines: &str| {
        read(Flavour::OpenAi, &events(lines)).answer.map(|answer| answer.usage).unwrap()
    };
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let behind = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}"#;
    let expected = Usage { input: 10, output: 5, cached: 4 };
    assert_eq!(usage(&format!("{stop}\n{behind}\n[DONE]")), expected);
    assert_eq!(usage(&format!("{behind}\n{stop}\n{{\"choices\":[],\"usage\":null}}")), expected);
    let deepseek = r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":6}}"#;
    assert_eq!(usage(deepseek), expected);
    let moonshot = r#"{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":10.0,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}}]}"#;
    assert_eq!(usage(moonshot), expected);
    // Reasoning that is counted beside the output is part of it here.
    let beside = r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":4},"prompt_tokens_details":{"cached_tokens":4}}}"#;
    assert_eq!(usage(beside), expected);
}

// O31: Ollama's own interface, one object to a line; arguments are objects, calls have no ids.
#[test]
fn objects_one_to_a_line() {
    let body = concat!(
        r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"role":"assistant","content":"So: é"},"done":false}"#,
        "\r\n",
        r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":["#,
        r#"{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"f","arguments":{"x":2}}}"#,
        r#"]},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"role":"assistant","content":""},"done_reason":"stop","#,
        r#""done":true,"prompt_eval_count":7,"eval_count":3}"#,
        "\n",
    );
    let whole = read(Flavour::Local, body);
    assert_eq!(whole.answer.as_ref().unwrap().usage, Usage { input: 7, output: 3, cached: 0 });
    let told = told(&whole.answer);
    assert_eq!(told, r#"(Hm) | So: é | <f#- {"x":1}> | <f#- {"x":2}> | calls"#);
    // Without its last line it was cut.
    let cut = body.get(..body.len() / 2).unwrap();
    assert!(read(Flavour::Local, cut).answer.is_err());
}
