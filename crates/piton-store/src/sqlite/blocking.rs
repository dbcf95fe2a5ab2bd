//! Work that may wait for a disk.

use crate::StoreError;

/// Does something on a thread that may wait for a disk.
pub(super) async fn work<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Closed)?
}
