//! Waking across processes: what another process commits or posts wakes the waiters of this one.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use piton_core::id::Seq;
use piton_store::contract::{batch, begin, conversation, lease};
use piton_store::{Arrival, Journal, Letter, ListPosition, MemoryJournal};

use crate::{home, store};

/// Where the second process finds the store.
const HOME: &str = "PITON_STORE_TEST_HOME";
/// Wakes by the bell are far below the second after which a waiter looks for itself.
const SOON: Duration = Duration::from_millis(500);

/// Does its work only as the second process of another test.
#[tokio::test]
async fn second_process() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let store = store(Path::new(&home));
    let writer = lease(&store, "a").await;
    store.append(&writer, batch(1, &["two"])).await.unwrap();
    let letter = Letter { id: "1".into(), body: "x".into() };
    store.post(&conversation("a"), letter).await.unwrap();
}

fn run_second_process(home: &Path) {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["wake::second_process", "--exact"])
        .env(HOME, home)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[tokio::test]
async fn another_process_wakes_every_kind_of_waiter() {
    let home = home();
    let store = store(home.path());
    begin(&store, "a", &["one"]).await;
    let id = conversation("a");
    let position = store.wait_list(ListPosition(0)).await.unwrap();
    let path = home.path().to_owned();
    let other = tokio::task::spawn_blocking(move || run_second_process(&path));
    let (end, letter, list) = tokio::join!(
        store.wait_past(&id, Seq(1)),
        store.wait_letters(&id, Arrival(0)),
        store.wait_list(position),
    );
    assert_eq!(end.unwrap(), Seq(2));
    assert!(letter.unwrap() > Arrival(0));
    assert!(list.unwrap() > position);
    other.await.unwrap();
}

// Without the bell each of these would take about a second. The fastest counts: a machine may be busy.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_bell_wakes_another_handle_at_once() {
    let home = home();
    let (one, two) = (store(home.path()), store(home.path()));
    begin(&one, "a", &["one"]).await;
    let writer = lease(&one, "a").await;
    let mut fastest = Duration::MAX;
    for place in 1..6 {
        let waiting = {
            let two = two.clone();
            tokio::spawn(async move {
                two.wait_past(&conversation("a"), Seq(place)).await.unwrap();
                Instant::now()
            })
        };
        // wait: the waiter has to be asleep, and nothing says when it is
        tokio::time::sleep(Duration::from_millis(50)).await;
        one.append(&writer, batch(place, &["more"])).await.unwrap();
        let committed = Instant::now();
        let woken = waiting.await.unwrap();
        fastest = fastest.min(woken.saturating_duration_since(committed));
    }
    assert!(fastest < SOON, "{fastest:?}");
}

// A letter of an older piton has no number in its name; it is read before all others.
#[tokio::test]
async fn a_letter_of_an_older_piton_is_read_first_and_wakes() {
    let home = home();
    let store = store(home.path());
    let id = conversation("a");
    fs::create_dir_all(home.path().join("inbox")).unwrap();
    fs::write(home.path().join("inbox/a~zz"), "old").unwrap();
    let seen = store.wait_letters(&id, Arrival(0)).await.unwrap();
    store.post(&id, Letter { id: "aa".into(), body: "new".into() }).await.unwrap();
    assert!(store.wait_letters(&id, seen).await.unwrap() > seen);
    let bodies: Vec<_> =
        store.letters(&id).await.unwrap().into_iter().map(|letter| letter.body).collect();
    assert_eq!(bodies, ["old", "new"]);
    store.discard_letter(&id, "zz").await.unwrap();
    assert_eq!(store.letters(&id).await.unwrap().len(), 1);
}

// What a power cut leaves of the counter must not make it give a number twice.
#[tokio::test]
async fn a_counter_that_is_lost_goes_on_behind_the_letters_that_lie_there() {
    let home = home();
    let store = store(home.path());
    let id = conversation("a");
    for name in ["1", "2"] {
        store.post(&id, Letter { id: name.into(), body: name.into() }).await.unwrap();
    }
    let seen = store.wait_letters(&id, Arrival(0)).await.unwrap();
    for rubbish in ["", "1", "rubbish"] {
        fs::write(home.path().join("piton.db-bell"), rubbish).unwrap();
        let letter = Letter { id: format!("0{}", rubbish.len()), body: "x".into() };
        store.post(&id, letter).await.unwrap();
        assert!(store.wait_letters(&id, seen).await.unwrap() > seen, "{rubbish:?}");
    }
}

/// The waiter is woken for a letter that is gone when it looks. It once looked again without an end.
#[tokio::test]
async fn memory_letter_that_came_and_went_ends_the_wait() {
    let store = Arc::new(MemoryJournal::default());
    let id = conversation("c");
    let waiting = {
        let (store, id) = (store.clone(), id.clone());
        tokio::spawn(async move { store.wait_letters(&id, Arrival(0)).await.unwrap() })
    };
    tokio::task::yield_now().await;
    store.post(&id, Letter { id: "1".into(), body: "x".into() }).await.unwrap();
    store.discard_letter(&id, "1").await.unwrap();
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert!(waiting.is_finished(), "the waiter is told of the letter that it missed");
    assert!(waiting.await.unwrap() > Arrival(0));
}
