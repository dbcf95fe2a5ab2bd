//! Forks: cut anywhere, nothing copied, and what was started stays with the conversation that started it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use piton::fork::{ForkAt, ForkError};
use piton::{Command, Conversation, Engine, Reply, reader};
use piton_core::event::{
    EVENT_FORMAT, Event, InDoubtPolicy, Outcome, PermissionMode, TurnEnd, UserPart,
};
use piton_core::id::{Attempt, ConversationId, MessageId, Seq, Timestamp, TurnId};
use piton_core::outcome::Ending;
use piton_core::state::{Progress, State, Turn};
use piton_core::transcript::Transcript;
use piton_core::view::Status;
use piton_proof::passing::{Onlooker, Passing};
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, MemoryJournal, NewRecord, Record, StatusRow,
    Wants,
};

use crate::stage::{Stage, cut, named, pass, pending, say};

const TALK: &str = r#"{"steps":[{"say":"one"},{"say":"two"},{"say":"three"},{"say":"four"}]}"#;
const SLOW: &str =
    r#"{"steps":[{"calls":[{"tool":"pay","arguments":{"ms":5000}}]},{"say":"done"}]}"#;

async fn state(stage: &Stage, id: &ConversationId) -> State {
    reader::state(&*stage.journal, id).await.unwrap()
}

async fn fork(stage: &Stage, engine: &Engine, at: &ForkAt) -> Conversation {
    engine.fork(stage.conversation(), at, None).await.unwrap()
}

/// A conversation of three turns, `m1` to `m3`.
async fn talk(stage: &Stage, engine: &Engine) {
    let conversation = stage.conversation_in(engine);
    for id in ["m1", "m2", "m3"] {
        let said = Command::say(named(id, id));
        assert_eq!(conversation.perform(said).await.unwrap(), Ending::Done);
    }
}

// J74, X26
#[tokio::test(start_paused = true)]
async fn a_fork_goes_on_by_itself_and_copies_nothing() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    talk(&stage, &engine).await;
    let before = stage.entries().await;
    let fork = fork(&stage, &engine, &ForkAt::End).await;
    assert_eq!(stage.entries_of(fork.id()).await.len(), 1);
    let forked = state(&stage, fork.id()).await;
    assert_eq!(
        Transcript::from(&forked).messages(),
        Transcript::from(&stage.state().await).messages()
    );
    assert_eq!(fork.perform(Command::say(say("go"))).await.unwrap(), Ending::Done);
    assert_eq!(state(&stage, fork.id()).await.turns.len(), 4);
    // It goes on from what the model was sent before.
    let requests = stage.requests();
    let (last, earlier) = (requests.last().unwrap(), requests.iter().nth_back(1).unwrap());
    assert_eq!(last.messages.get(..earlier.messages.len()), Some(&*earlier.messages));
    // The other one knows nothing of it.
    assert_eq!(stage.entries().await, before);
    let view = engine.view(fork.id()).await.unwrap();
    let origin = view.head.origin.unwrap();
    assert_eq!(
        (&origin.conversation, origin.through),
        (stage.conversation(), Seq(before.len() as u64))
    );
    assert_eq!(view.head.title, "m1");
    stage.check().await;
}

