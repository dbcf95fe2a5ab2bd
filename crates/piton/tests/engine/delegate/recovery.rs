//! What becomes of workers when the process dies, or when another one has them (M16).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use piton::OnIncomplete::Ask;
use piton_core::event::Event;
use piton_core::outcome::Ending;
use tokio::time::timeout;

use super::{PAYS, delegating, ended, handing, state_of, worker};
use crate::stage::{cut, ms, pass, say};

const SLOW: &str = r#"{"calls":[{"tool":"pay"}]},{"calls":[{"tool":"look","arguments":{"ms":900}}]},
    {"say":"Paid slowly."}"#;

// M16
#[tokio::test(start_paused = true)]
async fn finished_workers_are_not_repeated_and_unfinished_ones_go_on() {
    let stage = delegating(&handing(&[("one", PAYS), ("two", SLOW)]));
    let mut session = stage.create().await;
    cut(500, session.send(say("go"), Ask)).await;
    drop(session);
    let before = stage.entries_of(&worker(&stage, 0)).await;
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(&*ended(session.state(), 0).output.text, "Paid.");
    assert_eq!(&*ended(session.state(), 1).output.text, "Paid slowly.");
    let mut effects = stage.effects();
    effects.retain(|effect| effect.starts_with("pay"));
    assert_eq!(effects.len(), 2, "each paid once: {effects:?}");
    assert_eq!(stage.entries_of(&worker(&stage, 0)).await, before, "nobody touched it again");
    let own = stage.story_of(&worker(&stage, 1)).await;
    assert_eq!(own.matches("opened").count(), 1, "{own}");
    assert_eq!(own.matches("driver").count(), 2, "resumed, not repeated: {own}");
    stage.check().await;
}

// M16: the parent dies between the end of its worker and its own record of that.
#[tokio::test(start_paused = true)]
async fn a_result_that_was_not_recorded_is_collected() {
    let mut died_between = 0;
    for at_ms in (10..800).step_by(10) {
        let stage = delegating(&handing(&[("one", PAYS)]));
        stage.journal.append_ms.store(40, Ordering::Relaxed);
        let mut session = stage.create().await;
        let ended_itself = timeout(ms(at_ms), session.send(say("go"), Ask)).await.is_ok();
        drop(session);
        stage.journal.append_ms.store(0, Ordering::Relaxed);
        let own = state_of(&stage, &worker(&stage, 0)).await;
        let has_ended = own.turns.first().is_some_and(|turn| turn.end.is_some());
        if !has_ended || stage.story().await.contains("finish:0") {
            assert!(!ended_itself || 0 < died_between, "it never died there");
            continue;
        }
        died_between += 1;
        let requests = stage.requests().len();
        let mut session = stage.open().await;
        assert_eq!(session.resume().await.unwrap(), Ending::Done);
        assert_eq!(&*ended(session.state(), 0).output.text, "Paid.");
        assert_eq!(stage.requests().len(), requests + 1, "only the parent asked again");
        assert_eq!(stage.effects(), ["pay 1.1.0"]);
        stage.check().await;
    }
    assert!(0 < died_between);
}

// M16: one driver per worker, whoever it belongs to.
#[tokio::test(start_paused = true)]
async fn a_worker_that_another_process_drives_is_waited_for() {
    let stage = Arc::new(delegating(&handing(&[("one", SLOW)])));
    let mut session = stage.create().await;
    cut(500, session.send(say("go"), Ask)).await;
    drop(session);
    let mut elsewhere = stage.engine().open(&worker(&stage, 0)).await.unwrap();
    let mut session = stage.open().await;
    let (own, ending) = tokio::join!(
        async {
            pass(3_000).await;
            let ending = elsewhere.resume().await;
            drop(elsewhere);
            ending
        },
        session.resume()
    );
    assert_eq!((own.unwrap(), ending.unwrap()), (Ending::Done, Ending::Done));
    assert_eq!(&*ended(session.state(), 0).output.text, "Paid slowly.");
    let story = stage.story_of(&worker(&stage, 0)).await;
    assert_eq!(story.matches("driver").count(), 2, "the parent never drove it again: {story}");
    stage.check().await;
}

// A crash grants nothing: a worker that has used up its steps has used them up.
#[tokio::test(start_paused = true)]
async fn a_worker_gets_no_new_allowance_from_a_crash() {
    let many = vec![r#"{"calls":[{"tool":"look","arguments":{"ms":100}}]}"#; 20].join(",");
    let stage = delegating(&handing(&[("one", &many)])).limits(|limits| limits.steps_max = 3);
    let mut session = stage.create().await;
    cut(250, session.send(say("go"), Ask)).await;
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert!(ended(session.state(), 0).output.text.contains("3 steps were used"));
    let entries = stage.entries_of(&worker(&stage, 0)).await;
    let asked = entries.iter().filter(|it| matches!(it.event, Event::ModelAnswered { .. }));
    assert_eq!(asked.count(), 3);
    stage.check().await;
}

// A turn that is discarded leaves its workers as they are: incomplete, and resumable by themselves.
#[tokio::test(start_paused = true)]
async fn workers_of_a_discarded_turn_stay() {
    let stage = delegating(&handing(&[("one", SLOW)]));
    let mut session = stage.create().await;
    cut(500, session.send(say("go"), Ask)).await;
    drop(session);
    let mut session = stage.open().await;
    session.close_turn(piton_core::event::TurnEnd::Discarded).await.unwrap();
    drop(session);
    let mut alone = stage.engine().open(&worker(&stage, 0)).await.unwrap();
    assert_eq!(alone.resume().await.unwrap(), Ending::Done);
    stage.check().await;
}
