//! Lists of conversations: what is wanted of them, and how to come back for more.
//!
//! Plain data, and the two rules that all stores share: which rows a filter admits, and what a page
//! behind a cursor holds. A row moves to the front when it is touched, so a page behind a cursor also
//! holds the rows that moved across the cursor since it was given. No row is lost while rows move;
//! one that moved may come twice.

use std::fmt;
use std::str::FromStr;

use piton_core::event::Shelf;
use piton_core::id::{ConversationId, Timestamp};
use piton_core::view::Status;
use serde::{Deserialize, Serialize};

use crate::record::{Listed, StatusRow};

/// Rows of a page, unless another number is asked for.
pub const LIST_ROWS: usize = 100;

/// A moment in the life of the list: rises with every append to any conversation; zero is before
/// them all.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ListPosition(pub u64);

/// Which conversations are wanted. All that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Conversations that work in a directory.
    pub directory: Option<Directory>,
    /// Conversations whose turn is in this state.
    pub turn: Option<TurnIs>,
    /// Conversations whose title contains this text, in upper or lower case.
    pub text: Option<String>,
    /// Workers only, or everything but workers.
    pub worker: Option<bool>,
    /// Conversations in which a turn began or ended at this moment or later.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Conversations that are kept there.
    #[serde(default)]
    pub shelf: Option<Shelf>,
}

/// Where a conversation works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Directory {
    /// In this directory.
    Exactly(String),
    /// In this directory or below it.
    Within(String),
}

/// How it stands with the turn of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnIs {
    /// No turn is open.
    Ended,
    /// A turn is open, also one that asks.
    Open,
    /// A turn is open and asks a person.
    Asking,
}

impl Filter {
    /// Whether a row is wanted.
    pub fn admits(&self, listed: &Listed) -> bool {
        self.admits_place(&listed.conversation, &listed.row) && self.admits_standing(&listed.row)
    }

    /// All but how it stands with the conversation, which some stores keep elsewhere.
    pub(crate) fn admits_place(&self, conversation: &ConversationId, row: &StatusRow) -> bool {
        let text = self.text.as_ref().map(|text| text.to_lowercase());
        self.worker.is_none_or(|wanted| conversation.as_worker().is_some() == wanted)
            && self.since.is_none_or(|since| since <= row.touched)
            && self.admits_workspace(&row.workspace)
            && text.is_none_or(|text| row.title.to_lowercase().contains(&text))
    }

    /// Whether conversations of a directory are wanted.
    pub(crate) fn admits_workspace(&self, workspace: &str) -> bool {
        self.directory.as_ref().is_none_or(|wanted| wanted.has(workspace))
    }

    pub(crate) fn admits_standing(&self, row: &StatusRow) -> bool {
        let status = &row.status;
        if self.shelf.is_some_and(|wanted| wanted != row.shelf) {
            return false;
        }
        match self.turn {
            None => true,
            Some(TurnIs::Ended) => *status == Status::Idle,
            Some(TurnIs::Open) => *status != Status::Idle,
            Some(TurnIs::Asking) => matches!(status, Status::WaitingForInput { .. }),
        }
    }
}

impl Directory {
    pub(crate) fn has(&self, workspace: &str) -> bool {
        match self {
            Self::Exactly(directory) => workspace == directory,
            Self::Within(directory) => {
                let below = workspace.strip_prefix(directory.trim_end_matches('/'));
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }
}

/// Which part of a list is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Which conversations.
    pub filter: Filter,
    /// Behind which page; none for the first one.
    pub after: Option<ListCursor>,
    /// How many rows at most.
    pub limit: usize,
}

impl Page {
    /// The first rows of all conversations.
    pub fn first(limit: usize) -> Self {
        Self { filter: Filter::default(), after: None, limit }
    }
}

impl Default for Page {
    fn default() -> Self {
        Self::first(LIST_ROWS)
    }
}

/// Where a page ended. To be given back as it is. Written as three numbers with dots between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListCursor {
    /// The place of the last row.
    pub(crate) place: RowPlace,
    /// Up to where rows that moved across it were given.
    pub(crate) position: ListPosition,
}

impl fmt::Display for ListCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place: RowPlace { touched, number }, position } = self;
        write!(f, "{}.{number}.{}", touched.0, position.0)
    }
}

/// A text that is no cursor of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cursor of a list has three numbers with dots between them")]
pub struct NotAListCursor;

impl FromStr for ListCursor {
    type Err = NotAListCursor;

