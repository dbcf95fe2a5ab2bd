//! Turns that are not over: how they break, and everything that can be done with them.

use piton::OnIncomplete::{self, Ask};
use piton::{Command, Envelope, Refusal, SessionError};
use piton_core::event::{BreakReason, FailureClass, ModelRef, TurnEnd};
use piton_core::id::{CommandId, MessageId};
use piton_core::outcome::Ending;
use piton_core::state::Turn;
use piton_core::transcript::Transcript;

use crate::stage::{Stage, broken, cut, named, pass, say};

/// Pays, then meets a broken key, then ends.
const BREAKS: &str = r#"{"steps":[
    {"calls":[{"tool":"pay"}]},
    {"say":"Whole.","faults":[{"kind":{"fail":"auth"}}]},
    {"say":"Next."}]}"#;

async fn broken_stage() -> Stage {
    let stage = Stage::new(BREAKS);
    let ending = stage.create().await.send(named("m1", "first"), Ask).await.unwrap();
    assert_eq!(broken(&ending), BreakReason::ApiError);
    stage
}

// X1
#[tokio::test(start_paused = true)]
async fn asked_what_to_do_the_engine_writes_nothing() {
    let stage = broken_stage().await;
    let before = stage.story().await;
    let refused = stage.open().await.send(say("second"), Ask).await;
    let Err(SessionError::Incomplete(view)) = refused else { panic!("{refused:?}") };
    assert_eq!(view.head.halt.unwrap().reason, BreakReason::ApiError);
    assert_eq!(stage.story().await, before);
}

// X1, X13
#[tokio::test(start_paused = true)]
async fn resume_finishes_the_old_turn_first_and_then_the_message() {
    let stage = broken_stage().await;
    let ending = stage.open().await.send(say("second"), OnIncomplete::Resume).await.unwrap();
    assert_eq!(ending, Ending::Done);
    let story = stage.story().await;
    assert!(story.ends_with(
        "driver queued resumed ask answer end:Completed turn user ask answer end:Completed"
    ));
    assert_eq!(
        stage.last_request(),
        [
            "user: first",
            "assistant: 1 parts",
            "results: pay done",
            "assistant: 1 parts",
            "user: second"
        ]
    );
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

// X1, K23, K24, K28
#[tokio::test(start_paused = true)]
async fn inject_puts_the_message_behind_the_kept_work() {
    let stage = broken_stage().await;
    let ending = stage.open().await.send(say("go on"), OnIncomplete::Inject).await.unwrap();
    assert_eq!(ending, Ending::Done);
    assert_eq!(
        stage.last_request(),
        ["user: first", "assistant: 1 parts", "results: pay done", "user: go on"]
    );
    assert_eq!(stage.state().await.turns.len(), 1, "the same turn");
    stage.check().await;
}

// K19, K26, K27
#[tokio::test(start_paused = true)]
async fn work_of_two_broken_runs_stays_where_it_was_done() {
    let stage = Stage::new(
        r#"{"steps":[
            {"calls":[{"tool":"pay"}]},
            {"calls":[{"tool":"set"}],"faults":[{"kind":{"fail":"quota"}}]},
            {"say":"End.","faults":[{"kind":{"fail":"quota"}}]}]}"#,
    );
    let mut session = stage.create().await;
    session.send(say("u1"), Ask).await.unwrap();
    session.send(say("u2"), OnIncomplete::Inject).await.unwrap();
    assert_eq!(session.send(say("u3"), OnIncomplete::Inject).await.unwrap(), Ending::Done);
    assert_eq!(
        stage.last_request(),
        [
            "user: u1",
            "assistant: 1 parts",
            "results: pay done",
            "user: u2",
            "assistant: 1 parts",
            "results: set done",
            "user: u3"
        ]
    );
    stage.check().await;
}

// X1, X12, J25
#[tokio::test(start_paused = true)]
async fn discard_hides_the_turn_and_keeps_it_in_the_journal() {
    let stage = broken_stage().await;
    let ending = stage.open().await.send(say("anew"), OnIncomplete::Discard).await.unwrap();
    assert_eq!(ending, Ending::Done);
    assert_eq!(stage.last_request()[0], "user: anew");
    assert!(stage.story().await.contains("end:Discarded turn user"));
    stage.check().await;
}