// J75
#[tokio::test(start_paused = true)]
async fn a_fork_is_cut_where_it_is_asked_for() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    talk(&stage, &engine).await;
    let message = |id: &str| MessageId::new(id);
    for (at, turns, open) in [
        (ForkAt::End, 3, false),
        (ForkAt::Turn(TurnId(3)), 3, false),
        (ForkAt::Turn(TurnId(1)), 1, false),
        (ForkAt::BeforeTurn(TurnId(2)), 1, false),
        (ForkAt::BeforeTurn(TurnId(1)), 0, false),
        (ForkAt::Before(message("m3")), 2, false),
        (ForkAt::Behind(message("m2")), 2, true),
        (ForkAt::Behind(message("m3")), 3, true),
    ] {
        let fork = fork(&stage, &engine, &at).await;
        let state = state(&stage, fork.id()).await;
        assert_eq!((state.turns.len(), state.open_turn().is_some()), (turns, open), "{at:?}");
        // The row that lists show was made without reading all that.
        let row = stage.journal.status(fork.id()).await.unwrap().unwrap().row;
        assert_eq!((row.turns as usize, row.status), (turns, Status::of(&state)), "{at:?}");
        let wants = if open { Wants::Person } else { Wants::Nobody };
        assert_eq!((row.wants, row.title.as_str()), (wants, "m1"), "{at:?}");
        let said = fork.perform(if open { Command::Resume } else { Command::say(say("on")) }).await;
        assert_eq!(said.unwrap(), Ending::Done, "{at:?}");
    }
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_place_that_is_not_there_is_refused() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    talk(&stage, &engine).await;
    let end = stage.entries().await.len() as u64;
    for (at, said) in [
        (ForkAt::Turn(TurnId(9)), "conversation staged has no turn 9".to_owned()),
        (ForkAt::BeforeTurn(TurnId(0)), "conversation staged has no turn 0".to_owned()),
        (ForkAt::Before(MessageId::new("x")), "conversation staged has no message x".to_owned()),
        (
            ForkAt::Entry(Seq(end + 1)),
            format!("conversation staged has the entries 1 to {end}, and no entry {}", end + 1),
        ),
        (
            ForkAt::Entry(Seq(0)),
            format!("conversation staged has the entries 1 to {end}, and no entry 0"),
        ),
    ] {
        let refused = engine.fork(stage.conversation(), &at, None).await.unwrap_err();
        assert_eq!(refused.to_string(), said);
    }
    let unknown = engine.fork(&ConversationId::new("nobody"), &ForkAt::End, None).await;
    assert!(matches!(unknown, Err(ForkError::Unknown(_))), "{unknown:?}");
    assert_eq!(stage.journal.find("", 10).await.unwrap().len(), 1);
}

// J75: every entry is a place, and none of them is repaired. A turn without its message is none.
#[tokio::test(start_paused = true)]
async fn a_fork_behind_any_entry_can_be_resumed() {
    let stage = Stage::new(
        r#"{"steps":[{"calls":[{"tool":"look"},{"tool":"change","arguments":{"path":"a","line":"1"}}]},
            {"say":"done"}]}"#,
    );
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.perform(Command::say(say("go"))).await.unwrap();
    let entries = stage.entries().await;
    let message = entries.iter().position(|it| matches!(it.event, Event::UserMessage { .. }));
    let begun = entries.iter().position(|it| matches!(it.event, Event::TurnStarted { .. }));
    let without_message = begun.unwrap()..message.unwrap();
    for (place, entry) in entries.iter().enumerate() {
        if without_message.contains(&place) {
            let refused = engine.fork(stage.conversation(), &ForkAt::Entry(entry.seq), None).await;
            assert!(matches!(refused, Err(ForkError::NoMessageYet { .. })), "{refused:?}");
            continue;
        }
        let fork = fork(&stage, &engine, &ForkAt::Entry(entry.seq)).await;
        let cut = State::from_entries(entries.iter().take_while(|it| it.seq <= entry.seq));
        let state = state(&stage, fork.id()).await;
        assert_eq!(state.open_turn().is_some(), cut.open_turn().is_some(), "{:?}", entry.event);
        let row = stage.journal.status(fork.id()).await.unwrap().unwrap().row;
        assert_eq!(row.status, Status::of(&state));
    }
}

