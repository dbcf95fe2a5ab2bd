//! Commands that meet a turn at an odd moment: none is lost, and none does what its sender did not ask for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use piton::model::OneModel;
use piton::profile::{Profile, ProfileError, ProfileRequest, Profiles};
use piton::{
    Accepted, Attending, Command, CommandError, Conversation, Engine, Envelope, OnIncomplete,
    Refusal, Reply, Sender, Verdict,
};
use piton_core::event::{BreakReason, PermissionMode};
use piton_core::id::CommandId;
use piton_core::outcome::Ending;
use piton_sim::demo::DemoModel;
use piton_store::{ENTRY_BYTES_MAX, Journal as _};
use piton_tools::{Finished, Job};

use crate::delegate::{self, delegating, handing};
use crate::stage::{Stage, broken, ms, pass, pending, say};
use crate::watch::OddTool;

const PAYS: &str = r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"done"},{"say":"more"}]}"#;

/// A turn whose tool takes its time to stop.
fn reluctant() -> Stage {
    let steps = r#"{"steps":[{"calls":[{"tool":"slow"}]},{"say":"done"},{"say":"more"}]}"#;
    Stage::new(steps).tool(OddTool::once("slow", |job: Job| async move {
        job.cancel.cancelled().await;
        // wait: the clock is virtual, and lets others work
        tokio::time::sleep(ms(5_000)).await;
        Finished::cancelled("stopped")
    }))
}

/// A process that performs a turn, with a face that can answer.
async fn performing(stage: &Stage) -> (Engine, Conversation, Attending) {
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let face = conversation.attend();
    conversation.send(Command::say(say("go"))).await.unwrap();
    pass(100).await;
    (engine, conversation, face)
}

