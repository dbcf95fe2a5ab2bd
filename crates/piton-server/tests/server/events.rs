//! Streams: without a gap, without a duplicate, and never in the way of a turn.

use std::time::Duration;

use piton::{Command, ConversationId};
use piton_core::id::Timestamp;
use piton_server::Bearer;
use serde_json::{Value, json};

use crate::stage::{Known, Stage};

const TALK: &str = r#"{"steps":[{"say":"one"},{"say":"two"},{"say":"three"},{"say":"four"}]}"#;
const SLOW: &str = r#"{"steps":[{"say":"slowly said","chunk":1,"chunk_ms":1000}]}"#;

#[tokio::test(start_paused = true)]
async fn a_stream_begins_with_a_snapshot_and_its_view_is_the_fold() {
    let stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    assert_eq!(listener.next().await.unwrap().name, "hello");
    let mut known = Known::default();
    known.take(&listener.next().await.unwrap());
    assert_eq!(known.view, stage.view(&id).await);
    stage.post(&format!("/conversations/{id}/prompt"), json!({ "text": "on", "wait": true })).await;
    let end = stage.view(&id).await;
    known.read_to(&mut listener, end.cursor.0).await;
    assert_eq!(known.view, end);
    assert_eq!(known.names[0], "snapshot");
    assert!(known.names.contains(&"change".into()));
}

