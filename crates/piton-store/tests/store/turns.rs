//! Reads and locks of callers that are kept and not polled: nobody else waits for them.

use std::pin::Pin;
use std::time::Duration;

use piton_store::contract::{begin, conversation};

use crate::{home, store};

/// More than the store does at once.
const CALLERS: usize = 32;

/// Polls each of them once.
async fn touch<T>(callers: &mut [Pin<Box<dyn Future<Output = T> + Send + '_>>]) {
    for caller in callers {
        tokio::select! {
            biased;
            _ = caller => {}
            () = std::future::ready(()) => {}
        }
    }
}

// A server that writes to browsers polls a stream only when its reader takes more.
#[tokio::test]
async fn callers_that_are_not_polled_hold_nobody_up() {
    let home = home();
    let store = store(home.path());
    begin(&store, "a", &["one"]).await;
    let id = conversation("a");
    let mut reads: Vec<_> =
        (0..CALLERS).map(|_| Box::pin(store.status(&id)) as Pin<Box<_>>).collect();
    touch(&mut reads).await;
    let soon = Duration::from_secs(10);
    let row = tokio::time::timeout(soon, store.status(&id)).await.expect("reading is held up");
    assert!(row.unwrap().is_some());
    let mut letters: Vec<_> =
        (0..CALLERS).map(|_| Box::pin(store.letters(&id)) as Pin<Box<_>>).collect();
    touch(&mut letters).await;
    let letters = tokio::time::timeout(soon, store.letters(&id)).await.expect("files are held up");
    assert!(letters.unwrap().is_empty());
}
