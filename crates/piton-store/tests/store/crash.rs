//! Crashes: what a killed process leaves is copied and opened, whole and torn.

use std::fs;
use std::path::Path;

use piton_core::id::Seq;
use piton_core::view::Status;
use piton_store::contract::{batch, begin, bodies, conversation, lease};
use piton_store::{Batch, Durability};

use crate::{home, store};

/// What a `kill -9` leaves: the files as they are, without anybody closing them.
fn killed(from: &Path, to: &Path) {
    for name in ["piton.db", "piton.db-wal"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

// K22, J20: nothing depends on anybody closing anything.
#[tokio::test]
async fn everything_acknowledged_is_there_after_a_kill() {
    let (living, dead) = (home(), home());
    let writing = store(living.path());
    let writer = lease(&writing, "a").await;
    for (place, durability) in (0..).zip([Durability::Synced, Durability::Relaxed].repeat(10)) {
        let next = Batch { durability, ..batch(place, &[&format!("{place}")]) };
        writing.append(&writer, next).await.unwrap();
    }
    killed(living.path(), dead.path());
    let expected: Vec<_> = (0..20).map(|place| place.to_string()).collect();
    let found = store(dead.path());
    assert_eq!(bodies(&found, "a").await, expected);
    let row = found.status(&conversation("a")).await.unwrap().unwrap();
    assert_eq!((row.end, row.row.status), (Seq(20), Status::PendingTools));
}

#[tokio::test]
async fn everything_is_there_after_closing() {
    let home = home();
    begin(&store(home.path()), "a", &["one", "two"]).await;
    assert!(!home.path().join("piton.db-wal").exists(), "the last one out moves the log");
    assert_eq!(bodies(&store(home.path()), "a").await, ["one", "two"]);
}

// J19, M14: a torn log yields whole commits, the first ones, and the store goes on from there.
#[tokio::test]
async fn a_torn_log_is_a_prefix_of_whole_commits() {
    let living = home();
    let writing = store(living.path());
    let writer = lease(&writing, "a").await;
    for place in 0..4 {
        let body = format!("{place} ").repeat(200);
        writing.append(&writer, batch(2 * place, &[&body, &body])).await.unwrap();
    }
    let log = fs::read(living.path().join("piton.db-wal")).unwrap();
    // Behind its last frame is room for more.
    let log = &log[..=log.iter().rposition(|byte| *byte != 0).unwrap()];
    let mut seen = Vec::new();
    for length in (0..=log.len()).rev().step_by(173) {
        let dead = home();
        killed(living.path(), dead.path());
        fs::write(dead.path().join("piton.db-wal"), &log[..length]).unwrap();
        let found = store(dead.path());
        let end = match found.status(&conversation("a")).await.unwrap() {
            Some(row) => {
                assert_eq!(bodies(&found, "a").await.len() as u64, row.end.0);
                row.end.0
            }
            None => 0,
        };
        assert!(end.is_multiple_of(2), "half a commit: {end}");
        seen.push(end);
        let writer = lease(&found, "a").await;
        found.append(&writer, batch(end, &["on it goes"])).await.unwrap();
    }
    assert!(seen.is_sorted_by(|longer, shorter| longer >= shorter), "{seen:?}");
    assert_eq!((seen.first(), seen.last()), (Some(&8), Some(&0)));
}