// J22, J35, J36, O20: no turn, no message and no request; opening writes nothing either
#[tokio::test(start_paused = true)]
async fn going_on_with_nothing_is_nothing() {
    let stage = Stage::new(r#"{"steps":[{"say":"x"}]}"#);
    stage.create().await.send(say("hi"), Ask).await.unwrap();
    let before = stage.story().await;
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    session.close_turn(TurnEnd::Discarded).await.unwrap();
    drop(session);
    assert_eq!(stage.story().await, before);

    let fresh = Stage::new(r#"{"steps":[]}"#);
    let mut session = fresh.engine().create(std::path::Path::new("/")).await.unwrap();
    assert_eq!(session.resume().await.unwrap(), Ending::Nothing);
    assert_eq!(fresh.journal.commits().len(), 0);
}

// C3, C13, X9
#[tokio::test(start_paused = true)]
async fn retry_keeps_the_message_and_takes_the_new_model() {
    let stage = broken_stage().await;
    let engine = stage.engine();
    let mut session = engine.open(stage.conversation()).await.unwrap();
    let mut config = stage.config_of(&engine);
    let other = ModelRef { provider: "script".into(), model: "other".into() };
    config.model = Some(other.clone());
    session.configure(&config);
    assert_eq!(session.retry(&MessageId::new("m1")).await.unwrap(), Ending::Done);
    let requests = stage.requests();
    assert_eq!(requests.last().unwrap().model, Some(other));
    let said: Vec<_> =
        session.state().turns.iter().flat_map(Turn::said).map(|said| said.attempt.0).collect();
    assert_eq!(said, [2], "one message, second attempt");
    assert_eq!(stage.effects(), ["pay 1.1.0", "pay 1.3.0"], "a new attempt has new calls");
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn retry_of_an_unknown_message_changes_nothing() {
    let stage = Stage::new(r#"{"steps":[{"say":"x"}]}"#);
    stage.create().await.send(say("hi"), Ask).await.unwrap();
    let before = stage.story().await;
    let ending = stage.open().await.retry(&MessageId::new("nobody")).await.unwrap();
    assert_eq!((ending, stage.story().await), (Ending::Done, before));
}

// C34: the same command twice is one attempt, also for whoever asks again after a lost answer.
#[tokio::test(start_paused = true)]
async fn a_retry_that_is_sent_twice_is_one_attempt() {
    let stage = broken_stage().await;
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let retry = || {
        let command = Command::Retry { message: MessageId::new("m1") };
        Envelope::new(CommandId::new("again"), command)
    };
    for _ in 0..2 {
        assert_eq!(conversation.perform_envelope(retry()).await.unwrap(), Ending::Done);
    }
    let state = stage.state().await;
    assert_eq!(state.turns[0].attempts.len(), 1);
    assert_eq!(state.turns[0].said().map(|said| said.attempt.0).collect::<Vec<_>>(), [2]);
    assert_eq!(stage.effects(), ["pay 1.1.0", "pay 1.3.0"]);
    stage.check().await;
}

// An earlier message is forked: behind it stands what nobody wants to lose.
#[tokio::test(start_paused = true)]
async fn a_message_of_an_earlier_turn_is_refused_by_type() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"x"},{"say":"y"},{"calls":[{"tool":"look","arguments":{"ms":5000}}]}]}"#,
    );
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    for name in ["m1", "m2"] {
        conversation.perform(Command::say(named(name, "hi"))).await.unwrap();
    }
    let retry = |name: &str| Command::Retry { message: MessageId::new(name) };
    let refused = conversation.send(retry("m1")).await.unwrap();
    let older = Refusal::OlderTurn { message: MessageId::new("m1") };
    assert_eq!(refused.refusal(), Some(&older));
    assert_eq!(conversation.perform(retry("m2")).await.unwrap(), Ending::Done);
    // What was discarded is not shown, so the turn before it is the newest one.
    conversation.send(Command::say(named("m3", "hi"))).await.unwrap();
    pass(1_000).await;
    conversation.perform(Command::Discard).await.unwrap();
    assert_eq!(conversation.send(retry("m2")).await.unwrap().refusal(), None);
}

// X12
#[tokio::test(start_paused = true)]
async fn a_turn_can_be_closed_as_it_is() {
    for (end, messages) in [(TurnEnd::Stopped, 3), (TurnEnd::Discarded, 0)] {
        let stage = broken_stage().await;
        let mut session = stage.open().await;
        session.close_turn(end).await.unwrap();
        assert_eq!(session.resume().await.unwrap(), Ending::Closed(end));
        let state = stage.state().await;
        assert!(state.open_turn().is_none());
        assert_eq!(Transcript::from(&state).messages().len(), messages, "{end:?}");
        stage.check().await;
    }
}

