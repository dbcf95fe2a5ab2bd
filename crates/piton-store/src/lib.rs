//! Journals at rest: append if nobody else did, read, wait for more, one writer, list, blobs.
//!
//! A store keeps bytes with a place, a time and a format number. What the bytes mean is none of its
//! business; what people want to see in a list is handed to it as a [`StatusRow`].

use std::any::Any;
use std::fmt;
use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use piton_core::event::BlobRef;
use piton_core::id::{ConversationId, Digest, Epoch, Seq, Timestamp};
use serde::{Deserialize, Serialize};

/// Largest stored form of one entry, in bytes.
pub const ENTRY_BYTES_MAX: usize = 8 * 1024 * 1024;
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

    /// Reads at most `limit` records behind `after`, in order.
    async fn read(
        &self,
        conversation: &ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError>;

    /// Waits until the journal ends behind `seq`, whichever process appended; returns its end.
    async fn wait_past(&self, conversation: &ConversationId, seq: Seq) -> Result<Seq, StoreError>;

    /// Lists conversations, the most recently touched first, without reading any journal.
    async fn list(&self, page: Page) -> Result<Listing, StoreError>;

    /// Finds one conversation's row.
    async fn status(&self, conversation: &ConversationId) -> Result<Option<Listed>, StoreError>;

    /// Finds the conversations whose id begins with `prefix`, at most `limit`.
    async fn find(&self, prefix: &str, limit: usize) -> Result<Vec<ConversationId>, StoreError>;

    /// Keeps content by its digest; durable when this returns. Keeping it twice is keeping it once.
    async fn put_blob(&self, content: &[u8]) -> Result<BlobRef, StoreError>;

    /// Reads content by its digest.
    async fn blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError>;
}

/// Proof of being the only writer of a conversation. Appending needs one.
pub struct Lease {
    conversation: ConversationId,
    epoch: Epoch,
    // Whatever holds the place: an OS lock, an entry in a table. Released by drop.
    guard: Box<dyn Any + Send + Sync>,
}

impl Lease {
    /// Made by stores only.
    pub fn new(
        conversation: ConversationId,
        epoch: Epoch,
        guard: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self { conversation, epoch, guard }
    }

    /// The conversation it is for.
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// Its fencing number, higher than that of every lease before it.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// What holds the place.
    pub fn guard(&self) -> &(dyn Any + Send + Sync) {
        &*self.guard
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("conversation", &self.conversation)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// Who holds a lease, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// Since when.
    pub since: Timestamp,
}

/// One commit to one journal.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Where the writer believes the journal ends.
    pub expected: Seq,
    /// What to append; not empty.
    pub records: Vec<NewRecord>,
    /// What lists show from now on.
    pub status: StatusRow,
    /// How hard it must be when the append returns.
    pub durability: Durability,
}

/// A record before it has a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// When it happened.
    pub at: Timestamp,
    /// Version of its stored form.
    pub format: u16,
    /// Its stored form.
    pub body: String,
}

/// A record in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its position.
    pub seq: Seq,
    /// When it happened.
    pub at: Timestamp,
    /// Version of its stored form.
    pub format: u16,
    /// Its stored form.
    pub body: String,
}

/// How hard a commit must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives `kill -9`; survives a power cut once a later `Synced` commit returned. For stream
    /// deltas only.
    Relaxed,
    /// Survives a power cut. For everything that precedes or acknowledges an effect.
    Synced,
}

/// What a list shows of a conversation; kept by the fold, so that listing parses no journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRow {
    /// A title for people.
    pub title: String,
    /// The directory it works in.
    pub workspace: String,
    /// How many turns it has.
    pub turns: u32,
    /// State of the open turn; empty when there is none.
    pub status: String,
    /// When a turn last began or ended. Lists are ordered by this.
    pub touched: Timestamp,
}

/// A row of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The conversation.
    pub conversation: ConversationId,
    /// Where its journal ends.
    pub end: Seq,
    /// What the fold says of it.
    pub row: StatusRow,
    /// Who is writing at this moment.
    pub holder: Option<Holder>,
}

/// Which part of a list is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many rows to skip.
    pub skip: usize,
    /// How many rows at most.
    pub limit: usize,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The rows asked for.
    pub rows: Vec<Listed>,
    /// How many conversations there are in all.
    pub total: usize,
}

/// Why a lease was not given.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another driver is at work on this conversation.
    #[error("conversation {conversation} is held by {}", held_by(holder.as_ref()))]
    Held {
        /// The conversation.
        conversation: ConversationId,
        /// Who holds it, where that can be read.
        holder: Option<Holder>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn held_by(holder: Option<&Holder>) -> String {
    holder.map_or_else(
        || "another process".to_owned(),
        |holder| format!("process {} on {}", holder.pid, holder.host),
    )
}

/// Why an append was refused. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Somebody else appended in between.
    #[error("conversation {conversation} ends at {actual}, not at {expected}")]
    Conflict {
        /// The conversation.
        conversation: ConversationId,
        /// Where the writer believed it ended.
        expected: Seq,
        /// Where it ends.
        actual: Seq,
    },
    /// A later lease has written: this writer is a ghost.
    #[error("the lease on conversation {conversation} was taken over by a later driver")]
    Fenced {
        /// The conversation.
        conversation: ConversationId,
    },
    /// The batch was empty or an entry too large.
    #[error(
        "an entry has {bytes} bytes; at most {ENTRY_BYTES_MAX} can be stored, at least one entry is needed"
    )]
    Size {
        /// Size of the largest entry; 0 for an empty batch.
        bytes: usize,
    },
    /// The store failed. The commit did not take place.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A store that cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such conversation.
    #[error("there is no conversation {0}")]
    UnknownConversation(ConversationId),
    /// There is no such blob.
    #[error("there is no blob {0}")]
    UnknownBlob(Digest),
    /// The blob is larger than the store takes.
    #[error("a blob of {bytes} bytes is larger than {BLOB_BYTES_MAX}")]
    BlobSize {
        /// Its size.
        bytes: usize,
    },
    /// A newer piton wrote this database.
    #[error("{path} has format {found}, this piton knows up to {known}")]
    NewerFormat {
        /// The database.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format this build knows.
        known: i64,
    },
    /// The content is damaged.
    #[error("{path} is damaged: {detail}")]
    Damaged {
        /// The database or blob.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// No space is left.
    #[error("no space is left for {path}")]
    Full {
        /// The database or blob.
        path: PathBuf,
    },
    /// The disk or the file system failed.
    #[error("cannot {action} {path}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The database failed in another way.
    #[error("the database {path} failed: {detail}")]
    Database {
        /// The database.
        path: PathBuf,
        /// What it said.
        detail: String,
    },
    /// The store was shut down.
    #[error("the store is closed")]
    Closed,
}
