//! The description of the interface, held against what it really answers.

use std::collections::BTreeSet;

use axum::body::Body;
use serde_json::{Value, json};

use crate::stage::{Stage, told};

const SLOW: &str = r#"{"steps":[{"say":"slowly said","chunk":1,"chunk_ms":1000}]}"#;
const TALK: &str = r#"{"steps":[{"say":"one"},{"say":"two"}]}"#;

async fn description(stage: &Stage) -> Value {
    let request = stage.request("GET", "/api/openapi.json", Body::empty());
    let (status, body) = told(stage.send(request).await).await;
    assert_eq!(status.as_u16(), 200);
    body
}

/// The schema of an answer, with everything that it refers to.
fn schema(api: &Value, path: &str, method: &str, status: u16) -> Option<Value> {
    let answers = &api["paths"][path][method]["responses"];
    let class = format!("{}XX", status / 100);
    let answer = answers.get(status.to_string()).or_else(|| answers.get(class))?;
    let schema = answer["content"]["application/json"]["schema"].clone();
    Some(json!({ "allOf": [schema], "components": api["components"] }))
}

#[tokio::test(start_paused = true)]
async fn every_described_path_answers_as_it_is_described() {
    let stage = Stage::new(TALK);
    let api = description(&stage).await;
    assert!(api["openapi"].as_str().unwrap().starts_with("3.1"));
    let id = stage.said("go").await;
    let mut asked = 0;
    for (path, methods) in api["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(operation["operationId"].is_string(), "{path} {method}");
            if path.ends_with("/events") {
                continue;
            }
            for known in [id.as_str(), "abcdefghjk"] {
                let real = path
                    .replace("{id}", known)
                    .replace("{conversation}", known)
                    .replace("{question}", "q")
                    .replace("{message}", "m")
                    .replace("{verb}", "continue")
                    .replace("{call}", "1.1.0")
                    .replace("{blob}", "0");
                let query = if path.ends_with("/search") { "?q=go" } else { "" };
                let body = if method == "get" { Body::empty() } else { Body::from("{}") };
                let method = method.to_uppercase();
                let request = stage.request(&method, &format!("{real}{query}"), body);
                let (status, body) = told(stage.send(request).await).await;
                let (method, status) = (method.to_lowercase(), status.as_u16());
                assert!(status < 500, "{method} {real}: {status} {body}");
                let kind = &body["error"]["kind"];
                assert!(kind != "unknown_path" && kind != "wrong_method", "{method} {real}");
                let schema = schema(&api, path, &method, status)
                    .unwrap_or_else(|| panic!("{method} {path}: {status} is not described"));
                let check = jsonschema::draft202012::new(&schema).unwrap();
                let wrong: Vec<_> = check.iter_errors(&body).map(|it| it.to_string()).collect();
                assert!(wrong.is_empty(), "{method} {real} {status}: {wrong:?} {body}");
                asked += 1;
            }
        }
    }
    assert!(50 <= asked, "{asked}");
}

/// What a description refers to.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(ToOwned::to_owned));
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test(start_paused = true)]
async fn names_are_given_once_and_every_reference_leads_somewhere() {
    let stage = Stage::new(TALK);
    let api = description(&stage).await;
    let methods = api["paths"].as_object().unwrap().values().flat_map(|it| it.as_object().unwrap());
    let mut names: Vec<_> = methods.map(|(_, it)| it["operationId"].as_str().unwrap()).collect();
    let given = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), given, "{names:?}");
    let mut found = Vec::new();
    references(&api, &mut found);
    assert!(100 < found.len(), "{}", found.len());
    for reference in found {
        let place = reference.strip_prefix('#').unwrap();
        assert!(api.pointer(place).is_some(), "{reference} leads nowhere");
    }
    // One of this crate and one of the core under the same name would be one schema for two things.
    let schemas = &api["components"]["schemas"];
    assert!(schemas["Found"]["properties"]["path"].is_object(), "{}", schemas["Found"]);
    assert!(schemas["Hits"]["properties"]["hits"].is_object());
}

/// A schema of the description, by its name.
fn named(api: &Value, name: &str) -> jsonschema::Validator {
    let schema = format!("#/components/schemas/{name}");
    let schema = json!({ "$ref": schema, "components": api["components"] });
    jsonschema::draft202012::new(&schema).unwrap()
}

