//! Every rule of the service's order, with a body that breaks just that one.

use piton_wire::gemini::rules::{violations, violations_for};
use serde_json::{Value, json};

/// A tool loop that breaks nothing.
fn good() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [
            {"name": "look", "description": "", "parametersJsonSchema": {"type": "object"}},
            {"name": "a.b:c-d", "description": ""},
        ]}],
        "contents": [
            {"role": "user", "parts": [{"text": "Look."}]},
            {"role": "model", "parts": [
                {"text": "Yes."},
                {"functionCall": {"id": "1", "name": "look", "args": {}}, "thoughtSignature": "QQ=="},
                {"functionCall": {"id": "2", "name": "look"}},
                {"text": "", "thoughtSignature": "QQ=="},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "2", "name": "look", "response": {"output": "b"}}},
                {"functionResponse": {"id": "1", "name": "look", "response": {"error": "a"}}},
                {"text": "Hurry."},
            ]},
        ],
    })
}

#[test]
fn a_good_body_breaks_nothing() {
    assert_eq!(violations_for("gemini-3-pro", &good()), [""; 0]);
}

/// Puts a value somewhere into the good body: over what is there, or as a new item or field.
fn with(place: &str, value: Value) -> Value {
    let mut body = good();
    if let Some(at) = body.pointer_mut(place) {
        *at = value;
        return body;
    }
    let (parent, last) = place.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap();
    if let Some(items) = parent.as_array_mut() {
        items.push(value);
    } else {
        parent[last] = value;
    }
    body
}

/// Takes something out of the good body.
fn without(place: &str) -> Value {
    let mut body = good();
    let (parent, last) = place.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap();
    if let Some(items) = parent.as_array_mut() {
        items.remove(last.parse().unwrap());
    } else {
        parent.as_object_mut().unwrap().remove(last);
    }
    body
}

fn check(cases: &[(&str, Value)]) {
    for (rule, body) in cases {
        let found = violations_for("gemini-3-pro", body);
        let ids: Vec<&str> = found.iter().map(|it| it.split_once(':').unwrap().0).collect();
        assert_eq!(ids, [*rule], "{found:?}\n{body:#}");
    }
}

fn says(role: &str) -> Value {
    json!({"role": role, "parts": [{"text": "So."}]})
}

fn responds(names: &[&str]) -> Value {
    let part = |name| json!({"functionResponse": {"name": name, "response": {}}});
    json!({"role": "user", "parts": names.iter().map(part).collect::<Vec<_>>()})
}

#[test]
fn calls_and_responses_out_of_place() {
    let mut text_first = good();
    text_first["contents"][2]["parts"].as_array_mut().unwrap().rotate_right(1);
    check(&[
        ("G-COUNT", without("/contents/2/parts/0")),
        ("G-COUNT", with("/contents/2", says("user"))),
        ("G-CALL-POSITION", without("/contents/0")),
        ("G-RESPONSE-POSITION", with("/contents", json!([responds(&["look"])]))),
        (
            "G-RESPONSE-POSITION",
            with("/contents", json!([says("user"), says("model"), responds(&["look"])])),
        ),
        ("G-RESPONSE-POSITION", text_first),
        ("G-TRAILING-CALL", without("/contents/2")),
        ("G-ENDS-MODEL", with("/contents/3", says("model"))),
        ("G-ALTERNATE", with("/contents/3", says("user"))),
        ("G-ALTERNATE", with("/contents", json!([says("model"), says("user")]))),
    ]);
}

#[test]
fn calls_and_responses_that_do_not_match() {
    let mut twice = with("/contents/1/parts/2/functionCall/id", json!("1"));
    twice["contents"][2]["parts"][0]["functionResponse"]["id"] = json!("1");
    let calls = json!([
        {"functionCall": {"name": "a"}, "thoughtSignature": "QQ=="},
        {"functionCall": {"name": "b"}},
    ]);
    let call = json!({"role": "model", "parts": calls});
    check(&[
        ("G-ID-MATCH", with("/contents/2/parts/0/functionResponse/id", json!("9"))),
        ("G-ID-MATCH", without("/contents/2/parts/0/functionResponse/id")),
        ("G-ID-MATCH", with("/contents/2/parts/0/functionResponse/name", json!("other"))),
        ("G-ID-MATCH", twice),
        ("G-ID-MATCH", with("/contents", json!([says("user"), call, responds(&["b", "a"])]))),
    ]);
}

