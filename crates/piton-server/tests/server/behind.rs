//! A client that knows more than the server has read so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use piton::store::{Journal, Record};
use piton_proof::passing::{Onlooker, Passing};
use serde_json::json;

use crate::stage::{Known, Stage};

/// How often it is looked whether the server tells something.
const LOOKS: usize = 100;

/// Holds back what was read, as a slow disk does.
#[derive(Clone, Debug, Default)]
struct Slow(Arc<AtomicBool>);

#[async_trait]
impl Onlooker for Slow {
    async fn reading(&self) {
        // Whoever asks again and again must not keep others from the thread.
        tokio::task::yield_now().await;
    }

    fn have_read(&self, records: Vec<Record>) -> Vec<Record> {
        if self.0.load(Ordering::SeqCst) { Vec::new() } else { records }
    }
}

// J97, C29: what was shown is not taken back. Found by the deaths of the real server.
#[tokio::test]
async fn a_client_that_is_ahead_of_the_servers_reading_is_not_thrown_back() {
    let mut stage = Stage::new(r#"{"steps":[{"say":"one"},{"say":"two"}]}"#);
    let id = stage.begin().await;
    let slow = Slow::default();
    let passing: Arc<dyn Journal> = Arc::new(Passing::new(stage.journal.clone(), slow.clone()));
    let (_engine, other) = stage.another_over(&passing);
    let here = stage.server.clone();
    let query = format!("c={id}");
    // Somebody reads there, so that it follows the conversation.
    stage.server = other.clone();
    let mut first = stage.listen(&query, None).await;
    first.until("snapshot").await;
    slow.0.store(true, Ordering::SeqCst);
    // The client reads here, where the turn is, and goes there with its cursor.
    stage.server = here.clone();
    let mut known = Known::default();
    let mut listener = stage.listen(&query, None).await;
    let prompt = json!({ "text": "go", "wait": true });
    stage.post(&format!("/conversations/{id}/prompt"), prompt.clone()).await;
    let end = stage.view(&id).await.cursor.0;
    known.read_to(&mut listener, end).await;
    stage.server = other;
    let mut listener = stage.listen(&query, known.cursor.as_deref()).await;
    known.names.clear();
    known.take(&listener.until("hello").await);
    // Long enough for the server to find that it is behind.
    for _ in 0..LOOKS {
        if let Some(event) = listener.next().now_or_never() {
            known.take(&event.unwrap());
        }
        tokio::task::yield_now().await;
    }
    slow.0.store(false, Ordering::SeqCst);
    stage.server = here;
    stage.post(&format!("/conversations/{id}/prompt"), prompt).await;
    let end = stage.view(&id).await;
    known.read_to(&mut listener, end.cursor.0).await;
    assert_eq!(known.view, end);
    let thrown_back = known.names.iter().any(|name| name == "reset" || name == "snapshot");
    assert!(!thrown_back, "{:?}", known.names);
    // A cursor that no journal has is still refused.
    let mut lost = stage.listen(&query, Some(&format!("{id}:9999"))).await;
    assert_eq!(lost.until("reset").await.data["why"], "ahead");
}
