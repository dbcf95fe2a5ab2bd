//! The list of conversations, for faces: rows with a typed state, and a feed of what changes in them.
//!
//! Nothing here reads a journal: the store keeps a row for each conversation, written with its entries.

use std::collections::BTreeMap;

use piton_core::command::Shelf;
use piton_core::event::BreakReason;
use piton_core::id::{ConversationId, Seq, Timestamp};
use piton_core::view::Status;
use piton_store::{
    Changes, Filter, Holder, ListCursor, ListPosition, Listed, Listing, Page, StoreError, Wants,
};

use crate::engine::Engine;
use crate::host::Stage;

/// A conversation in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The conversation.
    pub conversation: ConversationId,
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
    pub broke: Option<BreakReason>,
    /// How many messages wait for a turn of their own.
    pub waiting: u32,
    /// When a turn last began or ended.
    pub touched: Timestamp,
    /// Where it is kept.
    pub shelf: Shelf,
    /// Where its journal ends.
    pub end: Seq,
    /// Who works on it at this moment.
    pub activity: Activity,
}

/// Who works on a conversation at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// Nobody.
    Nobody,
    /// A task of this engine, which is so far.
    Here(Stage),
    /// Another holder of the writer's place.
    Elsewhere(Holder),
}

/// A part of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct List {
    /// The rows, the most recently touched first; before them those that moved across the cursor.
    pub rows: Vec<Row>,
    /// How many conversations there are in all, wanted or not.
    pub total: usize,
    /// Where to go on; none if this was the last part.
    pub next: Option<ListCursor>,
    /// The moment of the list: [`Engine::changes`] tells what happens behind it.
    pub position: ListPosition,
}

/// What changed in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListChanges {
    /// The conversations that changed, each once, as they are now; the last change last.
    pub rows: Vec<Row>,
    /// The moment up to which these are all changes.
    pub position: ListPosition,
    /// Whether there are more behind it already.
    pub more: bool,
}

impl Engine {
    /// Lists conversations, the most recently touched first: at most `limit` of those that the filter
    /// admits, behind a cursor if there is one. Going on from part to part loses no row, however rows
    /// move meanwhile; one that moves may come twice.
    pub async fn list(
        &self,
        filter: Filter,
        after: Option<ListCursor>,
        limit: usize,
    ) -> Result<List, StoreError> {
        let Listing { rows, total, next, position } =
            self.journal().list(Page { filter, after, limit }).await?;
        Ok(List { rows: self.rows(rows), total, next, position })
    }

    /// Waits until something has changed in any conversation behind a moment, in any process, and says
    /// what: at most `limit` rows. A moment of another store is before everything.
    ///
    /// An entry that is appended is a change. That a holder comes or goes without a word is none.
    pub async fn changes(
        &self,
        after: ListPosition,
        limit: usize,
    ) -> Result<ListChanges, StoreError> {
        let mut after = after;
        loop {
            let Changes { rows, position, more } = self.journal().changes(after, limit).await?;
            if !rows.is_empty() || more {
                return Ok(ListChanges { rows: self.rows(rows), position, more });
            }
            after = position;
            self.journal().wait_list(after).await?;
        }
    }

    /// One conversation of the list.
    pub async fn row(&self, conversation: &ConversationId) -> Result<Option<Row>, StoreError> {
        let listed = self.journal().status(conversation).await?;
        Ok(self.rows(listed.into_iter().collect()).pop())
    }

    fn rows(&self, listed: Vec<Listed>) -> Vec<Row> {
        let running = self.running().into_iter();
        let here: BTreeMap<_, _> = running.map(|it| (it.conversation, it.stage)).collect();
        listed.into_iter().map(|listed| Row::of(listed, &here)).collect()
    }
}

impl Row {
    fn of(listed: Listed, here: &BTreeMap<ConversationId, Stage>) -> Self {
        let Listed { conversation, end, row, holder } = listed;
        let activity = match (here.get(&conversation), holder) {
            (Some(stage), _) => Activity::Here(*stage),
            (None, Some(holder)) => Activity::Elsewhere(holder),
            (None, None) => Activity::Nobody,
        };
        Self {
            conversation,
            title: row.title,
            workspace: row.workspace,
            turns: row.turns,
            status: row.status,
            wants: row.wants,
            broke: row.broke,
            waiting: row.waiting,
            touched: row.touched,
            shelf: row.shelf,
            end,
            activity,
        }
    }
}
