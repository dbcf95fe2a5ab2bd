//! The tables, and how older ones become these.
//!
//! Knows the shape of the database and nothing of its content. A released step is frozen: a change
//! is one more step.
//!
//! Why the tables look like this: a turn of many steps is a long row of small commits, and every
//! commit writes whole pages, twice. So a commit must touch few pages.
//!
//! - One row holds the consecutive records of one commit (`chunks`), not one record.
//! - Rows stand in the order of their commits, so what many conversations write at once shares its
//!   pages. Where a conversation's rows are is in `places`, by `conversation << 32 | first seq`. It
//!   lags behind: a commit does not write it, a batch of rows is entered once in a while. What is not
//!   entered yet is short and is looked through. Rows in the order of their place would write twice
//!   as much in a group of many conversations; an index that is always up to date, half as much again
//!   in a lone one.
//! - The state of the open turn changes with every commit, so it rides in the row that is written
//!   anyway, as does the name of the commit (see `head`); the row in `conversations` is written at the borders of turns only.
//! - `status` stands before `body`, so that a list reads the first page of a row and never its body.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::failure;
use crate::StoreError;

/// Says in the file's header whose database this is: "pitn".
pub(super) const APPLICATION_ID: i64 = 0x7069_746e;

/// Every format's step from the one before it.
const STEPS: &[&str] = &[
    "
    CREATE TABLE conversations (
        key INTEGER PRIMARY KEY CHECK (key BETWEEN 1 AND 0x7fffffff),
        name TEXT NOT NULL UNIQUE,
        epoch INTEGER NOT NULL,
        touched INTEGER NOT NULL,
        turns INTEGER NOT NULL,
        title TEXT NOT NULL,
        workspace TEXT NOT NULL
    ) STRICT;
    CREATE INDEX conversations_by_touched ON conversations (touched);
    CREATE TABLE chunks (
        key INTEGER PRIMARY KEY,
        records INTEGER NOT NULL,
        unpacked INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        status TEXT,
        body BLOB NOT NULL
    ) STRICT;
",
    "
    ALTER TABLE chunks RENAME TO chunks_by_place;
    CREATE TABLE chunks (
        id INTEGER PRIMARY KEY,
        place INTEGER NOT NULL,
        records INTEGER NOT NULL,
        unpacked INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        status TEXT,
        body BLOB NOT NULL
    ) STRICT;
    INSERT INTO chunks (place, records, unpacked, checksum, status, body)
        SELECT key, records, unpacked, checksum, status, body FROM chunks_by_place ORDER BY key;
    DROP TABLE chunks_by_place;
    CREATE TABLE places (
        place INTEGER PRIMARY KEY,
        chunk INTEGER NOT NULL
    ) STRICT;
    INSERT INTO places SELECT place, id FROM chunks ORDER BY place;
    CREATE TABLE placed (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        up_to INTEGER NOT NULL
    ) STRICT;
    INSERT INTO placed SELECT 1, coalesce(max(id), 0) FROM chunks;
",
    // `chunks.status` holds the head of a commit from here on (see `head`), and the words that lists
    // showed in older rows. Nothing is rewritten; older builds must not read it.
    "",
];

/// Brings the tables up to this build's format. Two processes may do so at the same time: the
/// second waits for the first one's transaction and finds nothing left to do.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| failure::database(path, &error);
    if format(db, path)? == known() {
        return Ok(());
    }
    let step = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found = usize::try_from(format(&step, path)?).unwrap_or(0);
    for sql in STEPS.iter().skip(found) {
        step.execute_batch(sql).map_err(failed)?;
    }
    step.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    step.pragma_update(None, "user_version", known()).map_err(failed)?;
    step.commit().map_err(failed)
}

/// Reads the format; refuses one that a newer build wrote, and what another program wrote. Changes
/// nothing.
pub(super) fn format(db: &Connection, path: &Path) -> Result<i64, StoreError> {
    let number = |sql| db.query_row(sql, [], |row| row.get::<_, i64>(0));
    let failed = |error| failure::database(path, &error);
    // All three from one moment: another process may be at its first start.
    let moment = if db.is_autocommit() { Some(db.unchecked_transaction()) } else { None };
    let _moment = moment.transpose().map_err(failed)?;
    let found = number("PRAGMA user_version").map_err(failed)?;
    let application = number("PRAGMA application_id").map_err(failed)?;
    let tables = number("SELECT count(*) FROM sqlite_schema").map_err(failed)?;
    if application != APPLICATION_ID && (found != 0 || tables != 0) {
        let detail = "it belongs to another program; choose another directory".to_owned();
        return Err(StoreError::Database { path: path.to_owned(), detail });
    }
    if found > known() {
        return Err(StoreError::NewerFormat { path: path.to_owned(), found, known: known() });
    }
    Ok(found)
}

/// The format of this build.
pub(super) fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}
