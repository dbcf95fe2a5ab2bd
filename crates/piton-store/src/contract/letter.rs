//! Letters: left once, read in order by the one writer, gone when they are taken.

use super::fixture::{Store, conversation};
use crate::{LETTER_BYTES_MAX, LETTERS_MAX, Letter, StoreError};

fn letter(id: &str, body: &str) -> Letter {
    Letter { id: id.to_owned(), body: body.to_owned() }
}

async fn ids(store: &Store, name: &str) -> Vec<String> {
    let letters = store.letters(&conversation(name)).await.expect("readable");
    letters.into_iter().map(|letter| letter.id).collect()
}

pub async fn letters_lie_in_the_order_of_their_arrival_until_they_are_taken(store: Store) {
    let id = conversation("one");
    assert_eq!(ids(&store, "one").await, [""; 0]);
    for name in ["2-b", "1-a", "2-b", "3-c"] {
        store.post(&id, letter(name, name)).await.expect("left");
    }
    assert_eq!(ids(&store, "one").await, ["2-b", "1-a", "3-c"]);
    let first = store.letters(&id).await.expect("readable").remove(0);
    assert_eq!(first, letter("2-b", "2-b"));
    for _ in 0..2 {
        store.discard_letter(&id, "2-b").await.expect("gone or not, it is gone");
    }
    assert_eq!(ids(&store, "one").await, ["1-a", "3-c"]);
}

pub async fn a_letter_belongs_to_one_conversation(store: Store) {
    for name in ["a", "a_1-1-0", "a/b", "", "A", "a~b"] {
        store.post(&conversation(name), letter("1", name)).await.expect("left");
    }
    for name in ["a", "a_1-1-0", "a/b", "", "A", "a~b"] {
        let letters = store.letters(&conversation(name)).await.expect("readable");
        assert_eq!(letters, [letter("1", name)], "{name:?}");
    }
}

pub async fn a_letter_that_is_too_large_or_misnamed_is_refused(store: Store) {
    let id = conversation("one");
    let large = "x".repeat(LETTER_BYTES_MAX);
    store.post(&id, letter("1", &large)).await.expect("as large as the limit");
    for refused in [letter("2", &format!("{large}x")), letter("../x", "x"), letter("", "x")] {
        let left = store.post(&id, refused).await;
        assert!(matches!(left, Err(StoreError::Letter { .. })), "{left:?}");
    }
    assert_eq!(ids(&store, "one").await, ["1"]);
}

pub async fn only_so_many_letters_are_read_at_once(store: Store) {
    let id = conversation("one");
    for number in 0..=LETTERS_MAX {
        store.post(&id, letter(&format!("{number:03}"), "x")).await.expect("left");
    }
    assert_eq!(ids(&store, "one").await.len(), LETTERS_MAX);
    store.discard_letter(&id, "000").await.expect("taken");
    assert_eq!(ids(&store, "one").await.len(), LETTERS_MAX, "the last one moves up");
}
