//! A full disk: nothing is acknowledged, nothing is lost, and work goes on when there is room.

use std::sync::Arc;

use piton_store::StoreError;
use piton_store::contract::append::store_error;
use piton_store::contract::{Store, batch, begin, bodies, conversation, lease};
use tokio::task::JoinSet;

use crate::{home, open};

/// Pages beyond which no test of this file grows.
const PLENTY: u32 = 1_000_000;

fn incompressible(bytes: usize) -> String {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
    };
    (0..bytes).map(|_| letter()).collect()
}

// M14, J20: the database refuses to grow, which to SQLite is the same as a disk that is full.
#[tokio::test]
async fn a_full_disk_refuses_appends_and_takes_them_again_later() {
    let home = home();
    let journal = Arc::new(open(home.path()));
    let store: Store = journal.clone();
    begin(&store, "a", &["one"]).await;
    let writer = lease(&store, "a").await;
    journal.limit_pages(1).await.unwrap(); // SQLite takes the present size for a smaller limit.
    let large = incompressible(100_000);
    for _ in 0..3 {
        let error = store_error(store.append(&writer, batch(1, &[&large])).await);
        assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
        assert_eq!(bodies(&store, "a").await, ["one"]);
    }
    journal.limit_pages(PLENTY).await.unwrap();
    store.append(&writer, batch(1, &[&large])).await.unwrap();
    assert_eq!(bodies(&store, "a").await, ["one", &large]);
}

#[tokio::test]
async fn a_failed_transaction_acknowledges_nobody() {
    let home = home();
    let journal = Arc::new(open(home.path()));
    let store: Store = journal.clone();
    journal.limit_pages(1).await.unwrap();
    let large = Arc::new(incompressible(50_000));
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let (store, large) = (store.clone(), large.clone());
        tasks.spawn(async move {
            let name = format!("c{number}");
            let writer = lease(&store, &name).await;
            let refused = store.append(&writer, batch(0, &[&large])).await;
            assert!(matches!(store_error(refused), StoreError::Full { .. }));
            assert_eq!(store.status(&conversation(&name)).await.unwrap(), None);
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    journal.limit_pages(PLENTY).await.unwrap();
    begin(&store, "c0", &["one"]).await;
}
