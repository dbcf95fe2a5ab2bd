//! Every rule, with a body that breaks exactly it.

use piton_wire::openai_chat::Flavour;
use piton_wire::openai_chat::rules::{flavour_violations, violations};
use serde_json::{Value, json};

fn good() -> Value {
    json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 1,
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look."}]},
            {"role": "assistant", "content": null, "reasoning_content": "", "tool_calls": [
                call("abcdefgh1", "look", "{}"), call("abcdefgh2", "look", "{\"a\":1}")
            ]},
            {"role": "tool", "tool_call_id": "abcdefgh2", "content": "2"},
            {"role": "tool", "tool_call_id": "abcdefgh1", "content": "1"},
            {"role": "assistant", "content": "Seen.", "reasoning_content": ""},
            {"role": "user", "content": "Thanks."},
        ],
    })
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn rules(found: Vec<String>) -> Vec<String> {
    found.iter().map(|it| it.split(':').next().unwrap().to_owned()).collect()
}

/// Sets the value at a path and looks what breaks.
fn check(path: &str, value: Value, expected: &[&str]) {
    let mut body = good();
    set(&mut body, path, value);
    assert_eq!(rules(violations(&body)), expected, "{path}");
}

fn check_flavour(flavour: Flavour, path: &str, value: Value, expected: &[&str]) {
    let mut body = good();
    set(&mut body, path, value);
    assert_eq!(rules(flavour_violations(&body, flavour)), expected, "{flavour:?} {path}");
}

fn set(body: &mut Value, path: &str, value: Value) {
    if let Some(place) = body.pointer_mut(path) {
        *place = value;
    } else {
        let (parent, key) = path.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[key] = value;
    }
}

#[test]
fn a_good_body_breaks_nothing() {
    for flavour in super::FLAVOURS {
        assert_eq!(flavour_violations(&good(), flavour), [""; 0]);
    }
}

#[test]
fn calls_and_results() {
    let tool = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "1"});
    let user = json!({"role": "user", "content": "x"});
    check("/messages/4", user.clone(), &["C-TOOLCALL-NO-RESULT"]);
    check(
        "/messages/6",
        json!({"role": "assistant", "content": null, "tool_calls": [call("a", "b", "{}")]}),
        &["C-TOOLCALL-NO-RESULT"],
    );
    check("/messages/6", tool("abcdefgh1"), &["C-ORPHAN-TOOL"]);
    check("/messages/5", tool("other"), &["C-ORPHAN-TOOL"]);
    check("/messages/5", tool("abcdefgh1"), &["C-DUP-TOOL"]);
    check(
        "/messages/2/tool_calls",
        json!([
            call("abcdefgh1", "a", "{}"),
            call("abcdefgh1", "b", "{}"),
            call("abcdefgh2", "c", "{}")
        ]),
        &["C-DUP-ID"],
    );
    check("/messages/5/tool_calls", json!([]), &["C-EMPTY-TOOLCALLS"]);
}

#[test]
fn patterns() {
    for name in ["", "a b", "é", &"x".repeat(65)] {
        check("/messages/2/tool_calls/0/function/name", json!(name), &["C-NAME"]);
        check("/tools/0/function/name", json!(name), &["C-NAME"]);
    }
    let tool = json!({"type": "function", "function": {"name": "look"}});
    check("/tools", json!([tool, tool]), &["C-NAME"]);
    for word in ["oneOf", "anyOf", "allOf", "enum", "not"] {
        let schema = json!({"type": "object", "properties": {}, word: [{}]});
        check("/tools/0/function/parameters", schema, &["C-SCHEMA"]);
    }
    for schema in [json!({"properties": {}}), json!({"type": "string"}), json!([])] {
        check("/tools/0/function/parameters", schema, &["C-SCHEMA"]);
    }
    for arguments in [json!("{"), json!("[]"), json!({}), json!(null), json!("")] {
        check("/messages/2/tool_calls/0/function/arguments", arguments, &["C-ARGS-JSON"]);
    }
    for id in [String::new(), "x".repeat(65)] {
        let mut body = good();
        set(&mut body, "/messages/2/tool_calls/0/id", json!(id));
        set(&mut body, "/messages/4/tool_call_id", json!(id));
        assert_eq!(rules(violations(&body)), ["C-ID-LEN"]);
    }
    let mut body = good();
    set(&mut body, "/messages/2/tool_calls/0/id", json!("x".repeat(41)));
    set(&mut body, "/messages/4/tool_call_id", json!("x".repeat(41)));
    assert_eq!(rules(flavour_violations(&body, Flavour::OpenAi)), ["C-ID-LEN"]);
    assert_eq!(flavour_violations(&body, Flavour::OpenRouter), [""; 0]);
}

