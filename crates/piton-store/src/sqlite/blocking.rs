//! Work that may wait for a disk.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::StoreError;

/// Does something on a thread that may wait for a disk.
pub(super) async fn work<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    spawn_blocking(work).await.map_err(|_| StoreError::Closed)?
}

/// Such work, a few at once.
#[derive(Debug)]
pub(super) struct Lanes(Arc<Semaphore>);

impl Lanes {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    /// Does something when it is its turn. A task of its own waits for the turn: a turn that is given to a
    /// caller that is not polled would be lost to everybody as long as that caller is kept.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let lanes = Arc::clone(&self.0);
        let mut waiting = Waiting(tokio::spawn(async move {
            let turn = lanes.acquire_owned().await.map_err(|_| StoreError::Closed)?;
            let done = spawn_blocking(move || {
                let done = work();
                drop(turn);
                done
            });
            done.await.map_err(|_| StoreError::Closed)?
        }));
        (&mut waiting.0).await.map_err(|_| StoreError::Closed)?
    }

    /// Nothing more is begun.
    pub(super) fn close(&self) {
        self.0.close();
    }
}

/// Work that is not begun any more when nobody wants it.
struct Waiting<T>(JoinHandle<T>);

impl<T> Drop for Waiting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