// J74: two conversations, two answers.
#[tokio::test(start_paused = true)]
async fn a_question_is_answered_in_each_conversation_by_itself() {
    let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"done"}]}"#)
        .mode(PermissionMode::Ask);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let asked = conversation.perform(Command::say(say("go"))).await.unwrap();
    assert_eq!(asked, Ending::WaitingForInput);
    let fork = fork(&stage, &engine, &ForkAt::End).await;
    let inquiry = pending(&state(&stage, fork.id()).await).remove(0);
    let answer = |reply| Command::answer(inquiry.clone(), reply);
    assert_eq!(fork.perform(answer(Reply::Deny)).await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), Vec::<String>::new());
    assert_eq!(pending(&stage.state().await), std::slice::from_ref(&inquiry));
    assert_eq!(conversation.perform(answer(Reply::Allow)).await.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

/// How the only call of a fork ended.
async fn ended(stage: &Stage, id: &ConversationId) -> Option<(Outcome, String)> {
    let state = state(stage, id).await;
    let call =
        state.turns.iter().flat_map(Turn::steps).flat_map(|step| &step.calls).next()?.clone();
    match call.progress {
        Progress::Done(ended) => Some((ended.outcome, ended.output.text.to_string())),
        Progress::Waiting | Progress::Running(_) | Progress::InDoubt(_) | Progress::Parked(_) => {
            None
        }
    }
}

// X7: it is done once, in the conversation that began it, and the other one hears of it.
#[tokio::test(start_paused = true)]
async fn a_call_that_runs_stays_where_it_is_and_its_end_is_taken_over() {
    for tool in ["look", "set", "build", "pay", "post"] {
        let stage = Stage::new(&SLOW.replace("pay", tool)).in_doubt(InDoubtPolicy::Ask);
        let engine = stage.engine();
        let conversation = stage.conversation_in(&engine);
        conversation.send(Command::say(say("go"))).await.unwrap();
        pass(1_000).await;
        let fork = fork(&stage, &engine, &ForkAt::End).await;
        let inner = engine.fork(fork.id(), &ForkAt::End, None).await.unwrap();
        // Not yet: a person is asked, and nothing runs.
        for fork in [&fork, &inner] {
            assert_eq!(fork.perform(Command::Resume).await.unwrap(), Ending::WaitingForInput);
            let inquiry = pending(&state(&stage, fork.id()).await).remove(0);
            let look = Command::answer(inquiry, Reply::LookAgain);
            assert_eq!(fork.perform(look).await.unwrap(), Ending::WaitingForInput, "{tool}");
            assert_eq!(pending(&state(&stage, fork.id()).await).len(), 1);
        }
        pass(10_000).await;
        assert!(stage.state().await.open_turn().is_none());
        let end = ended(&stage, stage.conversation()).await.unwrap();
        // A question that nobody answered does not stand in the way.
        for fork in [&fork, &inner] {
            assert_eq!(fork.perform(Command::Resume).await.unwrap(), Ending::Done, "{tool}");
            assert_eq!(ended(&stage, fork.id()).await.unwrap(), end);
            let starts = stage.entries_of(fork.id()).await;
            assert!(!starts.iter().any(|it| matches!(it.event, Event::ToolStarted { .. })));
        }
        assert!(stage.effects().len() <= 1, "{:?}", stage.effects());
        stage.check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_gives_the_result_or_says_that_nobody_knows() {
    for (reply, expected) in [
        (Reply::Text("it paid 3".into()), (Outcome::Ok, "it paid 3")),
        (Reply::TreatAsDone, (Outcome::Ok, piton_core::decide::calls::CONFIRMED_TEXT)),
        (Reply::Deny, (Outcome::Unknown, piton_core::decide::calls::ELSEWHERE_TEXT)),
    ] {
        let stage = Stage::new(SLOW).in_doubt(InDoubtPolicy::Ask);
        cut(20, stage.create().await.send(say("go"), piton::OnIncomplete::Ask)).await;
        let engine = stage.engine();
        let fork = fork(&stage, &engine, &ForkAt::End).await;
        assert_eq!(fork.perform(Command::Resume).await.unwrap(), Ending::WaitingForInput);
        let inquiry = pending(&state(&stage, fork.id()).await).remove(0);
        let answered = fork.perform(Command::answer(inquiry, reply)).await.unwrap();
        assert_eq!(answered, Ending::Done);
        let (outcome, text) = ended(&stage, fork.id()).await.unwrap();
        assert_eq!((outcome, text.as_str()), expected);
        assert_eq!(stage.effects(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn while_nobody_is_there_the_model_is_told() {
    let stage = Stage::new(SLOW);
    cut(20, stage.create().await.send(say("go"), piton::OnIncomplete::Ask)).await;
    let engine = stage.engine();
    let fork = fork(&stage, &engine, &ForkAt::End).await;
    assert_eq!(fork.perform(Command::Resume).await.unwrap(), Ending::Done);
    assert_eq!(ended(&stage, fork.id()).await.unwrap().0, Outcome::Unknown);
    // Leaving the turn stops nothing of the other one: it has it still.
    let origin = stage.state().await;
    assert!(origin.open_turn().is_some());
    stage.check().await;
}

// A fork that is left stops nothing of its origin.
#[tokio::test(start_paused = true)]
async fn a_fork_that_is_discarded_leaves_the_command_of_its_origin_running() {
    let stage = Stage::new(&SLOW.replace("pay", "build"));
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.send(Command::say(say("go"))).await.unwrap();
    pass(1_000).await;
    let fork = fork(&stage, &engine, &ForkAt::End).await;
    fork.perform(Command::Discard).await.unwrap();
    let left = state(&stage, fork.id()).await;
    assert_eq!(left.turns.last().unwrap().end, Some(TurnEnd::Discarded));
    pass(10_000).await;
    assert_eq!(stage.effects(), ["build 1.1.0"]);
    assert_eq!(ended(&stage, stage.conversation()).await.unwrap().0, Outcome::Ok);
    stage.check().await;
}

// Bad input: history is never lost in silence.
#[tokio::test(start_paused = true)]
async fn forks_of_forks_end_with_a_word() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    stage.conversation_in(&engine).perform(Command::say(say("go"))).await.unwrap();
    let mut last = stage.conversation().clone();
    for _ in 0..reader::FORKS_MAX {
        last = engine.fork(&last, &ForkAt::End, None).await.unwrap().id().clone();
    }
    assert_eq!(state(&stage, &last).await.turns.len(), 1);
    let refused = engine.fork(&last, &ForkAt::End, None).await.unwrap_err();
    let said = format!(
        "conversation {last} is a fork of a fork, and so on, 64 times already, which is the most"
    );
    assert_eq!(refused.to_string(), said);
    // One at an earlier turn hangs on the conversation that has that turn.
    let early = engine.fork(&last, &ForkAt::Turn(TurnId(1)), None).await.unwrap();
    let origin = engine.view(early.id()).await.unwrap().head.origin.unwrap();
    assert_eq!(&origin.conversation, stage.conversation());
}

#[tokio::test(start_paused = true)]
async fn the_forks_of_a_conversation_are_found() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    stage.conversation_in(&engine).perform(Command::say(say("go"))).await.unwrap();
    assert_eq!(engine.forks_of(stage.conversation()).await.unwrap(), []);
    let one = fork(&stage, &engine, &ForkAt::End).await;
    let two = engine.fork(one.id(), &ForkAt::End, Some("Two".into())).await.unwrap();
    let found = |forks: Vec<piton::Fork>| {
        forks.into_iter().map(|fork| fork.conversation).collect::<Vec<_>>()
    };
    assert_eq!(found(engine.forks_of(stage.conversation()).await.unwrap()), [one.id().clone()]);
    assert_eq!(found(engine.forks_of(one.id()).await.unwrap()), [two.id().clone()]);
    assert_eq!(engine.view(two.id()).await.unwrap().head.title, "Two");
}

// A person who waits in the fork hears it at once.
#[tokio::test(start_paused = true)]
async fn an_end_is_taken_over_while_a_face_waits_for_it() {
    let stage = Stage::new(SLOW).in_doubt(InDoubtPolicy::Ask);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    conversation.send(Command::say(say("go"))).await.unwrap();
    pass(1_000).await;
    let fork = fork(&stage, &engine, &ForkAt::End).await;
    let inner = engine.fork(fork.id(), &ForkAt::End, None).await.unwrap();
    let (_face, _other) = (fork.attend(), inner.attend());
    let (one, two) = tokio::join!(fork.perform(Command::Resume), inner.perform(Command::Resume));
    assert_eq!((one.unwrap(), two.unwrap()), (Ending::Done, Ending::Done));
    assert_eq!(ended(&stage, inner.id()).await, ended(&stage, stage.conversation()).await);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    stage.check().await;
}

// Bad input: what is gone is said, and what is left can be read.
#[tokio::test(start_paused = true)]
async fn a_fork_of_what_is_gone_says_so_and_has_its_own_entries() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    talk(&stage, &engine).await;
    let one = fork(&stage, &engine, &ForkAt::End).await;
    let two = engine.fork(one.id(), &ForkAt::End, None).await.unwrap();
    assert_eq!(two.perform(Command::say(say("mine"))).await.unwrap(), Ending::Done);
    // Another store, into which the middle one and its origin were not brought.
    let other = Stage::new(TALK);
    bring(&stage, &other, two.id(), 0).await;
    let view = other.engine().view(two.id()).await.unwrap();
    assert!(view.head.origin_gone);
    assert_eq!(view.turns.len(), 1);
    assert!(!engine.view(two.id()).await.unwrap().head.origin_gone);
}

// Bad input: an origin that ends before the cut has not what they share, so nothing of it is taken for that.
#[tokio::test(start_paused = true)]
async fn a_fork_of_what_ends_before_the_cut_says_so_and_has_its_own_entries() {
    let stage = Stage::new(TALK);
    let engine = stage.engine();
    talk(&stage, &engine).await;
    let one = fork(&stage, &engine, &ForkAt::End).await;
    let two = engine.fork(one.id(), &ForkAt::End, None).await.unwrap();
    assert_eq!(two.perform(Command::say(say("mine"))).await.unwrap(), Ending::Done);
    let other = Stage::new(TALK);
    for (id, left_out) in [(stage.conversation(), 1), (one.id(), 0), (two.id(), 0)] {
        bring(&stage, &other, id, left_out).await;
    }
    for (id, turns) in [(one.id(), 0), (two.id(), 1)] {
        let view = other.engine().view(id).await.unwrap();
        assert!(view.head.origin_gone);
        assert_eq!(view.turns.len(), turns);
        let lineage = reader::lineage(&*other.journal, id).await.unwrap();
        assert_eq!(lineage.gone.as_ref(), Some(stage.conversation()));
    }
}

/// Brings a conversation into another store, without so many of its last entries.
async fn bring(from: &Stage, to: &Stage, id: &ConversationId, left_out: usize) {
    let mut records = from.journal.read(id, Seq(0), 1_000).await.unwrap();
    records.truncate(records.len() - left_out);
    let record = |it: Record| NewRecord { at: it.at, format: it.format, body: it.body };
    let records = records.into_iter().map(record).collect();
    write(&*to.journal, id, records, StatusRow::default()).await;
}

/// Begins a conversation with these records.
async fn write(
    journal: &dyn Journal,
    id: &ConversationId,
    records: Vec<NewRecord>,
    status: StatusRow,
) {
    let holder = Holder { pid: 1, host: "h".into(), since: Timestamp(0) };
    let lease = journal.lease(id, holder).await.unwrap();
    let (name, durability) = (CommitName::fresh(), Durability::Synced);
    let batch = Batch { name, expected: Seq(0), records, status, durability };
    journal.append(&lease, batch).await.unwrap();
    journal.release(lease).await.unwrap();
}

/// Counts the records that are read.
#[derive(Debug, Default)]
struct Reads(AtomicUsize);

#[async_trait]
impl Onlooker for Reads {
    fn have_read(&self, records: Vec<Record>) -> Vec<Record> {
        self.0.fetch_add(records.len(), Ordering::Relaxed);
        records
    }
}

/// How many records are read to make forks of a conversation with so many turns.
async fn records_read(turns: u32) -> usize {
    let stage = Stage::new(TALK);
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let mut events = vec![Event::ConversationOpened {
        workspace: "/".into(),
        title: None,
        origin: None,
        parent: None,
    }];
    for turn in 1..=turns {
        let (message, parts) = (MessageId::new(format!("m{turn}")), vec![UserPart::text("go")]);
        let turn = TurnId(turn);
        events.push(Event::TurnStarted { turn, agent: None });
        events.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST });
        events.push(Event::TurnEnded { turn, end: TurnEnd::Stopped });
    }
    let record = |event: &Event| NewRecord {
        at: Timestamp(1),
        format: EVENT_FORMAT,
        body: event.to_stored(),
    };
    let row = StatusRow { turns, workspace: "/".into(), ..StatusRow::default() };
    write(&*inner, stage.conversation(), events.iter().map(record).collect(), row).await;
    let counted = Arc::new(Passing::new(inner, Reads::default()));
    let engine = stage.engine_over(counted.clone(), piton::LeaseWait::NONE);
    for (at, left) in [
        (ForkAt::End, turns),
        (ForkAt::BeforeTurn(TurnId(turns)), turns - 1),
        (ForkAt::Turn(TurnId(turns - 1)), turns - 1),
        (ForkAt::Before(MessageId::new(format!("m{turns}"))), turns - 1),
    ] {
        let fork = engine.fork(stage.conversation(), &at, None).await.unwrap();
        let row = counted.status(fork.id()).await.unwrap().unwrap().row;
        assert_eq!((row.turns, row.status), (left, Status::Idle), "{at:?}");
    }
    counted.0.load(Ordering::Relaxed)
}

// A fork costs the same, however long its origin is.
#[tokio::test(start_paused = true)]
async fn a_fork_does_not_read_its_origin() {
    let few = records_read(1_000).await;
    assert_eq!(few, records_read(20_000).await);
    assert!(few < 5_000, "{few} records were read");
}
