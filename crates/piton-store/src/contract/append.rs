//! Appending: places, conflicts, atomicity, sizes.

use piton_core::id::{Seq, Timestamp};
use piton_core::view::Status;
use tokio::task::JoinSet;

use super::fixture::{Store, batch, begin, bodies, conversation, lease, row};
use crate::{
    AppendError, Batch, CommitName, CommitOutcome, Durability, ENTRY_BYTES_MAX, Record, StatusRow,
    StoreError,
};

/// Conversations that grow at the same time.
const CONVERSATIONS: usize = 32;
/// Appends to each of them.
const APPENDS: u64 = 10;

pub async fn an_append_gives_entries_their_places_and_reads_back(store: Store) {
    let lease = lease(&store, "a").await;
    let mut first = batch(0, &["one", "two"]);
    first.records[1].at = Timestamp(2000);
    first.records[1].format = u16::MAX;
    assert_eq!(store.append(&lease, first).await.unwrap(), Seq(2));
    assert_eq!(store.append(&lease, batch(2, &["three"])).await.unwrap(), Seq(3));

    let records = store.read(&conversation("a"), Seq(0), 10).await.unwrap();
    let record = |seq, at, format, body: &str| Record {
        seq: Seq(seq),
        at: Timestamp(at),
        format,
        body: body.to_owned(),
    };
    let expected =
        [record(1, 1000, 1, "one"), record(2, 2000, u16::MAX, "two"), record(3, 1000, 1, "three")];
    assert_eq!(records, expected);
}