    fn from_str(text: &str) -> Result<Self, NotAListCursor> {
        // A sign in front would be read as a number too, and written without it.
        let number = |text: &str| text.parse().ok().filter(|_| !text.starts_with('+'));
        let numbers: Option<Vec<u64>> = text.split('.').map(number).collect();
        let Some(&[touched, number, position]) = numbers.as_deref() else {
            return Err(NotAListCursor);
        };
        let place = RowPlace { touched: Timestamp(touched), number };
        Ok(Self { place, position: ListPosition(position) })
    }
}

/// A row's place in the list: higher ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowPlace {
    pub(crate) touched: Timestamp,
    /// Order of creation: decides between rows that were touched at the same moment.
    pub(crate) number: u64,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The rows asked for, the most recently touched first; before them those that moved across the
    /// cursor.
    pub rows: Vec<Listed>,
    /// How many conversations there are in all, wanted or not.
    pub total: usize,
    /// Where to go on; none if this was the last page.
    pub next: Option<ListCursor>,
    /// The moment of the list. What changes behind it can be waited for and asked for.
    pub position: ListPosition,
}

/// What changed in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// The rows of conversations that changed, each once, as they are now; the last change last.
    pub rows: Vec<Listed>,
    /// The moment up to which these are all changes.
    pub position: ListPosition,
    /// Whether there are more behind it already.
    pub more: bool,
}

/// Where a store's rows come from when a page is put together.
pub(crate) trait Rows {
    /// What can go wrong.
    type Error;

    /// Hands out the rows below a place, the highest first, until `take` has enough.
    fn below(
        &mut self,
        place: Option<RowPlace>,
        take: &mut dyn FnMut(RowPlace, Listed) -> bool,
    ) -> Result<(), Self::Error>;

    /// Hands out the rows that changed behind a position, the last change last, with the position of
    /// their change, until `take` has enough.
    fn changed(
        &mut self,
        after: ListPosition,
        take: &mut dyn FnMut(ListPosition, RowPlace, Listed) -> bool,
    ) -> Result<(), Self::Error>;
}

/// Puts a page together. `newest` is the position of now, `total` the number of all rows.
pub(crate) fn page<R: Rows>(
    rows: &mut R,
    page: &Page,
    newest: ListPosition,
    total: usize,
) -> Result<Listing, R::Error> {
    let mut listing = Listing { rows: Vec::new(), total, next: None, position: newest };
    if page.limit == 0 {
        return Ok(listing);
    }
    let mut reached = newest;
    if let Some(cursor) = page.after {
        let mut given = cursor.position;
        rows.changed(known(cursor.position, newest), &mut |changed, place, listed| {
            if listing.rows.len() == page.limit {
                reached = given;
                return false;
            }
            given = changed;
            let moved = cursor.place < place && page.filter.admits(&listed);
            listing.rows.extend(moved.then_some(listed));
            true
        })?;
        listing.rows.reverse();
        if reached != newest || listing.rows.len() == page.limit {
            listing.next = Some(ListCursor { position: reached, ..cursor });
            return Ok(listing);
        }
    }
    let mut last = None;
    rows.below(page.after.map(|cursor| cursor.place), &mut |place, listed| {
        if listing.rows.len() < page.limit {
            listing.rows.push(listed);
            last = Some(place);
            return true;
        }
        listing.next = last.map(|place| ListCursor { place, position: newest });
        false
    })?;
    Ok(listing)
}

/// Puts a part of the feed of changes together.
pub(crate) fn changes<R: Rows>(
    rows: &mut R,
    after: ListPosition,
    limit: usize,
    newest: ListPosition,
) -> Result<Changes, R::Error> {
    let after = known(after, newest);
    let mut changes = Changes { rows: Vec::new(), position: newest, more: false };
    let mut given = after;
    rows.changed(after, &mut |changed, _, listed| {
        if changes.rows.len() < limit {
            changes.rows.push(listed);
            given = changed;
            return true;
        }
        changes.more = true;
        false
    })?;
    if changes.more {
        changes.position = given;
    }
    Ok(changes)
}

/// A position that the store has not reached is of another store: everything is new to its owner.
fn known(after: ListPosition, newest: ListPosition) -> ListPosition {
    if after <= newest { after } else { ListPosition(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_as_it_was_written_and_nothing_else_does() {
        let place = RowPlace { touched: Timestamp(1_700_000_000_000), number: 7 };
        let cursor = ListCursor { place, position: ListPosition(120) };
        assert_eq!(cursor.to_string(), "1700000000000.7.120");
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for odd in
            ["", "1.2", "1.2.3.4", "1.2.x", "1..3", "-1.2.3", "+1.2.3", "99999999999999999999.1.1"]
        {
            assert_eq!(odd.parse::<ListCursor>(), Err(NotAListCursor), "{odd:?}");
        }
    }
}
