//! The last turns of a conversation, read from its end.

use std::sync::Arc;

use piton::{Journal, MemoryJournal, reader, tail};
use piton_core::event::{Event, TurnEnd, UserPart};
use piton_core::id::{Attempt, ConversationId, MessageId, Seq, Timestamp, TurnId};
use piton_store::{Batch, CommitName, Durability, Holder, NewRecord, StatusRow};

fn id() -> ConversationId {
    ConversationId::new("a")
}

fn turn(number: u32, end: Option<TurnEnd>) -> Vec<Event> {
    let turn = TurnId(number);
    let message = MessageId::new(format!("m{number}"));
    let parts = vec![UserPart::text(format!("message {number}"))];
    let said = Event::UserMessage { message, parts, attempt: Attempt::FIRST };
    // Enough that one look back is too short.
    let rest = (0..50).map(|_| Event::QueueReleased);
    let ended = end.map(|end| Event::TurnEnded { turn, end });
    [Event::TurnStarted { turn, agent: None }, said].into_iter().chain(rest).chain(ended).collect()
}

async fn journal(turns: Vec<Vec<Event>>) -> Arc<dyn Journal> {
    let journal = MemoryJournal::new();
    let holder = Holder { pid: 1, host: "test".into(), since: Timestamp(0) };
    let lease = journal.lease(&id(), holder).await.unwrap();
    let opened = Event::ConversationOpened {
        workspace: "/w".into(),
        title: None,
        origin: None,
        parent: None,
    };
    let record = |event: &Event| NewRecord { at: Timestamp(1), format: 1, body: event.to_stored() };
    let records = [opened].iter().chain(turns.iter().flatten()).map(record).collect();
    let (name, status) = (CommitName::fresh(), StatusRow::default());
    let durability = Durability::Relaxed;
    let batch = Batch { name, expected: Seq(0), records, status, durability };
    journal.append(&lease, batch).await.unwrap();
    Arc::new(journal)
}

async fn numbers(journal: &dyn Journal, count: usize) -> Option<Vec<u32>> {
    let state = tail::last_turns(journal, &id(), count).await.unwrap()?;
    let shown = state.turns.iter().filter(|turn| turn.end != Some(TurnEnd::Discarded));
    Some(shown.map(|turn| turn.id.0).collect())
}

// J73
#[tokio::test]
async fn as_many_turns_as_wanted_are_read_and_discarded_ones_do_not_count() {
    let done = Some(TurnEnd::Completed);
    let discarded = Some(TurnEnd::Discarded);
    let journal =
        journal(vec![turn(1, done), turn(2, done), turn(3, discarded), turn(4, None)]).await;
    assert_eq!(numbers(&*journal, 1).await, Some(vec![4]));
    assert_eq!(numbers(&*journal, 2).await, Some(vec![2, 4]));
    assert_eq!(numbers(&*journal, 9).await, Some(vec![1, 2, 4]));
    let whole = reader::state(&*journal, &id()).await.unwrap();
    let last = tail::last_turns(&*journal, &id(), 1).await.unwrap().unwrap();
    assert_eq!(last.turns.last(), whole.turns.last());
}

#[tokio::test]
async fn a_message_of_an_earlier_turn_that_is_tried_again_needs_all_of_it() {
    let done = Some(TurnEnd::Completed);
    let retried = |number: u32| {
        let message = MessageId::new(format!("m{number}"));
        vec![Event::MessageRetried { message, attempt: Attempt::FIRST.next() }]
    };
    let earlier = journal(vec![turn(1, done), turn(2, done), retried(1)]).await;
    assert_eq!(numbers(&*earlier, 1).await, None);
    let newest = journal(vec![turn(1, done), turn(2, done), retried(2)]).await;
    assert_eq!(numbers(&*newest, 1).await, Some(vec![2]));
}
