//! The handle of a face: the engine owns the work, and a face may go at any time.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use piton::{Accepted, Command, CommandError, Envelope, Refusal, Reply, Stage as Progress};
use piton_core::event::PermissionMode;
use piton_core::id::{CommandId, ConversationId, MessageId};
use piton_core::outcome::Ending;
use piton_core::state::Verdict;
use piton_store::Journal as _;
use piton_tools::AskUser;

use crate::stage::{Stage, broken, named, pass, pending, say};

const WORK: &str = r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"done"}]}"#;
const TALK: &str = r#"{"steps":[{"say":"one"},{"say":"two"},{"say":"three"}]}"#;

#[tokio::test(start_paused = true)]
async fn a_message_is_recorded_with_its_command_and_answered() {
    let stage = Stage::new(WORK);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    assert_eq!(conversation.perform(Command::say(say("go"))).await.unwrap(), Ending::Done);
    expect![
        "opened driver taken config turn user ask answer start:0 finish:0 ask answer end:Completed"
    ]
    .assert_eq(&stage.story().await);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

// C34, J96
#[tokio::test(start_paused = true)]
async fn a_command_that_is_sent_twice_is_one() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let envelope = Envelope::new(CommandId::new("c1"), Command::say(say("go")));
    let first = conversation.post(envelope.clone()).await.unwrap();
    conversation.perform_envelope(envelope.clone()).await.unwrap();
    // By another process, when the first is gone.
    drop(engine);
    pass(10).await;
    let engine = stage.engine();
    let again = stage.conversation_in(&engine).post(envelope).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(stage.state().await.turns.len(), 1);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_face_that_goes_stops_nothing() {
    let stage = Stage::new(WORK);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.send(Command::say(say("go"))).await.unwrap();
    drop(conversation);
    pass(60_000).await;
    assert!(stage.state().await.open_turn().is_none());
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_rests_gives_the_writers_place_back() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.perform(Command::say(say("go"))).await.unwrap();
    pass(5_000).await;
    assert_eq!(engine.running(), []);
    let session = stage.open().await;
    drop(session);
    // And takes it again when there is something to do.
    assert_eq!(conversation.perform(Command::say(say("on"))).await.unwrap(), Ending::Done);
    assert_eq!(stage.state().await.turns.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_engine_is_a_crash_and_the_next_one_recovers() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"set","arguments":{"ms":5000}}]},{"say":"done"}]}"#,
    );
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.send(Command::say(say("go"))).await.unwrap();
    pass(1_000).await;
    drop(engine);
    pass(10).await;
    let gone = conversation.send(Command::Resume).await;
    assert!(matches!(gone, Err(CommandError::EngineGone)), "{gone:?}");
    let engine = stage.engine();
    let ending = stage.conversation_in(&engine).perform(Command::Resume).await.unwrap();
    assert_eq!(ending, Ending::Done);
    assert_eq!(stage.effects().len(), 1, "{:?}", stage.effects());
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_nobody_resumes_is_left_alone_by_other_commands() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"set","arguments":{"ms":5000}}]},{"say":"done"}]}"#,
    );
    let engine = stage.engine();
    stage.conversation_in(&engine).send(Command::say(say("go"))).await.unwrap();
    pass(1_000).await;
    drop(engine);
    pass(10).await;
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.perform(Command::Rename { title: "Payment".into() }).await.unwrap();
    pass(10_000).await;
    let state = stage.state().await;
    assert!(state.open_turn().is_some());
    assert_eq!(state.opened.unwrap().title.as_deref(), Some("Payment"));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_the_turn_and_is_refused_when_none_runs() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"look","arguments":{"ms":5000}}]},{"say":"done"}]}"#,
    );
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let running = conversation.clone();
    let (ending, interrupted) = tokio::join!(running.perform(Command::say(say("go"))), async {
        pass(1_000).await;
        conversation.send(Command::Interrupt).await.unwrap()
    });
    assert_eq!(format!("{:?}", broken(&ending.unwrap())), "Interrupted");
    assert_eq!(interrupted.refusal(), None);
    let refused = conversation.send(Command::Interrupt).await.unwrap();
    assert_eq!(refused.refusal(), Some(&Refusal::NotRunning));
    assert_eq!(conversation.perform(Command::Resume).await.unwrap(), Ending::Done);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_rests_on_a_question_is_stopped_once_and_can_still_be_answered() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"ask_user","arguments":{"question":"Who?"}}]},{"say":"done"}]}"#,
    )
    .tool(Arc::new(AskUser));
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.perform(Command::say(say("go"))).await.unwrap();
    let stopped = conversation.send(Command::Interrupt).await.unwrap();
    assert_eq!(stopped.refusal(), None);
    let broke = stage.state().await.open_turn().unwrap().broke.clone();
    assert_eq!(format!("{:?}", broke.unwrap().reason), "Interrupted");
    let again = conversation.send(Command::Interrupt).await.unwrap();
    assert_eq!(again.refusal(), Some(&Refusal::NotRunning));
    let inquiry =
        stage.state().await.open_turn().unwrap().pending_inquiries().next().unwrap().id.clone();
    let answer = Command::answer(inquiry, Reply::Text("me".into()));
    assert_eq!(conversation.perform(answer).await.unwrap(), Ending::Done);
}

