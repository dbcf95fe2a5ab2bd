//! Who waits for the answer of a message gets the answer of that message.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::stage::Stage;

const SLOW: &str = r#"{"steps":[{"say":"one one","chunk":1,"chunk_ms":1000},
    {"say":"two"},{"say":"three"},{"say":"four"}]}"#;
const SLOW_BEHIND: &str = r#"{"steps":[{"say":"one one","chunk":1,"chunk_ms":1000},
    {"say":"two two","chunk":1,"chunk_ms":1000000}]}"#;
const FAILS: &str = r#"{"steps":[{"say":"late","faults":[{"kind":{"fail":"auth"},"times":1}]},
    {"say":"two"}]}"#;

/// Sends a message and waits for its answer.
async fn wait(stage: &Stage, id: &str, body: Value) -> Value {
    let mut message = json!({ "wait": true });
    message.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    stage.post(&format!("/conversations/{id}/prompt"), message).await
}

/// A message behind the turn that runs.
fn behind(name: &str) -> Value {
    json!({ "text": name, "id": name, "place": "next" })
}

fn told(said: &Value) -> (&str, Option<&str>) {
    (said["ending"].as_str().unwrap(), said["answer"].as_str())
}

#[tokio::test(start_paused = true)]
async fn everybody_who_waits_gets_the_answer_of_the_own_message() {
    let stage = Stage::new(SLOW);
    let id = stage.begin().await;
    let path = format!("/conversations/{id}/messages");
    stage.post(&path, json!({ "text": "go", "id": "m1" })).await;
    let again = || wait(&stage, &id, json!({ "text": "go", "id": "m1" }));
    let (first, second, third) =
        tokio::join!(again(), wait(&stage, &id, behind("m2")), wait(&stage, &id, behind("m3")));
    assert_eq!(told(&first), ("done", Some("one one")));
    assert_eq!(told(&second), ("done", Some("two")));
    assert_eq!(told(&third), ("done", Some("three")));
    // The same requests, when other messages are the newest.
    assert_eq!(again().await, first);
    assert_eq!(wait(&stage, &id, behind("m2")).await, second);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_ends_is_answered_although_another_message_waits_behind_it() {
    let stage = Stage::new(SLOW_BEHIND);
    let id = stage.begin().await;
    let path = format!("/conversations/{id}/messages");
    stage.post(&path, json!({ "text": "go", "id": "m1" })).await;
    stage.post(&path, behind("m2")).await;
    let said = wait(&stage, &id, json!({ "text": "go", "id": "m1" })).await;
    assert_eq!(told(&said), ("done", Some("one one")));
    assert!(stage.view(&id).await.head.open.is_some(), "the second turn is not over");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_taken_back_is_not_waited_for() {
    let stage = Stage::new(SLOW_BEHIND);
    let id = stage.begin().await;
    let path = format!("/conversations/{id}");
    stage.post(&format!("{path}/messages"), json!({ "text": "go" })).await;
    let message = behind("m2");
    stage.post(&format!("{path}/messages"), message.clone()).await;
    let take_back = async {
        let queue = format!("{path}/queue/m2");
        assert_eq!(stage.ask("DELETE", &queue, Value::Null).await.0, StatusCode::OK);
    };
    let (said, ()) = tokio::join!(wait(&stage, &id, message.clone()), take_back);
    assert_eq!(told(&said), ("nothing", None));
    assert_eq!(said["verdict"], "taken");
    assert!(stage.view(&id).await.head.open.is_some(), "the first turn is not over");
    assert_eq!(wait(&stage, &id, message).await, said);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_broke_says_why_and_what_is_behind_it_waits() {
    let stage = Stage::new(FAILS);
    let id = stage.begin().await;
    let said = wait(&stage, &id, json!({ "text": "go", "id": "m1" })).await;
    assert_eq!(told(&said), ("error", None));
    assert_eq!(said["cause"]["reason"], "api_error", "{said}");
    assert!(!said["cause"]["message"].as_str().unwrap().is_empty(), "{said}");
    let queued = wait(&stage, &id, behind("m2")).await;
    assert_eq!(told(&queued), ("queued", None));
    // As soon as somebody moves the conversation on, both have their answers.
    stage.post(&format!("/conversations/{id}/continue"), Value::Null).await;
    let said = wait(&stage, &id, behind("m2")).await;
    assert_eq!(told(&said), ("done", Some("two")));
    let said = wait(&stage, &id, json!({ "text": "go", "id": "m1" })).await;
    assert_eq!((told(&said), &said["cause"]), (("done", Some("late")), &Value::Null));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_breaks_ends_the_wait_of_a_message_behind_it() {
    let stage = Stage::new(SLOW_BEHIND);
    let id = stage.begin().await;
    let path = format!("/conversations/{id}");
    stage.post(&format!("{path}/messages"), json!({ "text": "go", "id": "m1" })).await;
    stage.post(&format!("{path}/messages"), behind("m2")).await;
    let first = json!({ "text": "go", "id": "m1" });
    let path = format!("{path}/interrupt");
    let interrupt = stage.post(&path, Value::Null);
    let (first, second, _) =
        tokio::join!(wait(&stage, &id, first), wait(&stage, &id, behind("m2")), interrupt);
    assert_eq!(first["cause"]["reason"], "interrupted", "{first}");
    assert_eq!(told(&second), ("queued", None));
}
