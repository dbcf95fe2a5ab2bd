//! Reading and waiting: pages, prefixes, wake-ups.

use piton_core::id::Seq;
use tokio::task::JoinSet;

use super::fixture::{Store, batch, begin, conversation, lease, texts};
use crate::{Page, StoreError};

/// Commits that a reader watches; each has two entries.
const COMMITS: u64 = 50;
/// Commits of each of several long journals; together more than any store treats alike.
const LONG: u64 = 450;
/// Readers who wait for the same conversation.
const WAITERS: usize = 8;

pub async fn reading_goes_page_by_page(store: Store) {
    let lease = lease(&store, "a").await;
    store.append(&lease, batch(0, &["1", "2", "3"])).await.unwrap();
    store.append(&lease, batch(3, &["4"])).await.unwrap();
    store.append(&lease, batch(4, &["5", "6"])).await.unwrap();
    let read = |after, limit| {
        let store = store.clone();
        async move { texts(&store.read(&conversation("a"), Seq(after), limit).await.unwrap()).concat() }
    };
    // Every page of every size, also those that begin or end within a commit.
    let all = "123456";
    for after in 0..=7 {
        for limit in 0..=7 {
            let rest = all.get(after..).unwrap_or_default();
            let page = rest.get(..limit).unwrap_or(rest);
            assert_eq!(read(after as u64, limit).await, page, "{limit} behind {after}");
        }
    }
    assert_eq!(read(u64::MAX, usize::MAX).await, "");
}

/// Journals that grow in turn. A store may keep a journal in another way from some length on. Every
/// part reads back at every length, and the list knows every end.
pub async fn long_journals_read_alike_at_every_length(store: Store) {
    let names = ["a", "b", "c"];
    let mut leases = Vec::new();
    for name in names {
        leases.push(lease(&store, name).await);
    }
    for commit in 0..LONG {
        for lease in &leases {
            let body = format!("{commit} of {}", lease.conversation().as_str());
            store.append(lease, batch(commit, &[&body])).await.unwrap();
        }
        if !commit.is_multiple_of(25) {
            continue;
        }
        for name in names {
            let from = commit.saturating_sub(3).min(commit / 2);
            for after in [0, from, commit] {
                let records = store.read(&conversation(name), Seq(after), 1_000).await.unwrap();
                let expected: Vec<String> =
                    (after..=commit).map(|commit| format!("{commit} of {name}")).collect();
                assert_eq!(texts(&records), expected, "behind {after} of {commit}");
            }
        }
        let listing = store.list(Page::first(10)).await.unwrap();
        assert_eq!(listing.rows.len(), names.len());
        assert!(listing.rows.iter().all(|row| row.end == Seq(commit + 1)), "{listing:?}");
    }
}

pub async fn an_unknown_conversation_is_an_error(store: Store) {
    begin(&store, "a", &["one"]).await;
    // A lease is no conversation yet.
    let _lease = lease(&store, "b").await;
    for name in ["b", "aa", ""] {
        let id = conversation(name);
        let read = store.read(&id, Seq(0), 1).await;
        assert!(matches!(read, Err(StoreError::UnknownConversation(_))), "{read:?}");
        let waited = store.wait_past(&id, Seq(0)).await;
        assert!(matches!(waited, Err(StoreError::UnknownConversation(_))), "{waited:?}");
        assert_eq!(store.status(&id).await.unwrap(), None);
    }
}

// J78: whole commits only, in order, and never less than before.
pub async fn a_reader_sees_a_prefix_while_a_writer_writes(store: Store) {
    begin(&store, "a", &["0", "0"]).await;
    let writing = {
        let store = store.clone();
        tokio::spawn(async move {
            let lease = lease(&store, "a").await;
            for commit in 1..COMMITS {
                let body = commit.to_string();
                store.append(&lease, batch(2 * commit, &[&body, &body])).await.unwrap();
            }
        })
    };
    let mut seen = 0;
    while seen < 2 * COMMITS {
        let records = store.read(&conversation("a"), Seq(0), usize::MAX).await.unwrap();
        let count = records.len() as u64;
        assert!(count >= seen && count.is_multiple_of(2), "{count} after {seen}");
        for (place, body) in (0_u64..).zip(texts(&records)) {
            assert_eq!(body, (place / 2).to_string());
        }
        seen = count;
        // The status row and the journal are one commit: what a list says is never ahead.
        let listed = store.status(&conversation("a")).await.unwrap().unwrap();
        assert!(listed.end.0 >= seen);
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
}

pub async fn waiting_returns_at_once_when_there_is_more(store: Store) {
    begin(&store, "a", &["1", "2", "3"]).await;
    for seq in 0..3 {
        assert_eq!(store.wait_past(&conversation("a"), Seq(seq)).await.unwrap(), Seq(3));
    }
}

pub async fn waiting_wakes_up_everybody_who_waits(store: Store) {
    begin(&store, "a", &["1"]).await;
    begin(&store, "other", &["1"]).await;
    let mut waiting = JoinSet::new();
    for _ in 0..WAITERS {
        let store = store.clone();
        waiting.spawn(async move { store.wait_past(&conversation("a"), Seq(2)).await.unwrap() });
    }
    tokio::task::yield_now().await;
    let lease_other = lease(&store, "other").await;
    store.append(&lease_other, batch(1, &["2", "3", "4"])).await.unwrap();
    let lease = lease(&store, "a").await;
    store.append(&lease, batch(1, &["2"])).await.unwrap();
    assert!(waiting.try_join_next().is_none(), "the end is not behind 2 yet");
    store.append(&lease, batch(2, &["3"])).await.unwrap();
    while let Some(end) = waiting.join_next().await {
        assert_eq!(end.unwrap(), Seq(3));
    }
}