// J97, C30
#[tokio::test(start_paused = true)]
async fn a_client_comes_back_at_any_cursor_without_gap_or_duplicate() {
    let mut stage = Stage::new(TALK);
    let id = stage.said("go").await;
    stage.post(&format!("/conversations/{id}/prompt"), json!({ "text": "on", "wait": true })).await;
    let end = stage.view(&id).await;
    // Also by a server that knows nothing of the one before.
    for restarts in [false, true] {
        if restarts {
            stage.crash().await;
        }
        for at in 1..end.cursor.0 {
            let cursor = format!("{id}:{at}");
            let view = stage.view_at(&id, at).await;
            let mut known = Known { view, ..Known::default() };
            let mut listener = stage.listen(&format!("c={id}"), Some(&cursor)).await;
            known.read_to(&mut listener, end.cursor.0).await;
            assert_eq!(known.view, end, "{cursor}");
            assert!(!known.names.contains(&"snapshot".into()), "{cursor}: {:?}", known.names);
            let last = known.cursor.unwrap();
            assert_eq!(last, format!("{id}:{}", end.cursor));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cursor_from_the_future_or_of_nowhere_begins_anew() {
    let stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let end = stage.view(&id).await;
    for (cursor, expected) in [
        (format!("{id}:999"), ["hello", "reset", "snapshot"].as_slice()),
        (format!("{id}:18446744073709551615"), &["hello", "reset", "snapshot"]),
        ("nonsense".into(), &["hello", "snapshot"]),
        ("other:3".into(), &["hello", "snapshot"]),
    ] {
        let mut listener = stage.listen(&format!("c={id}"), Some(&cursor)).await;
        let mut known = Known::default();
        known.read_to(&mut listener, end.cursor.0).await;
        assert_eq!(known.names, expected, "{cursor}");
        assert_eq!(known.view, end);
    }
}

// C29
#[tokio::test(start_paused = true)]
async fn text_streams_before_it_is_durable_and_never_shrinks() {
    let stage = Stage::new(SLOW);
    let id = stage.begin().await;
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    stage.post(&format!("/conversations/{id}/messages"), json!({ "text": "go" })).await;
    let (mut longest, mut lively) = (String::new(), 0);
    loop {
        let event = listener.next().await.unwrap();
        if event.name == "live" {
            assert_eq!(event.id, None);
            let text = event.data["live"]["step"]["text"].as_str().unwrap_or_default().to_owned();
            if !text.is_empty() {
                assert!(text.starts_with(&longest), "{longest} {text}");
                (longest, lively) = (text, lively + 1);
            }
        }
        if event.name == "change" && event.data.to_string().contains("\"end\":\"completed\"") {
            break;
        }
    }
    assert!(3 < lively, "{lively}");
    assert_eq!(longest, "slowly said");
}

// D32, D33
#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_reading_holds_nobody_up_and_comes_back_right() {
    let stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let mut slow = stage.listen(&format!("c={id}"), None).await;
    let mut known = Known::default();
    known.read_to(&mut slow, 1).await;
    // Far more than is kept for anybody.
    let conversation = stage.engine.conversation(&ConversationId::new(&*id));
    for number in 0..400 {
        let title = format!("title {number}");
        conversation.send(Command::Rename { title }).await.unwrap();
    }
    let end = stage.view(&id).await;
    assert!(400 < end.cursor.0);
    known.read_to(&mut slow, end.cursor.0).await;
    assert_eq!(known.view, end);
    assert!(known.names.contains(&"reset".into()), "{:?}", known.names);
}

#[tokio::test(start_paused = true)]
async fn one_stream_carries_the_list_and_several_conversations() {
    let stage = Stage::new(TALK);
    let (one, other) = (stage.said("go").await, stage.begin().await);
    let query = format!("c={one}&c={other}&list=1");
    let mut listener = stage.listen(&query, None).await;
    let list = listener.until("list").await;
    assert_eq!(list.data["rows"].as_array().unwrap().len(), 2);
    assert!(list.id.unwrap().starts_with("list:"));
    stage
        .post(&format!("/conversations/{other}/prompt"), json!({ "text": "go", "wait": true }))
        .await;
    let (mut views, mut rows) = (std::collections::BTreeMap::<String, Known>::new(), Vec::new());
    let mut last = String::new();
    while views.len() < 2
        || !rows.iter().any(|row: &Value| {
            row["turns"] == 1 && row["state"] == "done" && row["conversation"] == json!(other)
        })
    {
        let event = listener.next().await.unwrap();
        last = event.id.clone().unwrap_or(last);
        if let Some(id) = event.data["conversation"].as_str() {
            views.entry(id.to_owned()).or_default().take(&event);
        }
        rows.extend(event.data["rows"].as_array().cloned().unwrap_or_default());
    }
    for part in ["list:", &format!("{one}:"), &format!("{other}:")] {
        assert!(last.contains(part), "{last}");
    }
    // The list goes on behind its cursor, and tells nothing that is known.
    let position = last.split(';').next().unwrap().to_owned();
    let mut again = stage.listen("list=1", Some(&position)).await;
    assert_eq!(again.next().await.unwrap().name, "hello");
    stage.post("/conversations", json!({ "title": "new" })).await;
    let event = again.until("list").await;
    let rows = event.data["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["title"] == "new"), "{rows:?}");
    // A moment of another store: the list is read anew.
    let mut ahead = stage.listen("list=1", Some("list:999999")).await;
    assert_eq!(ahead.next().await.unwrap().name, "hello");
    assert_eq!(ahead.next().await.unwrap().name, "reset");
    assert_eq!(ahead.until("list").await.data["rows"].as_array().unwrap().len(), 3);
}

// C30
#[tokio::test(start_paused = true)]
async fn a_list_that_was_told_running_hears_that_the_process_died() {
    let mut stage = Stage::new(SLOW);
    let id = stage.begin().await;
    stage.post(&format!("/conversations/{id}/messages"), json!({ "text": "go" })).await;
    tokio::time::sleep(Duration::from_secs(2)).await; // wait: in virtual time, until the answer has begun
    let mut listener = stage.listen("list=1", None).await;
    let told = listener.until("list").await;
    assert_eq!(told.data["rows"][0]["state"], "running");
    let end = stage.view(&id).await.cursor;
    stage.crash().await;
    assert_eq!(stage.view(&id).await.cursor, end, "an entry would tell it");
    let mut again = stage.listen("list=1", told.id.as_deref()).await;
    let mut states = Vec::new();
    for _ in 0..8 {
        let event = again.next().await.unwrap();
        states.extend(event.data["rows"][0]["state"].as_str().map(str::to_owned));
    }
    assert_eq!(states, ["interrupted"]);
}

// O50
#[tokio::test(start_paused = true)]
async fn a_quiet_stream_gives_signs_of_life_until_the_token_is_revoked() {
    let stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    let begun = tokio::time::Instant::now();
    for _ in 0..3 {
        assert_eq!(listener.until("beat").await.id, None);
    }
    assert_eq!(begun.elapsed(), Duration::from_secs(30));
    stage.tokens().revoke("test").unwrap();
    let bye = listener.until("bye").await;
    assert_eq!(bye.data["why"], "the token was revoked");
    assert_eq!(listener.next().await, None);
    stage.tokens().add("other", Bearer::Program, Timestamp(0)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_as_soon_as_its_token_is_revoked_however_far_apart_signs_of_life_are() {
    let stage = Stage::with(TALK, "[serve]\nbeat_ms = 600000\n", Vec::new());
    let id = stage.said("go").await;
    let mut quiet = stage.listen(&format!("c={id}"), None).await;
    quiet.until("snapshot").await;
    // It has been told nothing yet, and everything is ready for it.
    let mut slow = stage.listen(&format!("c={id}&list=1"), None).await;
    let begun = tokio::time::Instant::now();
    stage.tokens().revoke("test").unwrap();
    let bye = slow.next().await.unwrap();
    assert_eq!((bye.name.as_str(), &bye.data["why"]), ("bye", &json!("the token was revoked")));
    assert_eq!(quiet.until("bye").await.data["why"], "the token was revoked");
    assert_eq!((slow.next().await, quiet.next().await), (None, None));
    assert!(begun.elapsed() <= Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn another_token_that_is_revoked_ends_no_stream() {
    let stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    listener.until("snapshot").await;
    stage.tokens().add("other", Bearer::Program, Timestamp(0)).unwrap();
    stage.tokens().revoke("other").unwrap();
    // Behind a goodbye there would be nothing.
    listener.until("beat").await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_says_so_and_leaves_the_turn_resumable() {
    let stage = Stage::new(SLOW);
    let id = stage.begin().await;
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    listener.until("snapshot").await;
    stage.post(&format!("/conversations/{id}/messages"), json!({ "text": "go" })).await;
    stage.server.stop();
    assert_eq!(listener.until("bye").await.data["why"], "the server stops");
    assert_eq!(listener.next().await, None);
    stage.engine.shutdown(Duration::ZERO).await;
    assert!(stage.view(&id).await.head.open.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_stops_nothing() {
    let stage = Stage::new(SLOW);
    let id = stage.begin().await;
    let listener = stage.listen(&format!("c={id}"), None).await;
    let path = format!("/api/v1/conversations/{id}/prompt");
    let body = json!({ "text": "go", "wait": true }).to_string();
    let request = stage.request("POST", &path, body.into());
    // It waits for the answer, and hangs up after two seconds.
    let waiting = tokio::time::timeout(Duration::from_secs(2), stage.send(request)).await;
    assert!(waiting.is_err());
    drop(listener);
    let mut again = stage.listen(&format!("c={id}"), None).await;
    let mut known = Known::default();
    while known.view.turns.first().and_then(piton::view::TurnView::answer).as_deref()
        != Some("slowly said")
    {
        known.take(&again.next().await.unwrap());
    }
}
