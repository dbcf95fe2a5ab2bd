//! A store that passes every operation on to another store, under the eyes of an onlooker.
//!
//! Tests need stores that differ from a real one in one or two operations. This is the one place that
//! forwards the others.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::BlobRef;
use piton_core::id::{ConversationId, Digest, Seq};
use piton_store::{
    AppendError, Arrival, Batch, BlobDraft, Changes, CommitName, CommitOutcome, Holder, Journal,
    Lease, LeaseError, Letter, ListPosition, Listed, Listing, Page, Record, StoreError,
};

/// A store in front of another one. Its onlooker is reached by dereferencing.
#[derive(Debug)]
pub struct Passing<O> {
    inner: Arc<dyn Journal>,
    pub(crate) onlooker: O,
}

impl<O> Passing<O> {
    /// Puts an onlooker in front of a store.
    pub fn new(inner: Arc<dyn Journal>, onlooker: O) -> Self {
        Self { inner, onlooker }
    }
}

impl<O> Deref for Passing<O> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.onlooker
    }
}

/// Sees what is done to a store, and may do it in another way. An onlooker that says nothing leaves
/// everything as it is.
#[async_trait]
pub trait Onlooker: fmt::Debug + Send + Sync {
    /// Comes before an operation that changes neither a journal nor a letter, and does not wait.
    async fn reading(&self) {}

    /// Comes before and behind an operation that changes a letter.
    async fn changing_letters(&self) {}

    /// The writer's place is taken.
    async fn lease(
        &self,
        store: &dyn Journal,
        id: &ConversationId,
        holder: Holder,
    ) -> Result<Lease, LeaseError> {
        store.lease(id, holder).await
    }

    /// Records are appended.
    async fn append(
        &self,
        store: &dyn Journal,
        lease: &Lease,
        batch: Batch,
    ) -> Result<Seq, AppendError> {
        store.append(lease, batch).await
    }

    /// Records were read.
    fn have_read(&self, records: Vec<Record>) -> Vec<Record> {
        records
    }

    /// Whether a letter that is left is kept.
    fn keeps_letters(&self) -> bool {
        true
    }

    /// Whether letters can be read.
    fn finds_letters(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[async_trait]
impl<O: Onlooker> Journal for Passing<O> {
    async fn lease(&self, id: &ConversationId, holder: Holder) -> Result<Lease, LeaseError> {
        self.reading().await;
        self.onlooker.lease(&*self.inner, id, holder).await
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Seq, AppendError> {
        self.onlooker.append(&*self.inner, lease, batch).await
    }

    async fn outcome(
        &self,
        id: &ConversationId,
        name: &CommitName,
    ) -> Result<CommitOutcome, StoreError> {
        self.reading().await;
        self.inner.outcome(id, name).await
    }

    async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.reading().await;
        self.inner.release(lease).await
    }

    async fn read(
        &self,
        id: &ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        self.reading().await;
        Ok(self.have_read(self.inner.read(id, after, limit).await?))
    }

    async fn wait_past(&self, id: &ConversationId, seq: Seq) -> Result<Seq, StoreError> {
        self.inner.wait_past(id, seq).await
    }

    async fn wait_letters(
        &self,
        id: &ConversationId,
        seen: Arrival,
    ) -> Result<Arrival, StoreError> {
        self.inner.wait_letters(id, seen).await
    }

    async fn wait_list(&self, after: ListPosition) -> Result<ListPosition, StoreError> {
        self.inner.wait_list(after).await
    }

    async fn list(&self, page: Page) -> Result<Listing, StoreError> {
        self.reading().await;
        self.inner.list(page).await
    }

    async fn changes(&self, after: ListPosition, limit: usize) -> Result<Changes, StoreError> {
        self.inner.changes(after, limit).await
    }

    async fn status(&self, id: &ConversationId) -> Result<Option<Listed>, StoreError> {
        self.reading().await;
        self.inner.status(id).await
    }

    async fn find(&self, prefix: &str, limit: usize) -> Result<Vec<ConversationId>, StoreError> {
        self.reading().await;
        self.inner.find(prefix, limit).await
    }

    async fn post(&self, id: &ConversationId, letter: Letter) -> Result<(), StoreError> {
        self.changing_letters().await;
        if self.keeps_letters() {
            self.inner.post(id, letter).await?;
        }
        self.changing_letters().await;
        Ok(())
    }

    async fn letters(&self, id: &ConversationId) -> Result<Vec<Letter>, StoreError> {
        self.reading().await;
        self.finds_letters()?;
        self.inner.letters(id).await
    }

    async fn discard_letter(&self, id: &ConversationId, name: &str) -> Result<(), StoreError> {
        self.changing_letters().await;
        self.inner.discard_letter(id, name).await?;
        self.changing_letters().await;
        Ok(())
    }

    async fn put_blob(&self, content: &[u8]) -> Result<BlobRef, StoreError> {
        self.reading().await;
        self.inner.put_blob(content).await
    }

    async fn begin_blob(&self) -> Result<Box<dyn BlobDraft>, StoreError> {
        self.reading().await;
        self.inner.begin_blob().await
    }

    async fn blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.reading().await;
        self.inner.blob(digest).await
    }
}
