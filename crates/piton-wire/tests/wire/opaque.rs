//! Large opaque blocks are read like small ones: nothing is lost, moved or mixed up (O31, J45).

use piton_wire::Dialect;
use piton_wire::anthropic::Anthropic;
use piton_wire::gemini::Gemini;
use piton_wire::openai_chat::{Flavour, OpenAiChat};
use piton_wire::openai_responses::OpenAiResponses;

use crate::recorded::read_all_ways;
use crate::transcripts::ask;

/// The events of a stream. In place of `SEAL` stands what the provider wants back, and in place of
/// `WORD` a text that a tool is called with under the same key.
fn check(dialect: &dyn Dialect, model: &str, events: &[&str]) {
    let read = |seal: &str, word: &str| {
        let body = format!("data: {}\n\n", events.join("\n\ndata: "));
        let body = body.replace("SEAL", seal).replace("WORD", word);
        let read = read_all_ways(dialect, &ask("test", model), body.as_bytes());
        format!("{read:?}").replace(seal, "SEAL").replace(word, "WORD")
    };
    let small = read("c2VhbA==", "d29yZA==");
    assert!(small.contains("SEAL") && small.contains("WORD"), "{small}");
    assert!(small.contains("Native"), "{small}");
    let (seal, word) = ("c2Vh".repeat(4 * 1024), "d29y".repeat(4 * 1024));
    for (seal, word) in [(&*seal, &*word), (&*seal, "d29yZA=="), ("c2Vhbtest", &*word)] {
        assert_eq!(read(seal, word), small);
    }
}

#[test]
fn thoughts_and_arguments_of_anthropic() {
    check(
        &Anthropic,
        "claude-opus-4-7",
        &[
            r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SEAL"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data" : "SEAL"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"look","input":{"signature":"WORD","n":["lifted"]}}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    );
}

#[test]
fn details_and_arguments_of_chat() {
    check(
        &OpenAiChat { flavour: Flavour::OpenRouter },
        "m",
        &[
            r#"{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":"Hm","index":0,"id":{"data":"WORD"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"SEAL","index":1},{"data" : "SEAL","type":"reasoning.encrypted"}],"content":"So."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"look","arguments":{"data":"WORD","n":["lifted"]}}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        ],
    );
}

#[test]
fn items_and_arguments_of_responses() {
    let reasoning = r#"{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"SEAL"}"#;
    let call = r#"{"type":"function_call","id":"f","call_id":"c","name":"look","status":"completed","arguments":{"encrypted_content":"WORD","n":["lifted"]}}"#;
    let done = |index: u32, item: &str| {
        format!(r#"{{"type":"response.output_item.done","output_index":{index},"item":{item}}}"#)
    };
    let end = |items: &str| {
        format!(
            r#"{{"type":"response.completed","response":{{"id":"r","status":"completed","output":[{items}]}}}}"#
        )
    };
    let items = [reasoning, call].join(",");
    let (reasoning, call) = (done(0, reasoning), done(1, call));
    check(&OpenAiResponses::Public, "gpt-5", &[&reasoning, &call, &end(&items)]);
    check(&OpenAiResponses::Public, "gpt-5", &[&end(&items)]);
}

#[test]
fn parts_and_arguments_of_gemini() {
    check(
        &Gemini,
        "gemini-3-pro",
        &[
            r#"{"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true,"thoughtSignature":"SEAL"},{"thoughtSignature" : "SEAL"}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"thoughtSignature":"WORD","n":["lifted"]}},"thoughtSignature":"SEAL"}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"thoughtSignature":"WORD"}},"thoughtSignature":""}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}"#,
        ],
    );
}
