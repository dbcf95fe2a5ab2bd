//! The checker finds what it should: for every rule a body that breaks it and no other.

use piton_wire::anthropic::rules::violations;
use serde_json::{Value, json};

fn body(messages: Value) -> Value {
    json!({"model": "claude-sonnet-4-5", "max_tokens": 4096, "messages": messages})
}

fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

fn user() -> Value {
    json!({"role": "user", "content": "hi"})
}

fn said(role: &str, blocks: Value) -> Value {
    json!({"role": role, "content": blocks})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "look", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "ok"})
}

fn thought() -> Value {
    json!({"type": "thinking", "thinking": "", "signature": "c2ln"})
}

fn tool(name: &str) -> Value {
    json!({"name": name, "input_schema": {"type": "object"}})
}

/// A whole tool loop around the blocks of its answer and of what follows.
fn tool_loop(answer: Value, results: Value) -> Value {
    body(json!([user(), said("assistant", answer), said("user", results)]))
}

fn thinking(body: Value) -> Value {
    with(body, "thinking", json!({"type": "enabled", "budget_tokens": 2048}))
}

fn check(rule: &str, body: &Value) {
    let found = violations(body);
    assert!(!found.is_empty(), "{rule} is not found in {body}");
    assert!(found.iter().all(|found| found.starts_with(rule)), "{rule}: {found:?}");
}

#[test]
fn good_bodies_break_no_rule() {
    for body in [
        body(json!([user()])),
        body(json!([user(), user()])),
        tool_loop(
            json!([text("a"), call("1"), call("2")]),
            json!([result("2"), result("1"), text("b")]),
        ),
        thinking(tool_loop(json!([thought(), call("1")]), json!([result("1")]))),
        thinking(body(json!([user(), said("assistant", json!([text("a")])), user()]))),
        body(json!([user(), said("assistant", json!([text("a")]))])),
        body(json!([user(), said("assistant", json!([]))])),
    ] {
        assert_eq!(violations(&body), [""; 0], "{body}");
    }
}

#[test]
fn calls_and_results_match() {
    check("A-TOOLUSE-NO-RESULT", &tool_loop(json!([call("1"), call("2")]), json!([result("1")])));
    check("A-TOOLUSE-NO-RESULT", &tool_loop(json!([call("1")]), json!([text("a")])));
    check("A-TRAILING-TOOLUSE", &body(json!([user(), said("assistant", json!([call("1")]))])));
    check("A-AFTER-TOOLUSE", &tool_loop(json!([call("1"), text("a")]), json!([result("1")])));
    check("A-AFTER-TOOLUSE", &tool_loop(json!([call("1"), thought()]), json!([result("1")])));
    check("A-ORPHAN-RESULT", &body(json!([said("user", json!([result("1")]))])));
    check("A-ORPHAN-RESULT", &tool_loop(json!([text("a")]), json!([result("1")])));
    check("A-DUP-RESULT", &tool_loop(json!([call("1")]), json!([result("1"), result("1")])));
    check("A-RESULT-NOT-FIRST", &tool_loop(json!([call("1")]), json!([text("a"), result("1")])));
    check("A-DUP-ID", &tool_loop(json!([call("1"), call("1")]), json!([result("1")])));
}

#[test]
fn ids_names_and_contents_fit() {
    check("A-ID-PATTERN", &tool_loop(json!([call("a.b:0")]), json!([result("a.b:0")])));
    check("A-ID-PATTERN", &tool_loop(json!([call("")]), json!([result("")])));
    let server = json!({"type": "server_tool_use", "id": "srv-1", "name": "x", "input": {}});
    check("A-ID-PATTERN", &body(json!([user(), said("assistant", json!([server]))])));
    for name in ["", "a.b", &"a".repeat(129)] {
        let call = json!({"type": "tool_use", "id": "1", "name": name, "input": {}});
        check("A-TOOL-NAME", &tool_loop(json!([call]), json!([result("1")])));
        check("A-TOOL-NAME", &with(body(json!([user()])), "tools", json!([tool(name)])));
    }
    let twice = json!([tool("look"), tool("look")]);
    check("A-TOOL-NAME", &with(body(json!([user()])), "tools", twice));
    for blank in ["", " \n", "\u{1c}"] {
        check("A-EMPTY-TEXT", &body(json!([said("user", json!([text(blank), text("a")]))])));
    }
    check("A-EMPTY-TEXT", &with(body(json!([user()])), "system", json!([text("")])));
    check("A-EMPTY-CONTENT", &body(json!([said("user", json!([])), user()])));
    check("A-EMPTY-CONTENT", &body(json!([user(), said("assistant", json!("")), user()])));
    let empty = json!({"type": "tool_result", "tool_use_id": "1", "is_error": true, "content": ""});
    check("A-ERR-RESULT-EMPTY", &tool_loop(json!([call("1")]), json!([empty])));
    let input = json!({"type": "tool_use", "id": "1", "name": "look", "input": "{}"});
    check("SHAPE", &tool_loop(json!([input]), json!([result("1")])));
    let schema = json!([{"name": "look", "input_schema": {"type": "string"}}]);
    check("SHAPE", &with(body(json!([user()])), "tools", schema));
    for word in ["oneOf", "anyOf", "allOf"] {
        let schema = json!({"type": "object", word: [{}]});
        let tools = json!([{"name": "look", "input_schema": schema}]);
        check("A-TOOL-SCHEMA", &with(body(json!([user()])), "tools", tools));
    }
    check("SHAPE", &with(body(json!([user()])), "max_tokens", json!(null)));
    check("EMPTY", &body(json!([])));
}