#[test]
fn parts_without_content_or_with_too_much() {
    check(&[
        ("G-PARTS", with("/contents", json!([]))),
        ("G-PARTS", with("/contents/0/parts", json!([]))),
        ("G-PARTS", without("/contents/0/parts")),
        ("G-PARTS", with("/contents/0/parts/0", json!({}))),
        ("G-PARTS", with("/contents/0/parts/0/text", json!(""))),
        ("G-PARTS", with("/contents/0/parts/0/text", json!(5))),
        (
            "G-PARTS",
            with("/contents/0/parts/0/inlineData", json!({"mimeType": "a/b", "data": "QQ=="})),
        ),
        (
            "G-BLOB",
            with("/contents/0/parts/0", json!({"inlineData": {"mimeType": "a/b", "data": ""}})),
        ),
        ("G-BLOB", with("/contents/0/parts/0", json!({"inlineData": {"data": "QQ=="}}))),
        ("G-PARTS", with("/systemInstruction/parts/0", json!({}))),
        ("G-PARTS", with("/contents/1/parts/1/functionCall/args", json!([]))),
        ("G-PARTS", with("/contents/2/parts/0/functionResponse/response", json!("b"))),
        ("G-PARTS", without("/contents/2/parts/0/functionResponse/response")),
        ("G-SIG", without("/contents/1/parts/1/thoughtSignature")),
        ("G-SIG", with("/contents/1/parts/1/thoughtSignature", json!("not base64!"))),
        ("G-ROLE", with("/contents/0/role", json!("system"))),
        ("G-ROLE", without("/contents/0/role")),
    ]);
}

#[test]
fn tools_that_cannot_be_declared() {
    let name = |name: &str| with("/tools/0/functionDeclarations/0/name", json!(name));
    let second = "/tools/0/functionDeclarations/1";
    check(&[
        ("G-NAME", name("1st")),
        ("G-NAME", name(&"a".repeat(65))),
        ("G-NAME", name("a b")),
        ("G-NAME", name("")),
        ("G-DUP-DECL", name("a.b:c-d")),
        ("G-SCHEMA", with(&format!("{second}/parameters"), json!({"type": "STRING"}))),
        ("G-SCHEMA", with(&format!("{second}/parametersJsonSchema"), json!([]))),
        ("G-SCHEMA", with(&format!("{second}/parametersJsonSchema"), json!({"anyOf": [{}]}))),
    ]);
}

#[test]
fn signatures_are_asked_for_in_the_current_turn_of_new_models_only() {
    let unsigned = without("/contents/1/parts/1/thoughtSignature");
    for (model, count) in
        [("gemini-2.5-pro", 0), ("gemini-3.1-flash", 1), ("models/gemini-pro-latest", 1), ("", 0)]
    {
        assert_eq!(violations_for(model, &unsigned).len(), count, "{model}");
    }
    let mut named = unsigned.clone();
    named["model"] = json!("gemini-3-pro");
    assert_eq!((violations(&unsigned).len(), violations(&named).len()), (0, 1));
    let mut later = unsigned;
    let more = [
        json!({"role": "model", "parts": [{"text": "Done."}]}),
        json!({"role": "user", "parts": [{"text": "Thanks."}]}),
    ];
    later["contents"].as_array_mut().unwrap().extend(more);
    assert_eq!(violations_for("gemini-3-pro", &later), [""; 0]);
}

#[test]
fn roles_of_calls_and_responses() {
    let found = violations(&with("/contents/0/parts/1", json!({"functionCall": {"name": "look"}})));
    assert!(found.iter().any(|it| it.starts_with("G-ROLE")), "{found:?}");
    let response = json!({"functionResponse": {"name": "look", "response": {}}});
    let found = violations(&with("/contents/1/parts/4", response));
    assert!(found.iter().any(|it| it.starts_with("G-ROLE")), "{found:?}");
}