#[test]
fn contents() {
    for content in [json!(null), json!(""), json!([])] {
        check("/messages/6/content", content.clone(), &["C-CONTENT"]);
        check("/messages/5/content", content.clone(), &["C-CONTENT"]);
        check("/messages/4/content", content.clone(), &["C-CONTENT"]);
        check("/messages/0/content", content, &["C-CONTENT"]);
    }
    check("/messages/6/role", json!("narrator"), &["C-CONTENT"]);
    check("/messages", json!([]), &["C-CONTENT"]);
    let image = json!([{"type": "image_url", "image_url": {"url": "https://x.invalid"}}]);
    check("/messages/6/content", image.clone(), &[]);
    check("/messages/4/content", image.clone(), &["C-PARTTYPE"]);
    check("/messages/0/content", image.clone(), &["C-PARTTYPE"]);
    check_flavour(Flavour::DeepSeek, "/messages/6/content", image, &["D-TEXTONLY"]);
}

#[test]
fn the_frame() {
    let mut body = good();
    body["tools"] = json!([]);
    assert_eq!(rules(violations(&body)), ["C-EMPTY-TOOLS"]);
    body["tools"] = Value::Null;
    body["tool_choice"] = json!("none");
    assert_eq!(rules(violations(&body)), ["C-TOOLCHOICE"]);
    body["tool_choice"] = Value::Null;
    body["parallel_tool_calls"] = json!(true);
    assert_eq!(rules(violations(&body)), ["C-TOOLCHOICE"]);
    check("/stream", json!(false), &["C-STREAMOPT"]);
    check("/max_completion_tokens", json!(1), &["C-MAXTOK"]);
}

#[test]
fn flavours() {
    let assistant = json!({"role": "assistant", "content": "Seen."});
    check_flavour(Flavour::DeepSeek, "/messages/5", assistant, &["D-REASONING"]);
    check_flavour(Flavour::DeepSeek, "/tool_choice", json!("required"), &["D-TOOLCHOICE"]);
    check_flavour(Flavour::OpenAi, "/tool_choice", json!("required"), &[]);
    let mut body = good();
    set(&mut body, "/messages/2/tool_calls/0/id", json!("call_1"));
    set(&mut body, "/messages/4/tool_call_id", json!("call_1"));
    assert_eq!(rules(flavour_violations(&body, Flavour::Mistral)), ["M-ID"]);
    let mut body = good();
    body["messages"].as_array_mut().unwrap().pop();
    assert_eq!(rules(flavour_violations(&body, Flavour::Mistral)), ["M-ORDER"]);
    let twice = json!({"role": "user", "content": "x"});
    check_flavour(Flavour::Local, "/messages/5", twice, &["V-ALTERNATE"]);
    let system = json!({"role": "system", "content": "x"});
    check_flavour(Flavour::Local, "/messages/6", system, &["V-ALTERNATE"]);
    let assistant = json!({"role": "assistant", "content": "x"});
    check_flavour(
        Flavour::Local,
        "/messages/1",
        assistant.clone(),
        &["V-ALTERNATE", "V-ALTERNATE"],
    );
    check_flavour(Flavour::Local, "/messages/6", assistant, &["V-ALTERNATE"]);
}