#[tokio::test(start_paused = true)]
async fn views_and_events_are_as_they_are_described() {
    let stage = Stage::new(SLOW);
    let api = description(&stage).await;
    let id = stage.begin().await;
    let mut listener = stage.listen(&format!("c={id}&list=1"), None).await;
    stage.post(&format!("/conversations/{id}/messages"), json!({ "text": "go" })).await;
    let mut seen = BTreeSet::new();
    while seen.len() < 4 {
        let event = listener.next().await.unwrap();
        let form = match event.name.as_str() {
            "snapshot" => "SnapshotEvent",
            "change" => "ChangeEvent",
            "live" => "LiveEvent",
            "list" => "ListEvent",
            "bye" => break,
            other => {
                // A stream that only beats has told everything.
                assert_ne!(other, "beat", "only {seen:?}");
                continue;
            }
        };
        let check = named(&api, form);
        let wrong: Vec<_> = check.iter_errors(&event.data).map(|it| it.to_string()).collect();
        assert!(wrong.is_empty(), "{form}: {wrong:?} {}", event.data);
        seen.insert(form);
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_that_may_be_left_out_are_optional() {
    let stage = Stage::new(TALK);
    let api = description(&stage).await;
    let of = "/api/v1/conversations";
    for (path, form) in [
        (of.to_owned(), "NewConversation"),
        (format!("{of}/{{id}}/{{verb}}"), "Plain"),
        (format!("{of}/{{id}}/retry"), "RetryInput"),
        (format!("{of}/{{id}}/fork"), "ForkInput"),
    ] {
        let body = &api["paths"][&path]["post"]["requestBody"];
        let schema = &body["content"]["application/json"]["schema"];
        assert_eq!(schema, &json!({ "$ref": format!("#/components/schemas/{form}") }), "{path}");
        assert_eq!(body["required"], false, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn commands_are_described_as_they_are_read() {
    let stage = Stage::new(TALK);
    let api = description(&stage).await;
    let check = named(&api, "Envelope");
    let sent = |command: Value| json!({ "v": 1, "id": "c1", "command": command });
    for command in [
        json!({ "kind": "resume" }),
        json!({ "kind": "rename", "title": "t" }),
        json!({ "kind": "say", "parts": [{ "part": "Text", "text": "hi" }], "on_incomplete": "ask" }),
        json!({ "kind": "requeue", "message": "m", "change": "last" }),
        json!({ "kind": "answer", "inquiry": "q", "reply": { "kind": "allow" } }),
        json!({ "kind": "answer", "inquiry": "q", "reply": { "kind": "text", "value": "so" } }),
    ] {
        assert!(check.is_valid(&sent(command.clone())), "{command}");
        let text = sent(command.clone()).to_string();
        let read = piton::Envelope::from_text(&text).unwrap();
        assert!(matches!(read, piton_core::command::Opened::Command(_)), "{command}");
    }
    for odd in [json!({}), json!({ "kind": "levitate" }), json!({ "kind": "rename" })] {
        assert!(!check.is_valid(&sent(odd.clone())), "{odd}");
    }
    let mut unnamed = sent(json!({ "kind": "resume" }));
    unnamed["id"] = "a/b".into();
    assert!(!check.is_valid(&unnamed));
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_taken_are_as_they_are_described() {
    let stage = Stage::new(TALK);
    let api = description(&stage).await;
    let id = stage.begin().await;
    let of = "/api/v1/conversations/{id}";
    for (path, body) in [
        ("messages", json!({ "text": "go", "wait": false })),
        ("prompt", json!({ "text": "later", "place": "next", "wait": true })),
        ("fork", json!({ "at": { "turn": 1 } })),
    ] {
        let (status, body) = stage.ask("POST", &format!("/conversations/{id}/{path}"), body).await;
        assert!(status.is_success(), "{path}: {body}");
        let schema = schema(&api, &format!("{of}/{path}"), "post", status.as_u16()).unwrap();
        let check = jsonschema::draft202012::new(&schema).unwrap();
        assert!(check.is_valid(&body), "{path}: {body}");
    }
}
