//! Locks: two opens of one home behave like two processes, because OS locks are per open file.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use piton_store::contract::{batch, begin, bodies, conversation, holder, lease};
use piton_store::{LeaseError, ListPosition};

use crate::{home, open, store};

// M17, J79
#[tokio::test]
async fn a_second_open_is_refused_the_lease_and_told_by_whom() {
    let home = home();
    let (one, two) = (store(home.path()), store(home.path()));
    let held = one.lease(&conversation("a"), holder(7)).await.unwrap();
    let refused = two.lease(&conversation("a"), holder(8)).await.unwrap_err();
    assert!(matches!(&refused, LeaseError::Held { holder: Some(h), .. } if *h == holder(7)));

    one.append(&held, batch(0, &["one"])).await.unwrap();
    assert_eq!(bodies(&two, "a").await, ["one"], "a reader is not affected");
    assert_eq!(two.status(&conversation("a")).await.unwrap().unwrap().holder, Some(holder(7)));
    let epoch = held.epoch();
    drop(held);
    let next = two.lease(&conversation("a"), holder(8)).await.unwrap();
    assert!(next.epoch() > epoch);
    two.append(&next, batch(1, &["two"])).await.unwrap();
    assert_eq!(bodies(&one, "a").await, ["one", "two"]);
}

// J80: a killed process leaves a file without a lock on it.
#[tokio::test]
async fn a_stale_lock_file_is_harmless_and_cleaned() {
    let home = home();
    let locks = home.path().join("locks");
    fs::create_dir_all(&locks).unwrap();
    let stale = serde_json::to_string(&holder(7)).unwrap();
    fs::write(locks.join("a.lock"), &stale).unwrap();
    let store = store(home.path());
    assert!(!locks.join("a.lock").exists(), "a start takes away what nobody holds");

    fs::write(locks.join("a.lock"), &stale).unwrap();
    begin(&store, "a", &["one"]).await;
    fs::write(locks.join("a.lock"), "half a hold").unwrap();
    assert_eq!(store.status(&conversation("a")).await.unwrap().unwrap().holder, None);
    drop(lease(&store, "a").await);
    assert_eq!(fs::read_dir(&locks).unwrap().count(), 0, "whoever held it last takes it away");
}

// J82
#[tokio::test]
async fn a_start_does_not_take_away_what_somebody_holds() {
    let home = home();
    let one = store(home.path());
    let held = lease(&one, "a").await;
    let two = open(home.path());
    assert!(home.path().join("locks/a.lock").exists());
    drop(two);
    one.append(&held, batch(0, &["one"])).await.unwrap();
    assert!(one.lease(&conversation("a"), holder(2)).await.is_err());
}

// X17: a lock file that was removed by hand lets a second driver in; the journal stays whole.
#[tokio::test]
async fn without_its_lock_file_a_writer_is_still_fenced() {
    let home = home();
    let (one, two) = (store(home.path()), store(home.path()));
    let ghost = lease(&one, "a").await;
    one.append(&ghost, batch(0, &["one"])).await.unwrap();
    fs::remove_file(home.path().join("locks/a.lock")).unwrap();
    let heir = lease(&two, "a").await;
    two.append(&heir, batch(1, &["two"])).await.unwrap();
    assert!(one.append(&ghost, batch(1, &["ghost"])).await.is_err());
    assert!(one.append(&ghost, batch(2, &["ghost"])).await.is_err());
    drop(ghost);
    assert!(home.path().join("locks/a.lock").exists(), "the ghost leaves the heir's lock alone");
    assert_eq!(bodies(&one, "a").await, ["one", "two"]);
}

/// Where the second process finds the store.
const HOME: &str = "PITON_STORE_TEST_HELD_HOME";

/// Does its work only as the second process of another test: holds a place until it is killed.
#[tokio::test]
async fn second_process_that_holds() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let store = store(Path::new(&home));
    let held = lease(&store, "a").await;
    store.append(&held, batch(0, &["one"])).await.unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

// J80, M17: the place of a killed process is free, and what it committed is known.
#[tokio::test]
async fn the_place_of_a_killed_process_is_taken_over() {
    let home = home();
    let store = store(home.path());
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["lock::second_process_that_holds", "--exact"])
        .env(HOME, home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    store.wait_list(ListPosition(0)).await.unwrap();
    let refused = store.lease(&conversation("a"), holder(2)).await;
    assert!(matches!(refused, Err(LeaseError::Held { .. })), "{refused:?}");
    other.kill().unwrap();
    other.wait().unwrap();
    let heir = lease(&store, "a").await;
    store.append(&heir, batch(1, &["two"])).await.unwrap();
    assert_eq!(bodies(&store, "a").await, ["one", "two"]);
}
