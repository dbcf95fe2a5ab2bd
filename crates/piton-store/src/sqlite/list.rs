//! Lists: rows of `conversations` with the heads of their last commits, never a body.
//!
//! The position of the list is the number of the last chunk, which rises with every commit. So a
//! commit writes nothing for the feed of changes: what changed is what has chunks behind a number.
//! Holders are left open: they are not in the database.

use std::collections::BTreeMap;
use std::path::Path;

use piton_core::id::{ConversationId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::column::{signed, text, unsigned};
use super::head::Head;
use super::{failure, place};
use crate::list::{self, RowPlace, Rows};
use crate::{Changes, Filter, ListPosition, Listed, Listing, Page, StatusRow, StoreError};

/// One page of the list, from one moment.
pub(super) fn list(db: &Connection, path: &Path, page: &Page) -> Result<Listing, StoreError> {
    let read = || list_within(&*db.unchecked_transaction()?, page);
    read().map_err(|error| failure::database(path, &error))
}

/// As [`list`], within the caller's transaction.
pub(super) fn list_within(moment: &Connection, page: &Page) -> Result<Listing, rusqlite::Error> {
    let total: i64 = moment
        .prepare_cached("SELECT count(*) FROM conversations")?
        .query_row([], |row| row.get(0))?;
    let newest = ListPosition(unsigned(place::newest(moment)?));
    let recent = place::Recent::read(moment)?;
    let mut rows = Wanted { moment, recent, filter: &page.filter };
    list::page(&mut rows, page, newest, usize::try_from(total).unwrap_or(0))
}

/// What changed behind a position, from one moment.
pub(super) fn changes(
    db: &Connection,
    path: &Path,
    after: ListPosition,
    limit: usize,
) -> Result<Changes, StoreError> {
    let read = || {
        let moment = &*db.unchecked_transaction()?;
        let newest = ListPosition(unsigned(place::newest(moment)?));
        // Whoever asks often asks in vain most of the time.
        if after == newest {
            return Ok(Changes { rows: Vec::new(), position: newest, more: false });
        }
        let recent = place::Recent::read(moment)?;
        let mut rows = Wanted { moment, recent, filter: &Filter::default() };
        list::changes(&mut rows, after, limit, newest)
    };
    read().map_err(|error| failure::database(path, &error))
}

/// The rows that a filter admits, within one read transaction.
struct Wanted<'a> {
    moment: &'a Connection,
    recent: place::Recent,
    filter: &'a Filter,
}

impl Wanted<'_> {
    /// The row with its head, if it is wanted. The head is looked for only if the rest fits.
    fn row(&mut self, row: &Row<'_>) -> Result<Option<Listed>, rusqlite::Error> {
        // Most rows of a list for one directory are of others: nothing of them is copied.
        let workspace = row.get_ref(WORKSPACE)?.as_str();
        if workspace.is_ok_and(|workspace| !self.filter.admits_workspace(workspace)) {
            return Ok(None);
        }
        let id = ConversationId::new(text(row, 1)?);
        if !self.filter.admits_place(&id, &status_row(row, 2)?) {
            return Ok(None);
        }
        let found = listed(row, self.recent.last(self.moment, row.get(0)?)?)?;
        Ok(Some(found).filter(|found| self.filter.admits_standing(&found.row)))
    }
}

impl Rows for Wanted<'_> {
    type Error = rusqlite::Error;

    fn below(
        &mut self,
        place: Option<RowPlace>,
        take: &mut dyn FnMut(RowPlace, Listed) -> bool,
    ) -> Result<(), rusqlite::Error> {
        let moment = self.moment;
        let mut ask = moment.prepare_cached(BELOW)?;
        let touched = place.map_or(i64::MAX, |place| signed(place.touched.0));
        let number = place.map_or(i64::MAX, |place| signed(place.number));
        let mut rows = ask.query(params![touched, number])?;
        while let Some(row) = rows.next()? {
            if let Some(found) = self.row(row)?
                && !take(row_place(row)?, found)
            {
                break;
            }
        }
        Ok(())
    }

    fn changed(
        &mut self,
        after: ListPosition,
        take: &mut dyn FnMut(ListPosition, RowPlace, Listed) -> bool,
    ) -> Result<(), rusqlite::Error> {
        let moment = self.moment;
        let by_change: BTreeMap<i64, i64> = place::changed(moment, signed(after.0))?
            .into_iter()
            .map(|(conversation, chunk)| (chunk, conversation))
            .collect();
        let mut ask = moment.prepare_cached(
            "SELECT key, name, touched, turns, title, workspace FROM conversations WHERE key = ?1",
        )?;
        for (chunk, conversation) in by_change {
            let found = ask
                .query_row([conversation], |row| {
                    let last = place::last(moment, conversation)?;
                    Ok((row_place(row)?, listed(row, last)?))
                })
                .optional()?;
            let Some((place, listed)) = found else { continue };
            if !take(ListPosition(unsigned(chunk)), place, listed) {
                break;
            }
        }
        Ok(())
    }
}

/// The place of the directory among the columns of a row.
const WORKSPACE: usize = 5;

const BELOW: &str = "
    SELECT key, name, touched, turns, title, workspace FROM conversations
    WHERE (touched, key) < (?1, ?2)
    ORDER BY touched DESC, key DESC";

fn row_place(row: &Row<'_>) -> Result<RowPlace, rusqlite::Error> {
    let touched = status_row(row, 2)?.touched;
    Ok(RowPlace { touched, number: unsigned(row.get(0)?) })
}

/// A row of `conversations` with what the last commit says of it.
pub(super) fn listed(row: &Row<'_>, last: place::Last) -> Result<Listed, rusqlite::Error> {
    let Head { status, wants, broke, waiting, shelf, .. } = Head::decode(&last.head);
    let shown = StatusRow { status, wants, broke, waiting, shelf, ..status_row(row, 2)? };
    let conversation = ConversationId::new(text(row, 1)?);
    Ok(Listed { conversation, end: last.end, row: shown, holder: None })
}

/// What a list shows, from four columns; the rest is in the head of the last commit.
pub(super) fn status_row(row: &Row<'_>, first: usize) -> Result<StatusRow, rusqlite::Error> {
    Ok(StatusRow {
        touched: Timestamp(unsigned(row.get(first)?)),
        turns: u32::try_from(unsigned(row.get(first + 1)?)).unwrap_or(u32::MAX),
        title: text(row, first + 2)?,
        workspace: text(row, first + 3)?,
        ..StatusRow::default()
    })
}