// X1, K24
#[tokio::test(start_paused = true)]
async fn a_running_turn_is_left_for_what_replaces_it() {
    let slow = r#"{"steps":[{"calls":[{"tool":"look","arguments":{"ms":5000}}]},{"say":"done"}]}"#;
    for (command, expected) in [
        (Command::Discard, "Closed(Discarded)"),
        (Command::Stop, "Closed(Stopped)"),
        (Command::Retry { message: MessageId::new("m1") }, "Done"),
    ] {
        let stage = Stage::new(slow);
        let engine = stage.engine();
        let conversation = stage.conversation_in(&engine);
        conversation.send(Command::say(named("m1", "go"))).await.unwrap();
        pass(1_000).await;
        let ending = conversation.perform(command.clone()).await.unwrap();
        assert_eq!(format!("{ending:?}"), expected, "{command:?}");
        stage.check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn turns_beyond_the_bound_wait_visibly_and_can_be_interrupted() {
    let slow = r#"{"steps":[{"calls":[{"tool":"look","arguments":{"ms":5000}}]},{"say":"done"}]}"#;
    let stage = Stage::new(slow).turns_max(1);
    let engine = stage.engine();
    let first = stage.conversation_in(&engine);
    let second = engine.begin_as(ConversationId::new("other"), "/".as_ref()).unwrap();
    first.send(Command::say(say("go"))).await.unwrap();
    second.send(Command::say(say("go"))).await.unwrap();
    pass(100).await;
    let stages: Vec<_> = engine.running().into_iter().map(|it| it.stage).collect();
    assert_eq!(stages, [Progress::Waiting, Progress::Performing]);
    let ending = second.perform(Command::Interrupt).await.unwrap();
    assert!(matches!(ending, Ending::Error(_)), "{ending:?}");
    assert_eq!(second.perform(Command::Resume).await.unwrap(), Ending::Done);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_leaves_everything_resumable() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"set","arguments":{"ms":5000}}]},{"say":"done"}]}"#,
    );
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.send(Command::say(say("go"))).await.unwrap();
    pass(1_000).await;
    engine.shutdown(Duration::from_millis(100)).await;
    assert_eq!(engine.running(), []);
    let next = stage.engine();
    let ending = stage.conversation_in(&next).perform(Command::Resume).await.unwrap();
    assert_eq!(ending, Ending::Done);
    assert_eq!(stage.effects().len(), 1);
}

