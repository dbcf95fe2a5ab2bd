//! Looks at a store without changing it. Of damage it leaves a note, so that the next start looks too.

use std::path::Path;

use super::connect::connect;
use super::home::DATABASE;
use super::{aside, failure, migrate, orphan, suspect};
use crate::StoreError;

/// Most faults that are told.
const FAULTS_MAX: usize = 5;

/// How a database is, asked of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The journal mode of `SQLite`; `wal` as it should be.
    pub journal_mode: String,
    /// Whether a commit waits for the disk when a writer asks for that.
    pub syncs: bool,
    /// What a quick check found wrong; nothing if all is well.
    pub faults: Vec<String>,
}

/// Examines the store in a directory; `None` if there is no database yet. One that is found damaged is
/// set aside by the next start.
pub fn inspect(home: &Path) -> Result<Option<Health>, StoreError> {
    let path = home.join(DATABASE);
    let inspected = examine(&path);
    match &inspected {
        Ok(Some(health)) if !health.faults.is_empty() => {
            suspect::leave(&path, &health.faults.join("\n"));
        }
        Ok(_) => {}
        Err(error) => suspect::note(&path, error),
    }
    inspected
}

fn examine(path: &Path) -> Result<Option<Health>, StoreError> {
    // Opening would make one.
    let is_there = path.try_exists().map_err(|error| StoreError::io("look at", path, error))?;
    if !is_there && !orphan::is_left(path)? {
        return Ok(None);
    }
    let failed = |error| failure::database(path, &error);
    let db = connect(path)?;
    migrate::format(&db, path)?;
    db.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    let level: i64 =
        db.pragma_query_value(None, "synchronous", |row| row.get(0)).map_err(failed)?;
    let journal_mode =
        db.pragma_query_value(None, "journal_mode", |row| row.get(0)).map_err(failed)?;
    let mut faults = Vec::new();
    let mut check = db.prepare(&format!("PRAGMA quick_check({FAULTS_MAX})")).map_err(failed)?;
    for told in check.query_map([], |row| row.get::<_, String>(0)).map_err(failed)? {
        let told = told.map_err(failed)?;
        faults.extend(Some(aside::fault(&told)).filter(|told| told != "ok"));
    }
    Ok(Some(Health { journal_mode, syncs: level == FULL, faults }))
}

/// What the database calls "wait for the disk with every commit".
const FULL: i64 = 2;
