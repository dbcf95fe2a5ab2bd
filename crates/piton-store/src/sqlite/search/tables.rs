//! The tables of the index. Another build's are thrown away, not migrated: they are made again.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::super::{failure, open, private};
use crate::StoreError;

/// Says in the file's header whose database this is: "pitf".
const APPLICATION_ID: i64 = 0x7069_7466;
/// The form of the tables, and of what is put into them.
const FORMAT: i64 = 2;
/// How long a connection waits for another process that fills the index, in milliseconds.
const BUSY_MS: u64 = 10_000;
/// Memory for pages, in KiB.
const CACHE_KIB: i64 = 8192;

/// Words are kept without their text and without their order in it: every text that is found is looked
/// at anyway. `tails` finds words by letters in their middle: it has the end of a word from each of its letters
/// on, cut to a few letters.
const TABLES: &str = "
    CREATE TABLE about (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        position INTEGER NOT NULL,
        store TEXT NOT NULL
    ) STRICT;
    CREATE TABLE conversations (
        key INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        through INTEGER NOT NULL,
        memo TEXT NOT NULL
    ) STRICT;
    CREATE TABLE texts (
        id INTEGER PRIMARY KEY,
        conversation INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        scope TEXT NOT NULL,
        kind TEXT NOT NULL,
        hidden TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE INDEX texts_by_place ON texts (conversation, seq);
    CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE) STRICT;
    CREATE VIRTUAL TABLE words USING fts5 (tokens, content='', detail='none', tokenize='ascii');
    CREATE TABLE tails (
        tail TEXT NOT NULL,
        term INTEGER NOT NULL,
        PRIMARY KEY (tail, term)
    ) STRICT, WITHOUT ROWID;
";

/// Opens the index and makes its tables if there are none; nothing if they are of another form, or about
/// another store.
pub(super) fn open(path: &Path, store: &str) -> Result<Option<Connection>, StoreError> {
    // Before anything is in it: it holds what people say.
    let made = private::create().open(path);
    made.map_err(|error| StoreError::io("create", path, error))?;
    prepare(path, store).map_err(|error| failure::database(path, &error))
}

fn prepare(path: &Path, store: &str) -> Result<Option<Connection>, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(Duration::from_millis(BUSY_MS))?;
    db.pragma_update(None, "cache_size", -CACHE_KIB)?;
    if !is_ours(&db)? {
        return Ok(None);
    }
    // Nothing is lost that cannot be read again, so nothing waits for the disk.
    open::journal_mode(&db)?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    if number(&db, FORMAT_IS)? == 0 {
        make(&mut db, store)?;
    }
    let about: String = db.query_row("SELECT store FROM about", [], |row| row.get(0))?;
    Ok((about == store).then_some(db))
}

/// Makes the tables, unless another process was faster.
fn make(db: &mut Connection, store: &str) -> Result<(), rusqlite::Error> {
    let making = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if number(&making, FORMAT_IS)? == 0 {
        making.execute_batch(TABLES)?;
        making.execute("INSERT INTO about VALUES (1, 0, ?1)", [store])?;
        making.pragma_update(None, "application_id", APPLICATION_ID)?;
        making.pragma_update(None, "user_version", FORMAT)?;
    }
    making.commit()
}

const FORMAT_IS: &str = "PRAGMA user_version";

/// Whether the file is empty, or an index of this form.
fn is_ours(db: &Connection) -> Result<bool, rusqlite::Error> {
    let (format, owner) = (number(db, FORMAT_IS)?, number(db, "PRAGMA application_id")?);
    let tables = number(db, "SELECT count(*) FROM sqlite_schema")?;
    Ok((format == FORMAT && owner == APPLICATION_ID) || (format == 0 && owner == 0 && tables == 0))
}

fn number(db: &Connection, sql: &str) -> Result<i64, rusqlite::Error> {
    db.query_row(sql, [], |row| row.get(0))
}