// D45: who can answer is the live number of faces that can.
#[tokio::test(start_paused = true)]
async fn a_question_stays_in_flight_as_long_as_a_face_can_answer() {
    let stage = Stage::new(WORK).mode(PermissionMode::Ask);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let face = conversation.attend();
    conversation.send(Command::say(say("go"))).await.unwrap();
    pass(60_000).await;
    let stages: Vec<_> = engine.running().into_iter().map(|it| it.stage).collect();
    assert_eq!(stages, [Progress::Performing]);
    drop(face);
    pass(5_000).await;
    assert_eq!(engine.running(), []);
    // Answered later, by a face of its own.
    let asked = pending(&stage.state().await);
    let answer = Command::answer(asked[0].clone(), Reply::Allow);
    assert_eq!(conversation.perform(answer).await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

// X13, O38, K58
#[tokio::test(start_paused = true)]
async fn messages_queue_behind_the_turn_and_steer_into_it() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"look","arguments":{"ms":5000}}]},{"say":"one"},{"say":"two"}]}"#,
    );
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let running = conversation.clone();
    let (ending, ()) = tokio::join!(running.perform(Command::say(named("m1", "go"))), async {
        pass(1_000).await;
        conversation.send(Command::Queue { message: named("m2", "next") }).await.unwrap();
        conversation.send(Command::Steer { message: named("m3", "left") }).await.unwrap();
        conversation.send(Command::Queue { message: named("m4", "never") }).await.unwrap();
        let unqueue = Command::Unqueue { message: MessageId::new("m4") };
        conversation.send(unqueue).await.unwrap();
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    let state = stage.state().await;
    let said: Vec<Vec<_>> = state
        .turns
        .iter()
        .map(|turn| turn.said().map(|said| said.message.to_string()).collect())
        .collect();
    assert_eq!(said, [vec!["m1", "m3"], vec!["m2"]]);
    assert_eq!(state.queue, []);
    stage.check().await;
}

// X13: a new message never overtakes those that are held.
#[tokio::test(start_paused = true)]
async fn a_new_message_goes_behind_a_held_queue_and_releases_it() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"look","arguments":{"ms":5000}}]},{"say":"one"},{"say":"two"}]}"#,
    );
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.send(Command::say(named("m1", "go"))).await.unwrap();
    pass(1_000).await;
    conversation.send(Command::Queue { message: named("m2", "held") }).await.unwrap();
    conversation.perform(Command::Discard).await.unwrap();
    pass(5_000).await;
    assert_eq!(stage.state().await.queue.len(), 1);
    conversation.perform(Command::say(named("m3", "new"))).await.unwrap();
    let state = stage.state().await;
    let said = |turn: &piton_core::state::Turn| turn.said().next().unwrap().message.to_string();
    let order: Vec<_> = state.turns.iter().map(said).collect();
    assert_eq!(order, ["m1", "m2", "m3"]);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_conversation_without_its_directory_is_answered_discarded_and_bound_to_another() {
    let gone = tempfile::tempdir().unwrap();
    let stage = Stage::new(WORK).mode(PermissionMode::Ask);
    let engine = stage.engine();
    let id = stage.conversation().clone();
    let conversation = engine.begin_as(id, gone.path()).unwrap();
    let ending = conversation.perform(Command::say(say("go"))).await.unwrap();
    assert_eq!(ending, Ending::WaitingForInput);
    drop(gone);
    pass(5_000).await;
    let refused = conversation.send(Command::Resume).await.unwrap();
    assert!(matches!(refused.refusal(), Some(Refusal::Impossible { .. })), "{refused:?}");
    let elsewhere = tempfile::tempdir().unwrap();
    let workspace = elsewhere.path().to_str().unwrap().to_owned();
    conversation.send(Command::Rebind { workspace: workspace.clone() }).await.unwrap();
    assert_eq!(
        stage.state().await.workspace(),
        std::fs::canonicalize(&workspace).unwrap().to_str().unwrap()
    );
    let asked = pending(&stage.state().await);
    let answer = Command::answer(asked[0].clone(), Reply::Allow);
    assert_eq!(conversation.perform(answer).await.unwrap(), Ending::Done);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_is_not_there_is_told() {
    let stage = Stage::new(WORK);
    let engine = stage.engine();
    let nobody = engine.conversation(&ConversationId::new("nobody"));
    let told = nobody.send(Command::Resume).await;
    assert!(matches!(told, Err(CommandError::Open(_))), "{told:?}");
    // A refusal begins no conversation.
    let refused = stage.conversation_in(&engine).send(Command::Stop).await;
    assert!(matches!(refused, Err(CommandError::Refused(Refusal::NoOpenTurn))), "{refused:?}");
    assert!(stage.journal.status(stage.conversation()).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_recorded_and_stays() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.perform(Command::say(say("go"))).await.unwrap();
    let envelope = Envelope::new(CommandId::new("c9"), Command::Discard);
    for _ in 0..2 {
        let told = conversation.post(envelope.clone()).await.unwrap();
        assert_eq!(told.refusal(), Some(&Refusal::NoOpenTurn));
    }
    let state = stage.state().await;
    let (_, verdict) = &state.commands[&CommandId::new("c9")];
    assert_eq!(*verdict, Verdict::Refused(Refusal::NoOpenTurn));
    assert_eq!(stage.story().await.matches("refused").count(), 1);
    assert!(matches!(conversation.post(envelope).await, Ok(Accepted::Entry(_))));
}