#[test]
fn conversations_end_with_the_user() {
    let ends =
        |text_given: &str| body(json!([user(), said("assistant", json!([text(text_given)]))]));
    check("A-PREFILL-WS", &ends("a "));
    check("A-PREFILL-UNSUPPORTED", &with(ends("a"), "model", json!("claude-opus-4-6")));
    check("A-PREFILL-UNSUPPORTED", &thinking(ends("a")));
    let trailing = body(json!([user(), said("assistant", json!([thought(), text("a")]))]));
    check("(reverse)", &trailing);
}

#[test]
fn thinking_is_asked_for_as_it_must_be() {
    check("A-THINKING-FIRST", &thinking(tool_loop(json!([call("1")]), json!([result("1")]))));
    let unsigned = json!({"type": "thinking", "thinking": "a", "signature": ""});
    check(
        "A-THINKING-SIG",
        &body(json!([user(), said("assistant", json!([unsigned, text("a")])), user()])),
    );
    let hollow = json!({"type": "redacted_thinking", "data": ""});
    check(
        "A-THINKING-SIG",
        &body(json!([user(), said("assistant", json!([hollow, text("a")])), user()])),
    );
    for budget in [1023, 4096] {
        let enabled = json!({"type": "enabled", "budget_tokens": budget});
        check("A-THINKING-BUDGET", &with(body(json!([user()])), "thinking", enabled));
    }
    let asked = || thinking(body(json!([user()])));
    check("A-THINKING-TOOLCHOICE", &with(asked(), "tool_choice", json!({"type": "any"})));
    check("A-THINKING-SAMPLING", &with(asked(), "temperature", json!(0.5)));
    check("A-THINKING-SAMPLING", &with(asked(), "top_k", json!(5)));
    assert_eq!(violations(&with(asked(), "temperature", json!(1))), [""; 0]);
}

#[test]
fn cache_marks_are_few_and_well_placed() {
    let marked = |mut block: Value, mark: Value| {
        block["cache_control"] = mark;
        block
    };
    let mark = || json!({"type": "ephemeral"});
    let texts: Vec<Value> = (0..5).map(|_| marked(text("a"), mark())).collect();
    check("A-CACHE-4", &body(json!([said("user", json!(texts))])));
    let thought = marked(thought(), mark());
    check(
        "A-CACHE-TARGET",
        &body(json!([user(), said("assistant", json!([thought, text("a")])), user()])),
    );
    let lasting = json!({"type": "ephemeral", "ttl": "1h"});
    let order = json!([marked(text("a"), mark()), marked(text("b"), lasting)]);
    check("A-CACHE-TARGET", &body(json!([said("user", order)])));
}

#[test]
fn blocks_stand_where_they_belong() {
    let server = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "x", "input": {}});
    let found =
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let answer = |blocks: Value| body(json!([user(), said("assistant", blocks), user()]));
    assert_eq!(violations(&answer(json!([server, found, text("a")]))), [""; 0]);
    check("A-SERVER-PAIR", &answer(json!([server, text("a")])));
    check("A-SERVER-PAIR", &answer(json!([found, text("a")])));
    check("A-ROLE-BLOCK", &body(json!([said("user", json!([thought(), text("a")]))])));
    check("A-ROLE-BLOCK", &body(json!([said("user", json!([call("1")]))])));
    check("A-ROLE-BLOCK", &answer(json!([result("1")])));
    check("A-ROLE", &body(json!([user(), said("tool", json!("a")), user()])));
    check("A-ROLE", &body(json!([said("system", json!("a")), user()])));
}
