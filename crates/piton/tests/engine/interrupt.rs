//! Stopping a run: by the person at the controls, or by dropping it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use piton::{OnIncomplete::Ask, Session, SessionError};
use piton_core::event::BreakReason::Interrupted;
use piton_core::event::{Event, Outcome, PermissionMode};
use piton_core::outcome::Ending;
use piton_core::state::{Progress, State};
use piton_tools::{Finished, Prepared};
use tokio::time::Instant;

use crate::stage::{Stage, broken, call, cut, ms, pass, say};
use crate::watch::OddTool;

/// Sends a message and interrupts so much later; gives the ending and how long it all took.
async fn interrupted(session: &mut Session, after_ms: u64) -> (Ending, u128) {
    let (controller, start) = (session.controller(), Instant::now());
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        pass(after_ms).await;
        controller.interrupt();
    });
    (ending.unwrap(), start.elapsed().as_millis())
}

fn outcome(state: &State, index: u32) -> Option<Outcome> {
    match &state.turns[0].call(call(1, index)).unwrap().progress {
        Progress::Done(ended) => Some(ended.outcome),
        Progress::Waiting | Progress::Running(_) | Progress::InDoubt(_) | Progress::Parked(_) => {
            None
        }
    }
}

// J41, J44, D65
#[tokio::test(start_paused = true)]
async fn what_streamed_before_an_interrupt_is_kept() {
    let stage = Stage::new(r#"{"steps":[{"think":"hm","say":"abcdef","chunk":1,"chunk_ms":10}]}"#);
    let mut session = stage.create().await;
    let (ending, took) = interrupted(&mut session, 45).await;
    assert!(matches!(ending, Ending::Error(_)), "no work was done: {ending:?}");
    assert_eq!(took, 45);
    let state = stage.state().await;
    let step = state.turns[0].steps().next().unwrap();
    assert_eq!((&*step.streamed.reasoning, &*step.streamed.text), ("hm", "ab"));
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    stage.check().await;
}

// O8, J89, X12
#[tokio::test(start_paused = true)]
async fn finished_results_stay_and_running_tools_are_cancelled() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"ms":10}},
            {"tool":"pay","arguments":{"ms":1000}}]},{"say":"x"}]}"#,
    );
    let mut session = stage.create().await;
    let (ending, took) = interrupted(&mut session, 20).await;
    assert_eq!((broken(&ending), took), (Interrupted, 20));
    let state = stage.state().await;
    assert_eq!(outcome(&state, 0), Some(Outcome::Ok));
    assert_eq!(outcome(&state, 1), Some(Outcome::Cancelled));
    // D66
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.last_request()[2], "results: pay done | stopped");
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_stop_is_left_behind_as_unknown() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"deaf"},{"tool":"pay","arguments":{"ms":50}}]},
            {"say":"x"}]}"#,
    )
    .tool(OddTool::once("deaf", |_| async {
        pass(3_600_000).await;
        Finished::ok("at last")
    }));
    let mut session = stage.create().await;
    let (ending, took) = interrupted(&mut session, 20).await;
    assert_eq!((broken(&ending), took), (Interrupted, 10_020));
    let state = stage.state().await;
    assert_eq!(outcome(&state, 0), Some(Outcome::Unknown));
    assert_eq!(outcome(&state, 1), Some(Outcome::Cancelled));
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_deaf_tool_that_ends_at_the_bound_keeps_its_result() {
    let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"deaf"},{"tool":"deaf"}]}]}"#).tool(
        OddTool::once("deaf", |_| async {
            pass(10_020).await;
            Finished::ok("just in time")
        }),
    );
    let mut session = stage.create().await;
    interrupted(&mut session, 20).await;
    let state = stage.state().await;
    assert_eq!((outcome(&state, 0), outcome(&state, 1)), (Some(Outcome::Ok), Some(Outcome::Ok)));
}

// K46, J49
#[tokio::test(start_paused = true)]
async fn an_interrupt_cuts_the_wait_between_two_tries_short() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"overloaded"},"retry_after_ms":50000}]}]}"#,
    );
    let mut session = stage.create().await;
    let (ending, took) = interrupted(&mut session, 100).await;
    assert!(matches!(ending, Ending::Error(_)));
    assert_eq!(took, 100);
    // O36: the old wait is over; a resumed turn does not start a second request later
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    pass(100_000).await;
    assert_eq!(stage.requests().len(), 2);
}

// D38
#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_wait_for_a_person() {
    let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"pay"}]}]}"#).mode(PermissionMode::Ask);
    let mut session = stage.create().await;
    session.attend(piton::Attendance::Attended);
    let (ending, took) = interrupted(&mut session, 70).await;
    assert_eq!((broken(&ending), took), (Interrupted, 70));
    assert_eq!(stage.effects(), Vec::<String>::new());
}

// O36
#[tokio::test(start_paused = true)]
async fn two_interrupts_are_one_and_none_of_them_stops_the_next_run() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"set","arguments":{"ms":50}}]},
            {"say":"later","chunk":1,"chunk_ms":10}]}"#,
    );
    let mut session = stage.create().await;
    let controller = session.controller();
    controller.interrupt();
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        pass(10).await;
        controller.interrupt();
        controller.interrupt();
    });
    assert_eq!(broken(&ending.unwrap()), Interrupted);
    controller.interrupt();
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.story().await.matches("broke").count(), 1);
    stage.check().await;
}

