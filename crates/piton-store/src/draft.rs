//! Content on its way into a store, piece by piece.

use std::fmt;

use async_trait::async_trait;
use piton_core::event::BlobRef;

use crate::StoreError;

/// Content on its way into a store: it need not fit into memory. Nothing of it is a blob before it is
/// whole, and a draft that is dropped leaves nothing.
#[async_trait]
pub trait BlobDraft: fmt::Debug + Send {
    /// Adds the next piece.
    async fn add(&mut self, piece: &[u8]) -> Result<(), StoreError>;

    /// Keeps all of it by its digest, as [`crate::Journal::put_blob`] does; durable when this returns.
    async fn keep(self: Box<Self>) -> Result<BlobRef, StoreError>;
}
