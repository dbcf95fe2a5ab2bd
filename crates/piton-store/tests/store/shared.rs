//! Several opens of one home at work at the same time.

use piton_core::id::Seq;
use piton_store::contract::{batch, begin, bodies, conversation, lease};
use tokio::task::JoinSet;

use crate::{home, store};

#[tokio::test]
async fn waiting_sees_what_another_open_appends() {
    let home = home();
    let (one, two) = (store(home.path()), store(home.path()));
    begin(&one, "a", &["one"]).await;
    let waiting = {
        let two = two.clone();
        tokio::spawn(async move { two.wait_past(&conversation("a"), Seq(1)).await.unwrap() })
    };
    tokio::task::yield_now().await;
    let writer = lease(&one, "a").await;
    one.append(&writer, batch(1, &["two", "three"])).await.unwrap();
    assert_eq!(waiting.await.unwrap(), Seq(3));
}

// What a writer remembers must not outlive what another process writes.
#[tokio::test]
async fn writers_in_turn_see_each_others_commits() {
    let home = home();
    let stores = [store(home.path()), store(home.path())];
    for place in 0..10 {
        for (turn, store) in (0_u64..).zip(&stores) {
            let writer = lease(store, "a").await;
            let next = batch(2 * place + turn, &["x"]);
            assert_eq!(store.append(&writer, next).await.unwrap(), Seq(2 * place + turn + 1));
        }
    }
    assert_eq!(bodies(&stores[0], "a").await.len(), 20);
}

#[tokio::test]
async fn two_opens_write_many_conversations_at_once() {
    let home = home();
    let stores = [store(home.path()), store(home.path())];
    let mut tasks = JoinSet::new();
    for number in 0..16 {
        let store = stores[number % 2].clone();
        tasks.spawn(async move {
            let name = format!("c{number}");
            let writer = lease(&store, &name).await;
            for place in 0..20 {
                store.append(&writer, batch(place, &[&format!("{place}")])).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    for number in 0..16 {
        let found = bodies(&stores[(number + 1) % 2], &format!("c{number}")).await;
        let expected: Vec<_> = (0..20).map(|place| place.to_string()).collect();
        assert_eq!(found, expected);
    }
}

// Dropping a store ends its thread, with everything that was asked of it done.
#[tokio::test]
async fn a_dropped_store_has_finished_its_work() {
    let home = home();
    let writing = store(home.path());
    let writer = lease(&writing, "a").await;
    writing.append(&writer, batch(0, &["one"])).await.unwrap();
    drop(writing);
    // The lease is an OS lock of its own and outlives the store.
    assert!(
        store(home.path())
            .lease(writer.conversation(), piton_store::contract::holder(2))
            .await
            .is_err()
    );
    drop(writer);
    assert_eq!(bodies(&store(home.path()), "a").await, ["one"]);
}