// O36
#[tokio::test(start_paused = true)]
async fn an_interrupt_without_a_run_is_nothing() {
    let stage = Stage::new(r#"{"steps":[{"say":"x"}]}"#);
    let mut session = stage.create().await;
    session.controller().interrupt();
    assert_eq!(session.resume().await.unwrap(), Ending::Nothing);
    session.controller().interrupt();
    assert_eq!(session.send(say("go"), Ask).await.unwrap(), Ending::Done);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_is_heard_while_a_tool_prepares_and_nothing_runs() {
    for prepare_ms in [30, 3_600_000] {
        let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"slow"}]}]}"#).tool(
            OddTool::odd_prepare("slow", move || async move {
                pass(prepare_ms).await;
                Ok(Prepared::default())
            }),
        );
        let mut session = stage.create().await;
        let (ending, took) = interrupted(&mut session, 20).await;
        assert_eq!((broken(&ending), took), (Interrupted, 20));
        assert_eq!(stage.effects(), Vec::<String>::new(), "nothing starts behind an interrupt");
        let state = stage.state().await;
        assert_eq!((outcome(&state, 0), outcome(&state, 1)), (Some(Outcome::Cancelled), None));
        stage.check().await;
    }
}

// D65, K31: what flies goes down with the run
#[tokio::test(start_paused = true)]
async fn a_dropped_run_leaks_nothing() {
    struct Guard(Arc<AtomicU32>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (dropped, cancelled) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (drops, cancels) = (dropped.clone(), cancelled.clone());
    let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"hold"},{"tool":"hold"}]}]}"#).tool(
        OddTool::once("hold", move |job| {
            let (guard, cancels) = (Guard(drops.clone()), cancels.clone());
            // Whatever a tool left to another task or thread learns of the end by its token.
            tokio::spawn(async move {
                job.cancel.cancelled().await;
                cancels.fetch_add(1, Ordering::Relaxed);
            });
            async move {
                let _guard = guard;
                std::future::pending().await
            }
        }),
    );
    let mut session = stage.create().await;
    cut(20, session.send(say("go"), Ask)).await;
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
    pass(1).await;
    assert_eq!(cancelled.load(Ordering::Relaxed), 2);
}

// D65, M6
#[tokio::test(start_paused = true)]
async fn a_dropped_run_is_resumed_by_the_next_open() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"ms":10}},
            {"tool":"set","arguments":{"ms":50}}]},{"say":"x"}]}"#,
    );
    cut(20, stage.create().await.send(say("go"), Ask)).await;
    assert_eq!(stage.open().await.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0", "set 1.1.1"]);
    stage.check().await;
}

// K31: the handle itself goes on too, and knows that its former run is gone
#[tokio::test(start_paused = true)]
async fn a_dropped_run_is_resumed_by_the_same_session() {
    let scripts = [
        r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"ms":10}},
            {"tool":"set","arguments":{"ms":50}}]},{"say":"x"}]}"#,
        r#"{"steps":[{"say":"streams","chunk":1,"chunk_ms":10}]}"#,
        r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"server"},"retry_after_ms":500}]}]}"#,
    ];
    for script in scripts {
        let stage = Stage::new(script);
        let mut session = stage.create().await;
        cut(20, session.send(say("go"), Ask)).await;
        let resumed = tokio::time::timeout(ms(60_000), session.resume()).await;
        assert_eq!(resumed.expect("it hangs").unwrap(), Ending::Done, "{script}");
        stage.check().await;
    }
}

// A commit that was cut short may or may not be there: the session must be opened anew.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_while_it_commits_tells_no_lies() {
    for cut_ms in [2, 7, 12, 17] {
        let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"x"}]}"#);
        stage.journal.append_ms.store(5, Ordering::Relaxed);
        let mut session = stage.create().await;
        cut(cut_ms, session.send(crate::stage::named("m", "go"), Ask)).await;
        let again = session.send(crate::stage::named("m", "go"), Ask).await;
        assert!(matches!(again, Err(SessionError::Append(_))), "{cut_ms}: {again:?}");
        let again = session.resume().await;
        assert!(matches!(again, Err(SessionError::Append(_))), "{cut_ms}: {again:?}");
        drop(session);
        let engine = stage.engine();
        let mut session = match engine.open(stage.conversation()).await {
            Ok(session) => session,
            Err(_) => stage.create_in(&engine).await,
        };
        let ending = session.send(crate::stage::named("m", "go"), Ask).await.unwrap();
        assert_eq!(ending, Ending::Done, "{cut_ms}");
        assert!(stage.effects().len() <= 1);
        stage.check().await;
    }
}

// An answer that had come when the interrupt came is kept: it was paid for.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_there_when_the_interrupt_comes_is_kept() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"ab","chunk":1,"chunk_ms":10,"calls":[{"tool":"pay"}]},{"say":"x"}]}"#,
    );
    let mut session = stage.create().await;
    let controller = session.controller();
    // The answer's end mark and the interrupt come at the same moment, the interrupt first.
    let interrupt = async {
        pass(50).await;
        controller.interrupt();
    };
    let ((), ending) = tokio::join!(biased; interrupt, session.send(say("go"), Ask));
    assert_eq!(broken(&ending.unwrap()), Interrupted);
    let entries = stage.entries().await;
    assert!(entries.iter().any(|entry| matches!(entry.event, Event::ModelAnswered { .. })));
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
}