#[tokio::test(start_paused = true)]
async fn a_resume_that_meets_a_turn_as_it_stops_goes_on_behind_it() {
    let stage = reluctant();
    let (_engine, conversation, _face) = performing(&stage).await;
    conversation.send(Command::Interrupt).await.unwrap();
    assert_eq!(conversation.perform(Command::Resume).await.unwrap(), Ending::Done);
    assert_eq!(stage.state().await.turns.len(), 1);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_meets_a_turn_as_it_stops_is_answered() {
    let stage = reluctant();
    let (_engine, conversation, _face) = performing(&stage).await;
    conversation.send(Command::Interrupt).await.unwrap();
    let (message, on_incomplete) = (say("and?"), OnIncomplete::Inject);
    let inject = Command::Say { message, on_incomplete, agent: None };
    assert_eq!(conversation.perform(inject).await.unwrap(), Ending::Done);
    assert!(stage.last_request().iter().any(|line| line.contains("and?")));
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_goes_on_with_a_turn_that_was_interrupted() {
    let stage = Stage::new(PAYS).mode(PermissionMode::Ask);
    let (_engine, conversation, _face) = performing(&stage).await;
    let ending = conversation.perform(Command::Interrupt).await.unwrap();
    assert_eq!(broken(&ending), BreakReason::Interrupted);
    let asked = pending(&stage.state().await).remove(0);
    let answer = Command::answer(asked, Reply::Allow);
    assert_eq!(conversation.perform(answer).await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn what_no_journal_takes_is_refused_here_and_by_letter() {
    let stage = Stage::new(PAYS);
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let conversation = stage.conversation_in(&here);
    let hold = conversation.hold(piton::LeaseWait::NONE).await.unwrap();
    conversation.perform(Command::say(say("go"))).await.unwrap();
    let rename = || Command::Rename { title: "x".repeat(ENTRY_BYTES_MAX) };
    let refused = conversation.perform(rename()).await.unwrap_err();
    assert!(matches!(refused, CommandError::Refused(Refusal::Impossible { .. })), "{refused}");
    let left = elsewhere.conversation(stage.conversation()).send(rename()).await.unwrap();
    let Accepted::Letter { command, .. } = left else { panic!("{left:?}") };
    pass(1_000).await;
    let verdict = conversation.verdict(&command).await.unwrap();
    assert!(format!("{verdict:?}").contains("one command takes"), "{verdict:?}");
    assert_eq!(conversation.perform(Command::say(say("on"))).await.unwrap(), Ending::Done);
    drop(hold);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn flags_are_not_dropped_in_silence() {
    let stage = reluctant();
    let (_engine, conversation, _face) = performing(&stage).await;
    let from = Sender { flags: Some("{}".into()), ..Sender::default() };
    let queue = Command::Queue { message: say("carefully") };
    let envelope = Envelope { from, ..Envelope::new(CommandId::new("q"), queue) };
    let accepted = conversation.post(envelope).await.unwrap();
    assert!(accepted.refusal().is_some(), "{accepted:?}");
    assert!(stage.state().await.queue.is_empty());
}

/// An engine over the same store that performs nothing.
fn recording(stage: &Stage) -> Engine {
    let models = Arc::new(OneModel(Arc::new(DemoModel)));
    Engine::builder(stage.journal.clone(), models).recording_only().build()
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_only_records_sets_nothing_going() {
    let stage = Stage::new(PAYS);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.perform(Command::say(say("go"))).await.unwrap();
    drop(engine);
    pass(10).await;
    let writer = recording(&stage);
    let written = writer.conversation(stage.conversation());
    let queue = Command::Queue { message: say("later") };
    written.leave(&Envelope::new(CommandId::new("q"), queue)).await.unwrap();
    written.perform(Command::Rename { title: "new".into() }).await.unwrap();
    pass(60_000).await;
    assert_eq!(stage.state().await.turns.len(), 1);
    let lying = stage.journal.letters(stage.conversation()).await.unwrap();
    assert_eq!(lying.len(), 1, "the message waits for a process that performs");
    writer.shutdown(ms(0)).await;
    let engine = stage.engine();
    stage.conversation_in(&engine).look().await.unwrap();
    pass(60_000).await;
    assert_eq!(stage.state().await.turns.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_queued_message_whose_holder_has_left_is_performed_by_its_sender() {
    let stage = Stage::new(PAYS);
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let conversation = stage.conversation_in(&here);
    conversation.perform(Command::say(say("go"))).await.unwrap();
    let hold = conversation.hold(piton::LeaseWait::NONE).await.unwrap();
    let other = elsewhere.conversation(stage.conversation());
    let queued = tokio::spawn(async move {
        other.perform(Command::Queue { message: say("later") }).await.unwrap()
    });
    pass(1_000).await;
    assert_eq!(stage.state().await.queue.len(), 1, "recorded, and the face decides");
    drop((hold, here));
    assert_eq!(queued.await.unwrap(), Ending::Done);
    let state = stage.state().await;
    assert_eq!((state.turns.len(), state.queue.len()), (2, 0));
}

/// A turn that asks, with a face that leaves: nothing waits for a face that is not there.
async fn check_left(stage: Stage) {
    let (engine, _conversation, face) = performing(&stage).await;
    pass(60_000).await;
    assert_eq!(engine.running().len(), 1, "the face may answer");
    drop(face);
    pass(60_000).await;
    assert_eq!(engine.running(), [], "nobody can");
    assert!(stage.state().await.open_turn().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_waits_for_an_answer_where_it_stands_is_let_go_with_the_last_face() {
    let steps = r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"ask":1,"stay":1}}]},
        {"say":"done"}]}"#;
    check_left(Stage::new(steps)).await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_asks_is_parked_with_the_last_face() {
    let stage = delegating(&handing(&[("one", delegate::PAYS)])).mode(PermissionMode::Ask);
    check_left(stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_mailbox_that_cannot_be_read_is_asked_again() {
    let stage = reluctant();
    let (_here, elsewhere) = (performing(&stage).await, stage.engine());
    stage.journal.hides_letters.store(true, Ordering::Relaxed);
    let other = elsewhere.conversation(stage.conversation());
    let left = other.send(Command::Queue { message: say("later") }).await.unwrap();
    pass(1_000).await;
    assert_eq!(other.verdict(left.command()).await.unwrap(), None);
    stage.journal.hides_letters.store(false, Ordering::Relaxed);
    pass(60_000).await;
    assert_eq!(other.verdict(left.command()).await.unwrap(), Some(Verdict::Taken));
}

/// Settings that cannot be had: asking for them ends the task of a conversation.
#[derive(Debug)]
struct Broken;

#[async_trait]
impl Profiles for Broken {
    async fn profile(&self, _request: ProfileRequest<'_>) -> Result<Profile, ProfileError> {
        panic!("scripted")
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_panicked_does_not_run() {
    let stage = Stage::new(PAYS);
    let models = Arc::new(OneModel(Arc::new(DemoModel)));
    let engine = Engine::builder(stage.journal.clone(), models).profiles(Arc::new(Broken)).build();
    let lost = stage.conversation_in(&engine).send(Command::say(say("go"))).await;
    assert!(lost.is_err(), "{lost:?}");
    assert_eq!(engine.running(), []);
}
