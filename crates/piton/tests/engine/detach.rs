//! X19: forks that outlive what they were cut from.

use piton::clock::SystemClock;
use piton::fork::{self, Fork, ForkAt, ForkError};
use piton::{Command, Engine, reader};
use piton_core::event::{InDoubtPolicy, Outcome};
use piton_core::id::{ConversationId, Seq, Timestamp, TurnId};
use piton_core::outcome::Ending;
use piton_core::state::{Progress, Turn};
use piton_core::transcript::Transcript;
use piton_core::view::View;
use piton_store::{Batch, CommitName, Durability, Holder, Journal, NewRecord, Record, StatusRow};

use crate::stage::{Stage, named, pass, say};

const TALK: &str = r#"{"steps":[{"say":"one"},{"say":"two"},{"say":"three"},{"say":"four"}]}"#;
const SLOW: &str =
    r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"ms":5000}}]},{"say":"done"}]}"#;

/// A conversation of three turns.
async fn talk(stage: &Stage, engine: &Engine) {
    let conversation = stage.conversation_in(engine);
    for id in ["m1", "m2", "m3"] {
        let said = Command::say(named(id, id));
        assert_eq!(conversation.perform(said).await.unwrap(), Ending::Done);
    }
}

async fn records(stage: &Stage, id: &ConversationId) -> Vec<Record> {
    stage.journal.read(id, Seq(0), 1_000).await.unwrap()
}

/// Brings conversations into another store: the others are gone there.
async fn only(stage: &Stage, ids: &[&ConversationId], script: &str) -> Stage {
    let other = Stage::new(script).in_doubt(InDoubtPolicy::Ask);
    for id in ids {
        let row = stage.journal.status(id).await.unwrap().unwrap().row;
        write(&*other.journal, id, records(stage, id).await, row).await;
    }
    other
}

async fn write(
    journal: &dyn Journal,
    id: &ConversationId,
    records: Vec<Record>,
    status: StatusRow,
) {
    let holder = Holder { pid: 1, host: "h".into(), since: Timestamp(0) };
    let lease = journal.lease(id, holder).await.unwrap();
    let (name, durability) = (CommitName::fresh(), Durability::Synced);
    let record = |it: Record| NewRecord { at: it.at, format: it.format, body: it.body };
    let records = records.into_iter().map(record).collect();
    let batch = Batch { name, expected: Seq(0), records, status, durability };
    journal.append(&lease, batch).await.unwrap();
    journal.release(lease).await.unwrap();
}

async fn attached(stage: &Stage, id: &ConversationId) -> Vec<Fork> {
    fork::attached(&*stage.journal, std::slice::from_ref(id)).await.unwrap()
}

async fn detach_all(stage: &Stage, id: &ConversationId) {
    for fork in attached(stage, id).await {
        fork::detach(&*stage.journal, &SystemClock, &fork).await.unwrap();
    }
    assert_eq!(attached(stage, id).await, []);
}

#[tokio::test(start_paused = true)]
async fn a_fork_means_the_same_without_its_origin_and_so_does_a_fork_of_it() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    talk(&stage, &engine).await;
    let origin = stage.conversation();
    let one = engine.fork(origin, &ForkAt::Turn(TurnId(2)), None).await.unwrap();
    let two = engine.fork(one.id(), &ForkAt::End, None).await.unwrap();
    assert_eq!(two.perform(Command::say(say("mine"))).await.unwrap(), Ending::Done);
    let found: Vec<_> =
        attached(&stage, origin).await.into_iter().map(|it| it.conversation).collect();
    assert_eq!(found, [one.id().clone()]);
    detach_all(&stage, origin).await;

    let copy = one.id().of_origin();
    let other = only(&stage, &[one.id(), two.id(), &copy], TALK).await;
    for id in [one.id(), two.id()] {
        let before = reader::state(&*stage.journal, id).await.unwrap();
        let after = reader::state(&*other.journal, id).await.unwrap();
        assert_eq!(Transcript::from(&after), Transcript::from(&before));
        assert_eq!(View::from(&after), View::from(&before));
        assert!(!after.origin_gone);
    }
    // A place that they shared can be forked at, and the fork needs the copy.
    let engine = other.engine();
    let three = engine.fork(two.id(), &ForkAt::Turn(TurnId(1)), None).await.unwrap();
    assert_eq!(engine.view(three.id()).await.unwrap().turns.len(), 1);
    let found: Vec<_> =
        attached(&other, &copy).await.into_iter().map(|it| it.conversation).collect();
    assert_eq!(found, [three.id().clone()]);
}

// A process that died in the middle left the beginning of a copy.
#[tokio::test(start_paused = true)]
async fn a_copy_that_is_not_whole_is_gone_on_with() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    talk(&stage, &engine).await;
    let origin = stage.conversation();
    let one = engine.fork(origin, &ForkAt::End, None).await.unwrap();
    let all = records(&stage, origin).await;
    for whole in 1..all.len() {
        let other = only(&stage, &[origin, one.id()], TALK).await;
        let copy = one.id().of_origin();
        let begun = all[..whole].to_vec();
        write(&*other.journal, &copy, begun, StatusRow::default()).await;
        assert_eq!(attached(&other, origin).await.len(), 1, "{whole}");
        detach_all(&other, origin).await;
        assert_eq!(records(&other, &copy).await, all, "{whole}");
    }
}

// What was under way in the origin has ended there, and is taken over from the copy.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_call_goes_along() {
    let stage = Stage::new(SLOW).in_doubt(InDoubtPolicy::Ask);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.send(Command::say(say("go"))).await.unwrap();
    pass(1_000).await;
    let fork = engine.fork(conversation.id(), &ForkAt::End, None).await.unwrap();
    pass(10_000).await;
    detach_all(&stage, conversation.id()).await;
    let other = only(&stage, &[fork.id(), &fork.id().of_origin()], SLOW).await;
    let engine = other.engine();
    let alone = engine.conversation(fork.id());
    let _face = alone.attend();
    alone.perform(Command::Resume).await.unwrap();
    let state = reader::state(&*other.journal, fork.id()).await.unwrap();
    let mut calls = state.turns.iter().flat_map(Turn::steps).flat_map(|step| &step.calls);
    let Some(Progress::Done(ended)) = calls.next().map(|call| call.progress.clone()) else {
        panic!("{state:?}");
    };
    assert_eq!(ended.outcome, Outcome::Ok);
    assert_eq!(other.effects(), Vec::<String>::new());
}

// Bad input: nothing was copied before the origin went. What is left can be read and forked.
#[tokio::test(start_paused = true)]
async fn a_fork_of_a_fork_of_what_is_gone_can_be_forked_and_says_what_is_missing() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    talk(&stage, &engine).await;
    let one = engine.fork(stage.conversation(), &ForkAt::End, None).await.unwrap();
    let two = engine.fork(one.id(), &ForkAt::End, None).await.unwrap();
    assert_eq!(two.perform(Command::say(named("mine", "mine"))).await.unwrap(), Ending::Done);
    let other = only(&stage, &[one.id(), two.id()], TALK).await;
    let engine = other.engine();
    let three = engine.fork(two.id(), &ForkAt::End, None).await.unwrap();
    let view = engine.view(three.id()).await.unwrap();
    assert_eq!((view.turns.len(), view.head.origin_gone), (1, true));
    let gone = engine.fork(two.id(), &ForkAt::Turn(TurnId(1)), None).await;
    assert!(matches!(gone, Err(ForkError::NoTurn { .. })), "{gone:?}");
}