// C34
#[tokio::test(start_paused = true)]
async fn the_same_message_twice_is_one_message() {
    let stage = Stage::new(r#"{"steps":[{"say":"x"}]}"#);
    let mut session = stage.create().await;
    session.send(named("m", "hi"), Ask).await.unwrap();
    let before = stage.story().await;
    assert_eq!(session.send(named("m", "hi"), Ask).await.unwrap(), Ending::Done);
    drop(session);
    let again = stage.open().await.send(named("m", "hi"), OnIncomplete::Inject).await.unwrap();
    assert_eq!((again, stage.story().await), (Ending::Done, before));
    assert_eq!(stage.requests().len(), 1);
}

// M2, M1: a message whose turn was cut is known, and is answered once
#[tokio::test(start_paused = true)]
async fn a_message_sent_again_after_a_crash_goes_on_with_its_turn() {
    let stage = Stage::new(r#"{"steps":[{"say":"abcd","chunk":1,"chunk_ms":10}]}"#);
    cut(15, stage.create().await.send(named("m", "hi"), Ask)).await;
    assert_eq!(stage.open().await.send(named("m", "hi"), Ask).await.unwrap(), Ending::Done);
    assert_eq!(stage.story().await.matches("user").count(), 1);
    stage.check().await;
}

// K1-K9, X23: breaks, then ends when it is resumed
async fn check_break(stage: Stage, reason: BreakReason, worked: bool, effects: usize) {
    let mut session = stage.create().await;
    let ending = session.send(say("go"), Ask).await.unwrap();
    let cause = match (&ending, worked) {
        (Ending::Incomplete(cause), true) | (Ending::Error(cause), false) => cause,
        other => panic!("{other:?}"),
    };
    assert_eq!(cause.reason, Some(reason));
    assert!(stage.story().await.ends_with(&format!("broke:{reason:?}")));
    drop(session);
    let mut session = stage.open().await;
    assert_eq!(session.resume().await.unwrap(), Ending::Done, "{}", stage.story().await);
    assert_eq!(stage.effects().len(), effects);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn an_api_error_breaks_the_turn_after_its_retries() {
    let five = r#"[{"kind":{"fail":"server"}},{"kind":{"fail":"server"}},
        {"kind":{"fail":"server"}},{"kind":{"fail":"server"}},{"kind":{"fail":"server"}}]"#;
    // K4, K8: nothing was done yet
    let first = Stage::new(&format!(r#"{{"steps":[{{"say":"x","faults":{five}}}]}}"#));
    check_break(first, BreakReason::ApiError, false, 0).await;
    // K3, K15
    let steps = format!(r#"{{"calls":[{{"tool":"pay"}}]}},{{"say":"x","faults":{five}}}"#);
    let later = Stage::new(&format!(r#"{{"steps":[{steps}]}}"#));
    check_break(later, BreakReason::ApiError, true, 1).await;
}

// K9, D53
#[tokio::test(start_paused = true)]
async fn an_ending_carries_the_failure_behind_it() {
    let stage = Stage::new(r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"quota"}}]}]}"#);
    let ending = stage.create().await.send(say("go"), Ask).await.unwrap();
    let Ending::Error(cause) = ending else { panic!("{ending:?}") };
    assert_eq!(cause.failure.unwrap().class, FailureClass::Quota);
    assert_eq!(cause.message, "scripted failure: Quota");
}

// K5, X4, J55, D58
#[tokio::test(start_paused = true)]
async fn two_empty_answers_break_the_turn() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},
            {"say":"x","faults":[{"kind":"empty"},{"kind":"empty"}]}]}"#,
    );
    check_break(stage, BreakReason::EmptyAnswer, true, 1).await;
    let stage =
        Stage::new(r#"{"steps":[{"say":"x","faults":[{"kind":"empty"},{"kind":"empty"}]}]}"#);
    check_break(stage, BreakReason::EmptyAnswer, false, 0).await;
}

// K6, D67, X23
#[tokio::test(start_paused = true)]
async fn the_allowance_of_steps_breaks_the_turn() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},{"calls":[{"tool":"pay"}]},
            {"calls":[{"tool":"pay"}]},{"say":"x"}]}"#,
    )
    .limits(|limits| limits.steps_max = 2);
    check_break(stage, BreakReason::MaxSteps, true, 3).await;
}

// K18, X12
#[tokio::test(start_paused = true)]
async fn an_interrupt_breaks_the_turn() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"slow","chunk":1,"chunk_ms":50}]}"#,
    );
    let mut session = stage.create().await;
    let controller = session.controller();
    let (ending, ()) = tokio::join!(session.send(say("go"), Ask), async {
        pass(120).await;
        controller.interrupt();
    });
    assert_eq!(broken(&ending.unwrap()), BreakReason::Interrupted);
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

// K20
#[tokio::test(start_paused = true)]
async fn a_resumed_turn_that_fails_at_once_still_has_its_work() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},
            {"say":"x","faults":[{"kind":{"fail":"auth"}},{"kind":{"fail":"auth"}}]}]}"#,
    );
    let mut session = stage.create().await;
    session.send(say("go"), Ask).await.unwrap();
    assert_eq!(broken(&session.resume().await.unwrap()), BreakReason::ApiError);
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
}