// M17, X17: compare-and-append alone makes a second writer harmless.
pub async fn an_append_at_the_wrong_place_is_refused_and_leaves_nothing(store: Store) {
    begin(&store, "a", &["one", "two"]).await;
    let lease = lease(&store, "a").await;
    for wrong in [0, 1, 3, u64::MAX - 1] {
        let mut stray = batch(wrong, &["stray"]);
        stray.status = StatusRow { title: "stray".to_owned(), ..row(Status::PendingAnswer, 9) };
        match store.append(&lease, stray).await {
            Err(AppendError::Conflict { expected, actual, .. }) => {
                assert_eq!((expected, actual), (Seq(wrong), Seq(2)));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(bodies(&store, "a").await, ["one", "two"]);
    let listed = store.status(&conversation("a")).await.unwrap().unwrap();
    assert_eq!((listed.end, listed.row.status), (Seq(2), Status::PendingTools));
    assert_eq!(listed.row.title, "a title");

    let fresh = super::fixture::lease(&store, "new").await;
    let refused = store.append(&fresh, batch(1, &["stray"])).await;
    assert!(matches!(refused, Err(AppendError::Conflict { actual: Seq(0), .. })), "{refused:?}");
    assert_eq!(store.status(&conversation("new")).await.unwrap(), None);
}

pub async fn a_batch_is_appended_whole_or_not_at_all(store: Store) {
    let lease = lease(&store, "a").await;
    let large = "x".repeat(ENTRY_BYTES_MAX + 1);
    let refused = store.append(&lease, batch(0, &["small", &large])).await;
    assert!(matches!(refused, Err(AppendError::Size { .. })), "{refused:?}");
    assert_eq!(store.status(&conversation("a")).await.unwrap(), None);

    let many: Vec<String> = (0..1000).map(|number| format!("entry {number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(store.append(&lease, batch(0, &many)).await.unwrap(), Seq(1000));
    assert_eq!(bodies(&store, "a").await, many);
}

pub async fn an_empty_batch_is_refused(store: Store) {
    let lease = lease(&store, "a").await;
    let refused = store.append(&lease, batch(0, &[])).await;
    assert!(matches!(refused, Err(AppendError::Size { bytes: 0 })), "{refused:?}");
    assert_eq!(store.status(&conversation("a")).await.unwrap(), None);
}

pub async fn an_entry_may_be_as_large_as_the_limit_and_no_larger(store: Store) {
    let lease = lease(&store, "a").await;
    let largest = "y".repeat(ENTRY_BYTES_MAX);
    store.append(&lease, batch(0, &["before", &largest, "behind"])).await.unwrap();
    assert_eq!(bodies(&store, "a").await, ["before", &largest, "behind"]);

    let larger = "y".repeat(ENTRY_BYTES_MAX + 1);
    let refused = store.append(&lease, batch(3, &[&larger])).await;
    let bytes = ENTRY_BYTES_MAX + 1;
    assert!(matches!(refused, Err(AppendError::Size { bytes: b }) if b == bytes));
}

pub async fn bodies_keep_every_character(store: Store) {
    let texts = ["", "\0", "a\0b", "ä€𝄞🧗\u{200d}", "\u{feff}\r\n\t'\"\\", "\u{10ffff}"];
    begin(&store, "a", &texts).await;
    assert_eq!(bodies(&store, "a").await, texts);
}

pub async fn relaxed_and_synced_commits_follow_each_other(store: Store) {
    let lease = lease(&store, "a").await;
    let kinds = [Durability::Relaxed, Durability::Relaxed, Durability::Synced, Durability::Relaxed];
    for (expected, durability) in (0_u64..).zip(kinds) {
        let next = Batch { durability, ..batch(expected, &[&format!("{expected}")]) };
        assert_eq!(store.append(&lease, next).await.unwrap(), Seq(expected + 1));
    }
    assert_eq!(bodies(&store, "a").await, ["0", "1", "2", "3"]);
}

pub async fn many_conversations_grow_at_the_same_time(store: Store) {
    let mut tasks = JoinSet::new();
    for number in 0..CONVERSATIONS {
        let store = store.clone();
        tasks.spawn(async move {
            let name = format!("c{number}");
            let lease = lease(&store, &name).await;
            for seq in 0..APPENDS {
                let body = format!("{name} {seq}");
                let end = store.append(&lease, batch(seq, &[&body])).await.unwrap();
                assert_eq!(end, Seq(seq + 1));
                // A refused one among the others must not take them with it.
                let refused = store.append(&lease, batch(seq, &["stray"])).await;
                assert!(matches!(refused, Err(AppendError::Conflict { .. })), "{refused:?}");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    for number in 0..CONVERSATIONS {
        let name = format!("c{number}");
        let expected: Vec<_> = (0..APPENDS).map(|seq| format!("{name} {seq}")).collect();
        assert_eq!(bodies(&store, &name).await, expected);
    }
}

pub async fn racing_writers_of_one_lease_never_overwrite(store: Store) {
    let lease = std::sync::Arc::new(lease(&store, "a").await);
    let mut tasks = JoinSet::new();
    for writer in 0..16 {
        let (store, lease) = (store.clone(), lease.clone());
        tasks.spawn(async move {
            match store.append(&lease, batch(0, &[&format!("{writer}")])).await {
                Ok(end) => {
                    assert_eq!(end, Seq(1));
                    Some(writer.to_string())
                }
                Err(AppendError::Conflict { .. }) => None,
                Err(other) => panic!("{other}"),
            }
        });
    }
    let mut won = Vec::new();
    while let Some(done) = tasks.join_next().await {
        won.extend(done.unwrap());
    }
    assert_eq!(won.len(), 1, "one of them and only one");
    assert_eq!(bodies(&store, "a").await, won);
}

pub async fn the_outcome_of_a_commit_is_known_by_its_name(store: Store) {
    let id = conversation("a");
    let outcome = async |name: &CommitName| store.outcome(&id, name).await.unwrap();
    assert_eq!(outcome(&CommitName::fresh()).await, CommitOutcome::NotCommitted);
    let lease = lease(&store, "a").await;
    let mut names = Vec::new();
    // More than any store keeps in one place.
    for place in 0..600 {
        let next = batch(2 * place, &["x", "y"]);
        names.push(next.name.clone());
        store.append(&lease, next).await.unwrap();
    }
    let refused = batch(7, &["stray"]);
    let stray = refused.name.clone();
    store.append(&lease, refused).await.unwrap_err();
    assert_eq!(outcome(&stray).await, CommitOutcome::NotCommitted);
    for place in [0, 1, 299, 511, 512, 599] {
        let end = Seq(2 * place as u64 + 2);
        assert_eq!(outcome(&names[place]).await, CommitOutcome::Committed(end));
    }
    assert_eq!(outcome(&CommitName::fresh()).await, CommitOutcome::NotCommitted);
    begin(&store, "b", &["one"]).await;
    let elsewhere = store.outcome(&conversation("b"), &names[0]).await.unwrap();
    assert_eq!(elsewhere, CommitOutcome::NotCommitted, "a name belongs to one conversation");
}

// The answer of an append is lost with the one who waits for it; what took place is known all the same.
pub async fn an_append_that_nobody_waits_for_has_an_outcome(store: Store) {
    // A second lease makes a store that shares commits do so.
    let _other = lease(&store, "other").await;
    let lease = std::sync::Arc::new(lease(&store, "a").await);
    let next = batch(0, &["one"]);
    let name = next.name.clone();
    let abandoned = {
        let (store, lease) = (store.clone(), lease.clone());
        tokio::spawn(async move { store.append(&lease, next).await.map(drop).ok() })
    };
    tokio::task::yield_now().await;
    abandoned.abort();
    let outcome = store.outcome(&conversation("a"), &name).await.unwrap();
    let found = store.status(&conversation("a")).await.unwrap().map(|listed| listed.end);
    match outcome {
        CommitOutcome::Committed(end) => assert_eq!(found, Some(end)),
        CommitOutcome::NotCommitted => assert_eq!(found, None),
    }
}

/// For stores that can fail: the error a caller sees when the store itself is at fault.
pub fn store_error(refused: Result<Seq, AppendError>) -> StoreError {
    match refused {
        Err(AppendError::Store(error)) => error,
        other => panic!("{other:?}"),
    }
}
