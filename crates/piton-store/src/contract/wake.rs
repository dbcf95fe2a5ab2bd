//! Waking: by letters and by anything that is appended. Entries are in `read`.

use tokio::task::JoinHandle;

use super::fixture::{Store, batch, begin, conversation, lease};
use crate::{Arrival, Letter, ListPosition};

/// More than any store of a test has appended.
const FUTURE: ListPosition = ListPosition(1_000_000);

fn letter(id: &str) -> Letter {
    Letter { id: id.to_owned(), body: "x".to_owned() }
}

fn wait_letters(store: &Store, name: &str, seen: Arrival) -> JoinHandle<Arrival> {
    let (store, id) = (store.clone(), conversation(name));
    tokio::spawn(async move { store.wait_letters(&id, seen).await.unwrap() })
}

pub async fn a_letter_wakes_the_one_it_is_for(store: Store) {
    let waiting = wait_letters(&store, "a", Arrival(0));
    let other = wait_letters(&store, "b", Arrival(0));
    tokio::task::yield_now().await;
    store.post(&conversation("a"), letter("1")).await.unwrap();
    assert!(waiting.await.unwrap() > Arrival(0));
    assert!(!other.is_finished(), "a letter to another conversation wakes nobody");
    other.abort();
}

pub async fn a_letter_that_lies_there_needs_no_waiting(store: Store) {
    let id = conversation("a");
    store.post(&id, letter("1")).await.unwrap();
    let first = store.wait_letters(&id, Arrival(0)).await.unwrap();
    store.discard_letter(&id, "1").await.unwrap();
    // The number of a letter that is gone is not given again: its reader would miss the next one.
    store.post(&id, letter("2")).await.unwrap();
    assert!(store.wait_letters(&id, first).await.unwrap() > first);
}

pub async fn letters_between_two_waits_are_not_missed(store: Store) {
    let id = conversation("a");
    let mut seen = Arrival(0);
    for number in 0..20 {
        let posting = {
            let (store, id) = (store.clone(), id.clone());
            let letter = letter(&format!("{:02}", 99 - number));
            tokio::spawn(async move { store.post(&id, letter).await.unwrap() })
        };
        seen = store.wait_letters(&id, seen).await.unwrap();
        posting.await.unwrap();
    }
    let letters = store.letters(&id).await.unwrap();
    let expected: Vec<_> = (0..20).map(|number| format!("{:02}", 99 - number)).collect();
    assert_eq!(letters.into_iter().map(|letter| letter.id).collect::<Vec<_>>(), expected);
}

pub async fn anything_appended_anywhere_wakes_the_list(store: Store) {
    begin(&store, "a", &["one"]).await;
    let before = store.wait_list(ListPosition(0)).await.unwrap();
    assert!(before > ListPosition(0));
    let mut seen = before;
    for name in ["a", "b"] {
        let waiting = {
            let store = store.clone();
            tokio::spawn(async move { store.wait_list(seen).await.unwrap() })
        };
        tokio::task::yield_now().await;
        let lease = lease(&store, name).await;
        let place = u64::from(name == "a");
        store.append(&lease, batch(place, &["more"])).await.unwrap();
        let position = waiting.await.unwrap();
        assert!(position > seen, "{position:?} after {seen:?}");
        seen = position;
    }
}

pub async fn a_position_of_another_store_is_answered_at_once(store: Store) {
    begin(&store, "a", &["one"]).await;
    assert!(store.wait_list(FUTURE).await.unwrap() < FUTURE);
}
