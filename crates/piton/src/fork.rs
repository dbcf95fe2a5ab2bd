//! Forks: a conversation that goes on from a place of another one, by reference. Nothing is copied.
//!
//! A fork at the end, or between two turns, costs the same however long its origin is: its row is made
//! from the origin's row, and its meaning is folded when somebody reads it. A fork in the middle of a turn
//! is folded once, to know what its turn waits for.

mod at;
mod detach;
mod error;
mod place;

use piton_core::event::{EVENT_FORMAT, Event, ForkOrigin, Shelf};
use piton_core::id::{ConversationId, Seq};
use piton_core::view::Status;
use piton_store::{
    AppendError, Batch, CommitName, CommitOutcome, Durability, Filter, Holder, Journal, LIST_ROWS,
    Listed, NewRecord, Page, StatusRow, StoreError, Wants,
};

pub use self::at::ForkAt;
pub use self::detach::{attached, detach, forks};
pub use self::error::ForkError;
use self::place::Found;
use crate::conversation::Conversation;
use crate::engine::Engine;
use crate::log::status_row;
use crate::reader::{self, FORKS_MAX};

/// A fork of a conversation, as the list has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fork {
    /// The fork.
    pub conversation: ConversationId,
    /// Where it was cut.
    pub origin: ForkOrigin,
}

impl Engine {
    /// Forks a conversation, which may be worked on at the same time: it is not touched. The fork is
    /// durable when this returns; nothing runs in it before its first command. Without a title it has
    /// that of its origin.
    pub async fn fork(
        &self,
        id: &ConversationId,
        at: &ForkAt,
        title: Option<String>,
    ) -> Result<Conversation, ForkError> {
        let fork = ConversationId::from_chance(self.parts().chance.next());
        self.fork_as(fork, id, at, title).await
    }

    /// The same under a name that the caller made, and that no conversation has.
    pub async fn fork_as(
        &self,
        fork: ConversationId,
        id: &ConversationId,
        at: &ForkAt,
        title: Option<String>,
    ) -> Result<Conversation, ForkError> {
        let journal = &*self.parts().journal;
        let listed = journal.status(id).await?.ok_or_else(|| ForkError::Unknown(id.clone()))?;
        let Found { origin, rest } = place::find(journal, &listed, at).await?;
        check_depth(journal, &origin).await?;
        let row = if let Some(rest) = rest {
            StatusRow { waiting: 0, ..rest }
        } else {
            let ForkOrigin { conversation, through } = &origin;
            let cut = reader::state_through(journal, conversation, *through).await?;
            // Nobody could go on with a turn that has no message.
            if cut.open_turn().is_some_and(|turn| turn.said().next().is_none()) {
                return Err(place::within_beginning(journal, &origin).await?);
            }
            status_row(&cut.branched(&origin))
        };
        let title = title.or(Some(listed.row.title)).filter(|title| !title.is_empty());
        let now = self.parts().clock.now();
        let row = StatusRow {
            title: title.clone().unwrap_or_default(),
            workspace: listed.row.workspace.clone(),
            // Nobody goes on with it before a person says so.
            wants: if row.status == Status::Idle { Wants::Nobody } else { Wants::Person },
            touched: now,
            // Whatever was done with its origin.
            shelf: Shelf::Listed,
            ..row
        };
        let workspace = row.workspace.clone();
        let opened =
            Event::ConversationOpened { workspace, title, origin: Some(origin), parent: None };
        self.write_first(&fork, &opened, row).await?;
        Ok(self.conversation(&fork))
    }

    /// The forks that were cut from a conversation or from one of its workers. Reads the first entry of
    /// every conversation.
    pub async fn forks_of(&self, id: &ConversationId) -> Result<Vec<Fork>, StoreError> {
        forks_of(&*self.parts().journal, id).await
    }

    async fn write_first(
        &self,
        conversation: &ConversationId,
        opened: &Event,
        status: StatusRow,
    ) -> Result<(), ForkError> {
        let (journal, at) = (&*self.parts().journal, status.touched);
        let holder = Holder { pid: std::process::id(), host: self.parts().host.clone(), since: at };
        let lease = journal.lease(conversation, holder).await?;
        let record = NewRecord { at, format: EVENT_FORMAT, body: opened.to_stored() };
        let batch = Batch {
            name: CommitName::fresh(),
            expected: Seq::default(),
            records: vec![record],
            status,
            durability: Durability::Synced,
        };
        match journal.append(&lease, batch).await {
            Err(AppendError::Unknown { conversation, name }) => {
                if journal.outcome(&conversation, &name).await? == CommitOutcome::NotCommitted {
                    return Err(AppendError::Unknown { conversation, name }.into());
                }
            }
            appended => drop(appended?),
        }
        Ok(journal.release(lease).await?)
    }
}

/// The forks that were cut from a conversation or from one of its workers. Reads the first entry of every
/// conversation.
pub async fn forks_of(journal: &dyn Journal, id: &ConversationId) -> Result<Vec<Fork>, StoreError> {
    let mut forks = Vec::new();
    let filter = Filter { worker: Some(false), ..Filter::default() };
    let mut page = Page { filter, after: None, limit: LIST_ROWS };
    loop {
        let listing = journal.list(page.clone()).await?;
        for Listed { conversation, .. } in listing.rows {
            let origin = reader::origin_of(journal, &conversation).await?;
            let origin = origin.filter(|origin| origin.conversation.root() == *id);
            let fork = origin.map(|origin| Fork { conversation, origin });
            // A row that moved while the list was read comes twice.
            forks.extend(fork.filter(|fork| !forks.contains(fork)));
        }
        match listing.next {
            Some(next) => page.after = Some(next),
            None => return Ok(forks),
        }
    }
}

/// A fork that nobody could read is not made.
async fn check_depth(journal: &dyn Journal, origin: &ForkOrigin) -> Result<(), ForkError> {
    let mut place = Some(origin.conversation.clone());
    for _ in 0..FORKS_MAX {
        let Some(conversation) = place else { return Ok(()) };
        place = match reader::origin_of(journal, &conversation).await {
            Ok(origin) => origin.map(|origin| origin.conversation),
            // What is gone lies in no depth.
            Err(StoreError::UnknownConversation(_)) => None,
            Err(error) => return Err(error.into()),
        };
    }
    match place {
        Some(_) => Err(ForkError::TooDeep(origin.conversation.clone())),
        None => Ok(()),
    }
}
