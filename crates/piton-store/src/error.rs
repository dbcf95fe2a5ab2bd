//! What can go wrong in a store, in words that say what the caller can do about it.

use std::io;
use std::path::{Path, PathBuf};

use piton_core::id::{ConversationId, Digest, Seq};

use crate::commit::CommitName;
use crate::lease::Holder;
use crate::{BLOB_BYTES_MAX, ENTRY_BYTES_MAX, LETTER_BYTES_MAX};

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

/// Why an append was refused. Nothing was written, unless it says that this is unknown.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another writer appended in between.
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
    /// The answer was lost. The commit took place or did not; the store knows, and is asked by the
    /// commit's name.
    #[error("whether commit {name} to conversation {conversation} took place is unknown")]
    Unknown {
        /// The conversation.
        conversation: ConversationId,
        /// The commit.
        name: CommitName,
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
    /// A conversation was forked from one that was forked, and so on, too often to be read.
    #[error("conversation {conversation} is a fork of a fork, and so on, more than {most} times")]
    ForksTooDeep {
        /// The conversation whose origin is not read any more.
        conversation: ConversationId,
        /// How many may follow on each other.
        most: usize,
    },
    /// There is no such blob.
    #[error("there is no blob {0}")]
    UnknownBlob(Digest),
    /// The letter is larger than the store takes, or has no name.
    #[error("a letter of {bytes} bytes is not taken; at most {LETTER_BYTES_MAX} are")]
    Letter {
        /// Its size.
        bytes: usize,
    },
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
    /// The database is damaged. The next start looks at all of it, and sets it aside if that is so.
    #[error("{path} is damaged: {detail}")]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// A blob is damaged. Nothing else is touched by that, and keeping its content again mends it.
    #[error("{path} is damaged: {detail}")]
    DamagedBlob {
        /// The blob.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// Entries of one conversation are damaged. The others are not touched by that.
    #[error("{path} is damaged: conversation {conversation}, entry {seq}: {detail}")]
    DamagedEntry {
        /// The database.
        path: PathBuf,
        /// The conversation.
        conversation: ConversationId,
        /// The first entry that cannot be read.
        seq: Seq,
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

impl StoreError {
    /// Names what the file system refused. A full disk is told apart, because it alone is mended by
    /// the person who reads the message.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        let path = path.to_owned();
        if full.contains(&source.kind()) {
            Self::Full { path }
        } else {
            Self::Io { action, path, source }
        }
    }
}
