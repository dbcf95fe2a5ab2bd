//! The server dies at random moments, and readers come back. `PITON_SEED` chooses the moments.

use std::time::Duration;

use piton::chance::{Chance as _, SeededChance};
use piton::view::Status;
use serde_json::json;

use crate::stage::{Known, Stage};

/// Deaths of one run.
const DEATHS: usize = 20;
/// Conversations, each with a turn at every moment.
const CONVERSATIONS: usize = 10;
/// Readers of each conversation: one for programs, one that comes back from further behind.
const READERS: usize = 2;
/// Longest life of a server, in milliseconds.
const LIFE_MS_MAX: u64 = 4_000;
const SLOW: &str = r#"{"steps":[
    {"say":"slowly said","chunk":1,"chunk_ms":200},{"say":"and on","chunk":1,"chunk_ms":200},
    {"say":"and on","chunk":1,"chunk_ms":200},{"say":"and on","chunk":1,"chunk_ms":200}
]}"#;

fn seed() -> u64 {
    std::env::var("PITON_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(14)
}

/// A reader of one conversation, and what it knows.
struct Reader {
    conversation: String,
    known: Known,
}

impl Reader {
    /// Follows until the server is gone.
    async fn follow(&mut self, listener: crate::stage::Listener) {
        let mut listener = listener;
        while let Some(event) = listener.next().await {
            self.known.take(&event);
        }
    }
}

// J97, C30, D32: must show 4, in small.
#[tokio::test(start_paused = true)]
async fn readers_of_a_server_that_dies_again_and_again_miss_nothing_and_see_nothing_twice() {
    let seed = seed();
    println!("PITON_SEED={seed}");
    let chance = SeededChance::new(seed);
    let mut stage = Stage::new(SLOW);
    let mut readers = Vec::new();
    for _ in 0..CONVERSATIONS {
        let conversation = stage.begin().await;
        for _ in 0..READERS {
            let known = Known::default();
            readers.push(Reader { conversation: conversation.clone(), known });
        }
    }
    let mut messages = 0;
    for death in 0..DEATHS {
        stage.server.resume_turns().await.unwrap();
        for (place, reader) in readers.iter().step_by(READERS).enumerate() {
            let text = json!({ "text": "on", "id": format!("m{death}-{place}") });
            let path = format!("/conversations/{}/messages", reader.conversation);
            let (status, _) = stage.ask("POST", &path, text.clone()).await;
            // A turn that still runs takes no other message.
            messages += usize::from(status.is_success());
            let (again, _) = stage.ask("POST", &path, text).await;
            assert_eq!(status, again, "a command that is sent again has the same verdict");
        }
        let mut listeners = Vec::new();
        for reader in &readers {
            let query = format!("c={}", reader.conversation);
            listeners.push(stage.listen(&query, reader.known.cursor.as_deref()).await);
        }
        // wait: the instant of death is the experiment
        tokio::time::sleep(Duration::from_millis(chance.next() % LIFE_MS_MAX)).await;
        stage.crash().await;
        for (reader, listener) in readers.iter_mut().zip(listeners) {
            reader.follow(listener).await;
        }
    }
    stage.server.resume_turns().await.unwrap();
    let mut said = 0;
    for reader in &mut readers {
        let query = format!("c={}", reader.conversation);
        let mut listener = stage.listen(&query, reader.known.cursor.as_deref()).await;
        while stage.view(&reader.conversation).await.head.status != Status::Idle {
            reader.known.take(&listener.next().await.unwrap());
        }
        let end = stage.view(&reader.conversation).await;
        reader.known.read_to(&mut listener, end.cursor.0).await;
        assert_eq!(reader.known.view, end, "PITON_SEED={seed}");
        assert_eq!(end.head.status, Status::Idle);
        said += end.turns.len();
    }
    assert_eq!(said, messages * READERS, "each message has one turn: PITON_SEED={seed}");
    assert!(CONVERSATIONS < messages, "{messages}");
}
