//! What goes into a journal, what comes out, and what lists show of it.
//!
//! Plain data. A body is text that the store does not look into.

use piton_core::event::{BreakReason, Shelf};
use piton_core::id::{ConversationId, Epoch, Seq, Timestamp};
use piton_core::view::Status;
use serde::{Deserialize, Serialize};

use crate::commit::CommitName;
use crate::lease::Holder;
use crate::{AppendError, ENTRY_BYTES_MAX};

/// One commit to one journal.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Its name, by which its outcome can be asked for.
    pub name: CommitName,
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
    /// State of the open turn.
    pub status: Status,
    /// Who can move it on.
    pub wants: Wants,
    /// Why the open turn broke, if a driver gave it up.
    #[serde(default)]
    pub broke: Option<BreakReason>,
    /// How many messages wait for a turn of their own.
    #[serde(default)]
    pub waiting: u32,
    /// When a turn last began or ended. Lists are ordered by this.
    pub touched: Timestamp,
    /// Where it is kept.
    #[serde(default)]
    pub shelf: Shelf,
}

/// Who can move a conversation on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    /// Nothing is to be done.
    #[default]
    Nobody,
    /// A driver, at once.
    Driver,
    /// A person, who has to answer, or to say how to go on.
    Person,
    /// A driver, from this moment on.
    NotBefore(Timestamp),
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

impl Batch {
    /// Refuses what no store takes: nothing, or an entry that is too large.
    pub(crate) fn check_size(&self) -> Result<(), AppendError> {
        let largest = self.records.iter().map(|record| record.body.len()).max();
        match largest {
            Some(bytes) if bytes <= ENTRY_BYTES_MAX => Ok(()),
            refused => Err(AppendError::Size { bytes: refused.unwrap_or(0) }),
        }
    }
}

/// Where a stored journal stands; all zero before the first append.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// The highest epoch that wrote.
    pub(crate) epoch: Epoch,
    /// Where the journal ends.
    pub(crate) end: Seq,
}

impl Place {
    /// Refuses a writer who is not the last one, or who does not know where the journal ends. The
    /// order matters: a ghost should learn that it is one, not that it should read and try again.
    pub(crate) fn admit(
        self,
        conversation: &ConversationId,
        epoch: Epoch,
        expected: Seq,
    ) -> Result<(), AppendError> {
        let conversation = || conversation.clone();
        if epoch < self.epoch {
            return Err(AppendError::Fenced { conversation: conversation() });
        }
        if expected != self.end {
            let (conversation, actual) = (conversation(), self.end);
            return Err(AppendError::Conflict { conversation, expected, actual });
        }
        Ok(())
    }
}
