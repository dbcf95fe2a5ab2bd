//! K21: a conversation that is begun over HTTP gets its title as one that is begun in a terminal does.

use piton_sim::script::Script;
use piton_sim::serve::{Options, Server};
use serde_json::json;

use crate::stage::Stage;

/// A script answers every request without a history with its first step, so the answer is the title, too.
const ANSWER: &str = r#"{"steps":[{"say":"\"A leak in the roof\".\n\nBecause."},{"say":"Yes."}]}"#;

#[tokio::test]
async fn the_model_finds_a_title_behind_the_first_turn_that_somebody_reads() {
    let model = Server::with(Script::parse(ANSWER).unwrap(), Options::default()).unwrap();
    let mut variables: Vec<(String, String)> = Vec::new();
    for (name, value) in model.variables() {
        variables.push((name.to_string(), value.clone()));
    }
    for (name, value) in [("PITON_MODEL", "ollama/own"), ("NO_PROXY", "127.0.0.1")] {
        variables.push((name.into(), value.into()));
    }
    let stage = Stage::with(ANSWER, "", variables);
    let id = stage.begin().await;
    let mut reader = stage.listen(&format!("c={id}"), None).await;
    stage.post(&format!("/conversations/{id}/messages"), json!({ "text": "why is it wet?" })).await;
    while stage.view(&id).await.head.title != "A leak in the roof" {
        reader.next().await.expect("the stream ended");
    }
    assert_eq!(model.seen().len(), 2);
    // Once.
    let again = json!({ "text": "and now?", "wait": true });
    stage.post(&format!("/conversations/{id}/prompt"), again).await;
    assert_eq!(model.seen().len(), 3);
}
