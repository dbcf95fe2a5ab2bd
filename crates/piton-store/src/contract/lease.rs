//! Leases: one writer, named, free when it is gone, fenced when it comes back as a ghost.

use std::sync::Arc;

use piton_core::id::{Epoch, Seq};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::fixture::{Store, batch, begin, bodies, conversation, holder, lease};
use crate::{AppendError, Lease, LeaseError, Page};

/// Drivers that ask for the same lease at once.
const RIVALS: usize = 16;
/// Times to take a lease while another task keeps asking who has it.
const ROUNDS: usize = 100;

// J79 (the waiting is the caller's), M17: also within one process.
pub async fn a_second_lease_is_refused_and_names_the_holder(store: Store) {
    let _held = store.lease(&conversation("a"), holder(7)).await.unwrap();
    match store.lease(&conversation("a"), holder(8)).await {
        Err(error @ LeaseError::Held { .. }) => {
            assert_eq!(error.to_string(), "conversation a is held by process 7 on here");
        }
        other => panic!("{other:?}"),
    }
}

pub async fn a_dropped_lease_is_free_again(store: Store) {
    let first = lease(&store, "a").await;
    store.append(&first, batch(0, &["one"])).await.unwrap();
    let epoch = first.epoch();
    drop(first);
    let second = lease(&store, "a").await;
    assert!(second.epoch() > epoch, "a lease is higher than every one that wrote before it");
    store.append(&second, batch(1, &["two"])).await.unwrap();
    assert_eq!(bodies(&store, "a").await, ["one", "two"]);
}

pub async fn a_released_lease_is_free_when_that_returns(store: Store) {
    for place in 0..20 {
        let held = store.lease(&conversation("a"), holder(1)).await.unwrap();
        store.append(&held, batch(place, &["x"])).await.unwrap();
        store.release(held).await.unwrap();
        let row = store.status(&conversation("a")).await.unwrap().unwrap();
        assert_eq!(row.holder, None);
    }
}

pub async fn leases_of_different_conversations_do_not_meet(store: Store) {
    let _one = lease(&store, "a").await;
    let _two = lease(&store, "A").await;
    let _three = lease(&store, "ab").await;
}

pub async fn names_that_look_like_paths_are_names(store: Store) {
    for name in ["../a", "/a", "a/b", "..", "", "a.lock", "*", &"long".repeat(100)] {
        begin(&store, name, &["one"]).await;
        assert_eq!(bodies(&store, name).await, ["one"]);
    }
}

// X17, J83: a writer that slept through its successor's work is refused, even where the lock failed
// to keep it out and even if it guesses the right place. An append without a lease does not compile.
pub async fn a_later_lease_that_wrote_fences_an_earlier_one(store: Store) {
    let later = lease(&store, "a").await;
    store.append(&later, batch(0, &["one"])).await.unwrap();
    let ghost = Lease::new(conversation("a"), Epoch(later.epoch().0 - 1), Box::new(()));
    for place in [0, 1] {
        let refused = store.append(&ghost, batch(place, &["ghost"])).await;
        assert!(matches!(refused, Err(AppendError::Fenced { .. })), "{refused:?}");
    }
    let usurper = Lease::new(conversation("a"), Epoch(later.epoch().0 + 5), Box::new(()));
    store.append(&usurper, batch(1, &["two"])).await.unwrap();
    let refused = store.append(&later, batch(2, &["three"])).await;
    assert!(matches!(refused, Err(AppendError::Fenced { .. })), "{refused:?}");
    assert_eq!(bodies(&store, "a").await, ["one", "two"]);
}

pub async fn of_many_that_ask_at_once_one_gets_the_lease(store: Store) {
    let start = Arc::new(Barrier::new(RIVALS));
    let mut tasks = JoinSet::new();
    for rival in 0..RIVALS {
        let (store, start) = (store.clone(), start.clone());
        tasks.spawn(async move {
            start.wait().await;
            let pid = u32::try_from(rival).unwrap();
            match store.lease(&conversation("a"), holder(pid)).await {
                Ok(lease) => Some(lease),
                Err(LeaseError::Held { .. }) => None,
                Err(other) => panic!("{other}"),
            }
        });
    }
    // Kept until all have answered: a dropped lease would be free for the next one.
    let mut won = Vec::new();
    while let Some(done) = tasks.join_next().await {
        won.extend(done.unwrap());
    }
    assert_eq!(won.len(), 1);
    let place = Seq(0);
    assert_eq!(store.append(&won[0], batch(place.0, &["one"])).await.unwrap(), Seq(1));
}

// J78: a reader is no writer's obstacle.
pub async fn asking_who_holds_it_never_refuses_a_writer(store: Store) {
    begin(&store, "a", &["one"]).await;
    let asking = {
        let store = store.clone();
        tokio::spawn(async move {
            loop {
                store.list(Page::first(10)).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    for _ in 0..ROUNDS {
        drop(lease(&store, "a").await);
    }
    asking.abort();
}
