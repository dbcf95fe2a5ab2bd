//! One writer: the second is told who the first is, waits for a bounded time, and never gets in.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use piton::{LeaseWait, OnIncomplete::Ask, OpenError, SessionError};
use piton_core::id::ConversationId;
use piton_core::outcome::Ending;
use piton_proof::passing::{Onlooker, Passing};
use piton_store::{Holder, Journal, Lease, LeaseError, Page};
use tokio::time::Instant;

use crate::stage::{Stage, pass, say};

const PLAIN: &str = r#"{"steps":[{"say":"x"},{"say":"y"},{"say":"z"}]}"#;

fn waiting(seconds: u64) -> LeaseWait {
    LeaseWait { max: Duration::from_secs(seconds), ..LeaseWait::default() }
}

// M17, J81
#[tokio::test(start_paused = true)]
async fn a_second_writer_is_told_who_the_first_one_is() {
    let stage = Stage::new(PLAIN);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let refused = stage.engine().open(stage.conversation()).await;
    let Err(OpenError::Lease(LeaseError::Held { holder, .. })) = refused else {
        panic!("{refused:?}")
    };
    let holder = holder.unwrap();
    assert_eq!((holder.pid, &*holder.host), (std::process::id(), "stage"));
    // A reader is not affected, and the first writer goes on.
    assert!(stage.journal.status(stage.conversation()).await.unwrap().is_some());
    assert_eq!(session.send(say("again"), Ask).await.unwrap(), Ending::Done);
}

// J79
#[tokio::test(start_paused = true)]
async fn a_second_writer_waits_no_longer_than_it_said() {
    let stage = Stage::new(PLAIN);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let zero = Duration::ZERO;
    for (wait, seconds) in [
        (LeaseWait::default(), 30),
        (waiting(7), 7),
        (LeaseWait::NONE, 0),
        (LeaseWait { max: Duration::from_secs(1), poll: zero }, 1),
    ] {
        let engine = stage.engine_over(stage.journal.clone(), wait);
        let start = Instant::now();
        let refused = engine.open(stage.conversation()).await;
        assert!(matches!(refused, Err(OpenError::Lease(LeaseError::Held { .. }))), "{refused:?}");
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
}

// J79, J80
#[tokio::test(start_paused = true)]
async fn a_second_writer_gets_in_when_the_first_one_leaves() {
    let stage = Stage::new(PLAIN);
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    let engine = stage.engine_over(stage.journal.clone(), waiting(30));
    let start = Instant::now();
    let (opened, ()) = tokio::join!(engine.open(stage.conversation()), async move {
        pass(1_200).await;
        drop(session);
    });
    assert_eq!(opened.unwrap().send(say("again"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(start.elapsed().as_millis(), 1_500, "it looks every half second");
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_conversation_cannot_be_opened() {
    let stage = Stage::new(PLAIN);
    let refused = stage.engine().open(stage.conversation()).await;
    assert!(matches!(refused, Err(OpenError::Unknown(_))), "{refused:?}");
}

// Journals are text: under what text makes of such a path, another directory would be found.
#[tokio::test(start_paused = true)]
async fn a_workspace_whose_path_is_no_text_is_refused_and_nothing_is_recorded() {
    let stage = Stage::new(PLAIN);
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-text");
    let workspace = parent.join(OsStr::from_bytes(b"kd\xfd"));
    std::fs::create_dir_all(&workspace).unwrap();
    // As it is written this is text; what it leads to is not. Left by the last run, if there was one.
    let link = parent.join("link");
    std::os::unix::fs::symlink(&workspace, &link).unwrap_or_default();
    for path in [&workspace, &link] {
        let refused = stage.engine().create_as(stage.conversation().clone(), path).await;
        assert!(matches!(refused, Err(OpenError::WorkspaceName { .. })), "{refused:?}");
        let refused = stage.engine().create(path).await;
        assert!(matches!(refused, Err(OpenError::WorkspaceName { .. })), "{refused:?}");
    }
    let listed = stage.journal.list(Page::first(10)).await.unwrap();
    assert_eq!(listed.total, 0);
}

// A commit that took place is not done again, and not taken for refused, because its answer was lost.
#[tokio::test(start_paused = true)]
async fn a_turn_goes_on_where_the_answers_of_the_store_are_lost() {
    let stage = Stage::new(PLAIN);
    stage.journal.loses_answers.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut session = stage.create().await;
    assert_eq!(session.send(say("one"), Ask).await.unwrap(), Ending::Done);
    stage.check().await;
}

/// Makes leases that hold nobody off: their holder only believes to be the writer.
#[derive(Debug)]
struct Careless;

#[async_trait]
impl Onlooker for Careless {
    async fn lease(
        &self,
        store: &dyn Journal,
        id: &ConversationId,
        holder: Holder,
    ) -> Result<Lease, LeaseError> {
        let real = store.lease(id, holder).await?;
        Ok(Lease::new(id.clone(), real.epoch(), Box::new(())))
    }
}

// M17, X17
#[tokio::test(start_paused = true)]
async fn a_ghost_is_refused_before_it_does_anything() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"x"},{"calls":[{"tool":"pay"}]},{"calls":[{"tool":"pay"}]}]}"#,
    );
    let careless = Arc::new(Passing::new(stage.journal.clone(), Careless));
    let ghosts = stage.engine_over(careless, LeaseWait::NONE);
    let mut ghost = stage.create_in(&ghosts).await;
    ghost.send(say("one"), Ask).await.unwrap();
    let mut heir = stage.open().await;
    assert_eq!(heir.send(say("two"), Ask).await.unwrap(), Ending::Done);
    let before = stage.story().await;
    let (requests, effects) = (stage.requests().len(), stage.effects());
    for _ in 0..2 {
        let refused = ghost.send(say("three"), Ask).await;
        assert!(matches!(refused, Err(SessionError::Append(_))), "{refused:?}");
    }
    assert_eq!((stage.requests().len(), stage.effects()), (requests, effects));
    assert_eq!(stage.story().await, before);
    assert_eq!(heir.send(say("four"), Ask).await.unwrap(), Ending::Done);
    stage.check().await;
}
