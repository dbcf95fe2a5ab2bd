//! Every rule has a body that breaks it, and it alone.

use piton_wire::openai_responses::rules::{codex_violations, violations};
use serde_json::{Value, json};

fn good() -> Value {
    json!({
        "model": "gpt-5", "instructions": "Be brief.", "store": false, "stream": true,
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
            {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So"}]},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
        ],
        "tools": [{"type": "function", "name": "look", "parameters": {}}],
    })
}

fn check(rule: &str, break_it: impl FnOnce(&mut Value)) {
    let mut body = good();
    break_it(&mut body);
    let found = codex_violations(&body);
    assert_eq!(found.len(), 1, "{rule}: {found:?}");
    assert!(found[0].starts_with(&format!("{rule}: ")), "{rule}: {found:?}");
}

fn push(body: &mut Value, item: Value) {
    body["input"].as_array_mut().unwrap().push(item);
}

#[test]
fn a_good_body_has_no_violations() {
    assert_eq!(violations(&good()), [""; 0]);
    assert_eq!(codex_violations(&good()), [""; 0]);
}

#[test]
fn every_rule_finds_what_breaks_it() {
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "1"});
    check("R-CALL-NO-OUTPUT", |body| push(body, call("b")));
    check("R-ORPHAN-OUTPUT", |body| push(body, output("b")));
    check("R-ORPHAN-OUTPUT", |body| {
        push(body, output("b"));
        push(body, call("b"));
    });
    check("R-REASONING-FOLLOW", |body| push(body, body["input"][1].clone()));
    check("R-REASONING-FOLLOW", |body| {
        push(body, body["input"][1].clone());
        push(body, body["input"][0].clone());
    });
    check("R-STATELESS-REF", |body| {
        push(body, json!({"type": "item_reference", "id": "msg_1"}));
    });
    check("R-STATELESS-REF", |body| body["input"][1]["encrypted_content"] = Value::Null);
    check("R-DUP-ITEM", |body| {
        body["input"][0]["id"] = "msg_1".into();
        body["input"][3]["id"] = "msg_1".into();
    });
    check("R-DUP-CALL", |body| push(body, call("a")));
    check("R-DUP-OUTPUT", |body| push(body, output("a")));
    check("R-ID-PREFIX", |body| body["input"][2]["id"] = "call_1".into());
    check("R-CALLID", |body| {
        let long = "a".repeat(65);
        push(body, call(&long));
        push(body, output(&long));
    });
    check("R-CALLID", |body| {
        push(body, call(""));
        push(body, output(""));
    });
    check("R-NAME", |body| body["input"][2]["name"] = "a tool".into());
    check("R-NAME", |body| body["tools"][0]["name"] = "".into());
    for word in ["oneOf", "anyOf", "allOf", "enum", "not"] {
        let schema = json!({"type": "object", "properties": {}, word: [{}]});
        check("R-SCHEMA", |body| body["tools"][0]["parameters"] = schema.clone());
    }
    for schema in [json!({"properties": {}}), json!({"type": "string"}), json!([])] {
        check("R-SCHEMA", |body| body["tools"][0]["parameters"] = schema.clone());
    }
    check("R-PARTTYPE", |body| body["input"][0]["content"][0]["type"] = "output_text".into());
    check("R-PARTTYPE", |body| body["input"][3]["content"][0]["type"] = "input_text".into());
    check("R-ROLE", |body| body["input"][0]["role"] = "tool".into());
    check("R-INPUT", |body| body["input"] = json!([]));
    check("R-INPUT", |body| body["input"] = json!(""));
}

#[test]
fn stored_reasoning_needs_a_named_item_behind_it() {
    let mut body = good();
    body["store"] = true.into();
    body["input"][1]["id"] = "rs_1".into();
    assert!(violations(&body)[0].starts_with("R-REASONING-FOLLOW: "));
    body["input"][2]["id"] = "fc_1".into();
    assert_eq!(violations(&body), [""; 0]);
}

#[test]
fn an_answer_needs_room() {
    let mut body = good();
    body["max_output_tokens"] = 15.into();
    assert!(violations(&body)[0].starts_with("R-MAXTOK: "));
}

#[test]
fn deepseek_wants_the_calls_of_a_step_in_a_row() {
    check("D-RESP-CONTIGUOUS", |body| {
        body["model"] = "deepseek-v4".into();
        let items = body["input"].as_array_mut().unwrap();
        items.insert(
            4,
            json!({"type": "function_call", "call_id": "b", "name": "look", "arguments": "{}"}),
        );
        items.push(json!({"type": "function_call_output", "call_id": "b", "output": "1"}));
    });
}

#[test]
fn codex_has_rules_of_its_own() {
    check("X-STREAM", |body| body["stream"] = false.into());
    check("X-INSTRUCTIONS", |body| body["instructions"] = Value::Null);
    check("X-SYSTEM", |body| body["input"][0]["role"] = "system".into());
    check("X-PARAM", |body| body["max_output_tokens"] = 100.into());
    check("X-PARAM", |body| body["temperature"] = 1.into());
    check("X-STORE", |body| body["store"] = true.into());
}
