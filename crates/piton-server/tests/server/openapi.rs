//! The description of the interface, held against what it really answers.

use axum::body::Body;
use serde_json::{Value, json};

use crate::stage::{Stage, told};

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

#[tokio::test(start_paused = true)]
async fn answers_that_are_taken_are_as_they_are_described() {
    let stage = Stage::new(TALK);
    let api = description(&stage).await;
    let id = stage.begin().await;
    let of = "/api/v1/conversations/{id}";
    for (path, body) in [
        ("messages", json!({ "text": "go", "wait": false })),
        ("prompt", json!({ "text": "later", "place": "next", "wait": true })),
        ("fork", json!({ "turn": 1 })),
    ] {
        let (status, body) = stage.ask("POST", &format!("/conversations/{id}/{path}"), body).await;
        assert!(status.is_success(), "{path}: {body}");
        let schema = schema(&api, &format!("{of}/{path}"), "post", status.as_u16()).unwrap();
        let check = jsonschema::draft202012::new(&schema).unwrap();
        assert!(check.is_valid(&body), "{path}: {body}");
    }
}
