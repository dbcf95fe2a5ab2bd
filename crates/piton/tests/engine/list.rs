//! The list of conversations, and what changes in it.

use piton::list::Activity;
use piton::store::{Filter, ListPosition, TurnIs, Wants};
use piton::{Command, Stage as Progress};
use piton_core::event::PermissionMode;
use piton_core::view::Status;

use crate::stage::{Stage, pass, say};

const WORK: &str = r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"done"}]}"#;

// D32
#[tokio::test(start_paused = true)]
async fn a_list_says_who_is_wanted_and_who_works() {
    let stage = Stage::new(WORK).mode(PermissionMode::Ask);
    let engine = stage.engine();
    assert!(engine.list(Filter::default(), None, 10).await.unwrap().rows.is_empty());
    let conversation = stage.conversation_in(&engine);
    conversation.perform(Command::say(say("go"))).await.unwrap();
    let asking = Filter { turn: Some(TurnIs::Asking), ..Filter::default() };
    let list = engine.list(asking.clone(), None, 10).await.unwrap();
    let [row] = &*list.rows else { panic!("{list:?}") };
    assert_eq!(row.status, Status::WaitingForInput { tool: "pay".into() });
    assert_eq!((row.wants, row.turns, row.title.as_str()), (Wants::Person, 1, "go"));
    assert_eq!(row.activity, Activity::Here(Progress::Resting));
    assert_eq!(engine.row(stage.conversation()).await.unwrap().as_ref(), Some(row));
    conversation.send(Command::Discard).await.unwrap();
    pass(60_000).await;
    assert!(engine.list(asking, None, 10).await.unwrap().rows.is_empty());
    let row = engine.row(stage.conversation()).await.unwrap().unwrap();
    assert_eq!((row.status, row.activity), (Status::Idle, Activity::Nobody));
}

// D33
#[tokio::test(start_paused = true)]
async fn a_feed_waits_for_what_changes_behind_its_moment() {
    let stage = Stage::new(r#"{"steps":[{"say":"one"}]}"#);
    let engine = stage.engine();
    let (feed, limit) = (engine.clone(), 10);
    let first =
        tokio::spawn(async move { feed.changes(ListPosition::default(), limit).await.unwrap() });
    pass(1_000).await;
    assert!(!first.is_finished());
    stage.conversation_in(&engine).perform(Command::say(say("go"))).await.unwrap();
    let changed = first.await.unwrap();
    assert_eq!(changed.rows.len(), 1);
    let mut position = changed.position;
    // Until nothing is left to tell.
    while let Ok(more) =
        tokio::time::timeout(std::time::Duration::from_secs(1), engine.changes(position, limit))
            .await
    {
        let more = more.unwrap();
        assert!(position < more.position);
        position = more.position;
    }
    assert_eq!(engine.list(Filter::default(), None, 1).await.unwrap().position, position);
    let later = ListPosition(1_000_000);
    assert_eq!(engine.changes(later, limit).await.unwrap().rows.len(), 1);
}
