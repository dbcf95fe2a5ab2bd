//! Journals at rest: append if nobody else did, read, wait for more, one writer, list, blobs.
//!
//! A store keeps bytes with a place, a time and a format number. What the bytes mean is none of its
//! business; what people want to see in a list is handed to it as a [`StatusRow`].

mod blob;
mod commit;
#[doc(hidden)]
pub mod contract;
mod draft;
mod error;
mod lease;
mod letter;
mod list;
mod memory;
mod record;
mod sqlite;
mod wake;

use std::fmt;

use async_trait::async_trait;
use piton_core::event::BlobRef;
use piton_core::id::{ConversationId, Digest, Seq};

pub use crate::commit::{CommitName, CommitOutcome};
pub use crate::draft::BlobDraft;
pub use crate::error::{AppendError, LeaseError, StoreError};
pub use crate::lease::{Holder, Lease};
pub use crate::letter::{Arrival, Letter};
pub use crate::list::{
    Changes, Directory, Filter, LIST_ROWS, ListCursor, ListPosition, Listing, NotAListCursor, Page,
    TurnIs,
};
pub use crate::memory::MemoryJournal;
pub use crate::record::{Batch, Durability, Listed, NewRecord, Record, StatusRow, Wants};
pub use crate::sqlite::{
    Addition, Decayed, DecayedBlob, Extent, FoundText, Health, Indexed, IndexedText, Notice,
    PurgeError, Purged, Salvage, Salvaged, SearchIndex, Sought, SqliteJournal, TextChange,
    Verified, inspect, is_emptied, salvage, verify,
};

/// Largest stored form of one entry, in bytes.
pub const ENTRY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Largest letter, in bytes.
pub const LETTER_BYTES_MAX: usize = 1024 * 1024;
/// Most letters of a conversation that are read at once; the others wait.
pub const LETTERS_MAX: usize = 64;
/// Largest blob, in bytes.
pub const BLOB_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Where journals live. All stores pass one contract suite (see `contract`).
///
/// Readers never block and are never blocked. A second writer is refused twice: by the lease, and,
/// should that fail, by the expected position and the fencing epoch of every append.
#[async_trait]
pub trait Journal: fmt::Debug + Send + Sync {
    /// Takes the one writer's place of a conversation, which need not exist yet. Does not wait: a
    /// held lease is an error that names its holder. The place is free again when the lease is
    /// dropped or its process dies, however it dies.
    async fn lease(
        &self,
        conversation: &ConversationId,
        holder: Holder,
    ) -> Result<Lease, LeaseError>;

    /// Appends all records or none, if the journal still ends where the batch expects, and replaces
    /// the status row in the same commit. Returns the new end. The first append creates the journal.
    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Seq, AppendError>;

    /// What became of a commit whose append was not answered, or with [`AppendError::Unknown`]. Waits
    /// for what this handle is still about to commit. The answer is final if the asker holds the
    /// lease, for then nobody else tries.
    async fn outcome(
        &self,
        conversation: &ConversationId,
        name: &CommitName,
    ) -> Result<CommitOutcome, StoreError>;

    /// Gives the writer's place back; it is free when this returns. Dropping a lease frees the place
    /// too, some time later.
    async fn release(&self, lease: Lease) -> Result<(), StoreError>;

    /// Reads at most `limit` records behind `after`, in order.
    async fn read(
        &self,
        conversation: &ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError>;

    /// Waits until the journal ends behind `seq`, whichever process appended; returns its end. Needs
    /// no lease.
    async fn wait_past(&self, conversation: &ConversationId, seq: Seq) -> Result<Seq, StoreError>;

    /// Waits until a letter to the conversation lies there that arrived behind `seen`, whichever
    /// process posted it; returns the last arrival. The conversation need not exist. To miss none:
    /// wait, read the letters, wait behind what the first wait returned.
    async fn wait_letters(
        &self,
        conversation: &ConversationId,
        seen: Arrival,
    ) -> Result<Arrival, StoreError>;

    /// Waits until anything was appended to any conversation behind `after`, by any process; returns
    /// the position of now. A position that this store has not reached yet is of another store, and
    /// the answer comes at once. Who holds a lease is not part of it.
    async fn wait_list(&self, after: ListPosition) -> Result<ListPosition, StoreError>;

    /// Lists conversations, the most recently touched first, without reading any journal. Going on
    /// from page to page loses no row, however rows move meanwhile; one that moves may come twice.
    async fn list(&self, page: Page) -> Result<Listing, StoreError>;

    /// The conversations that changed behind a position, at most `limit`, each once, with their rows
    /// of now. A position that this store has not reached yet is of another store: then everything
    /// changed.
    async fn changes(&self, after: ListPosition, limit: usize) -> Result<Changes, StoreError>;

    /// Finds one conversation's row.
    async fn status(&self, conversation: &ConversationId) -> Result<Option<Listed>, StoreError>;

    /// Finds the conversations whose id begins with `prefix`, at most `limit`.
    async fn find(&self, prefix: &str, limit: usize) -> Result<Vec<ConversationId>, StoreError>;

    /// Leaves a letter for the writer of the conversation, now or later, and wakes it; durable when
    /// this returns. Needs no lease. Leaving it twice is leaving it once.
    async fn post(&self, conversation: &ConversationId, letter: Letter) -> Result<(), StoreError>;

    /// The letters that were left, the first [`LETTERS_MAX`] in the order of their arrival. Reading
    /// does not take them away.
    async fn letters(&self, conversation: &ConversationId) -> Result<Vec<Letter>, StoreError>;

    /// Takes a letter away; one that is gone is gone. Only after what it brought is durable: it may
    /// come back after a power cut, and must then bring nothing more.
    async fn discard_letter(
        &self,
        conversation: &ConversationId,
        id: &str,
    ) -> Result<(), StoreError>;

    /// Keeps content by its digest; durable when this returns. Keeping it twice is keeping it once.
    async fn put_blob(&self, content: &[u8]) -> Result<BlobRef, StoreError>;

    /// Begins to keep content that comes in pieces.
    async fn begin_blob(&self) -> Result<Box<dyn BlobDraft>, StoreError>;

    /// Reads content by its digest.
    async fn blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError>;
}
