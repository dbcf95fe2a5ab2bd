//! Sets a damaged database aside, so that a new one can begin. Removes nothing, overwrites nothing.
//!
//! Certain before it acts: the damage is looked at a second time, by one process at a time, and a
//! database that somebody is writing to stays where it is.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};

use super::open::{self, Home, Notice};
use super::{failure, lock, private};
use crate::StoreError;

/// Most damaged databases kept beside a good one. Whoever has as many has another problem.
const ASIDE_MAX: u32 = 1000;
/// Name of the lock that lets one process at a time decide; no conversation's lock is called so.
const DECIDING: &str = "=aside.lock";
/// What belongs to a database, in the order in which it is moved. The file comes last: if we die in
/// between, the next start finds it as damaged as it was, and no log lies beside a new file, where
/// `SQLite` would remove it.
pub(super) const SUFFIXES: [&str; 3] = ["-wal", "-shm", ""];

/// Renames the database to a free name. `None` if it turned out not to be damaged, because another
/// process has set the bad one aside in the meantime.
pub(super) fn set_aside(home: &Home, detail: String) -> Result<Option<Notice>, StoreError> {
    let path = &home.database;
    let busy = |detail: &str| StoreError::Damaged { path: path.clone(), detail: detail.into() };
    let decision = home.locks.join(DECIDING);
    let Some(_deciding) = lock::take(&decision)? else {
        return Err(busy("another process is setting it aside; try again"));
    };
    // J82: not under the feet of a living writer. Its commits would go into a file without a name.
    if lock::any_held(&home.locks, DECIDING)? {
        return Err(busy(&format!("{detail}; it stays, because another process is using it")));
    }
    let Some(detail) = damage(path)? else { return Ok(None) };
    let aside = free_name(path)?;
    for suffix in SUFFIXES {
        let (from, to) = (with_suffix(path, suffix), with_suffix(&aside, suffix));
        if exists(&from)? {
            fs::rename(&from, &to).map_err(|error| StoreError::io("rename", &from, error))?;
        }
    }
    if let Some(directory) = path.parent() {
        private::sync_directory(directory)?;
    }
    Ok(Some(Notice::SetAside { aside, detail }))
}

/// Looks again, with a connection of its own. Only the two answers that mean damage count; a disk
/// that fails for a moment is an error and moves nothing.
fn damage(path: &Path) -> Result<Option<String>, StoreError> {
    let check =
        |db: Connection| db.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match open::connect(path).and_then(check) {
        Ok(verdict) if verdict == "ok" => Ok(None),
        Ok(verdict) => Ok(Some(verdict)),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Ok(Some(error.to_string()))
            }
            _ => Err(failure::database(path, &error)),
        },
    }
}

/// The first name under which nothing lies yet, nor anything that belongs to it.
fn free_name(path: &Path) -> Result<PathBuf, StoreError> {
    for number in 1..=ASIDE_MAX {
        let aside = with_suffix(path, &format!(".damaged-{number}"));
        let mut taken = false;
        for suffix in SUFFIXES {
            taken |= exists(&with_suffix(&aside, suffix))?;
        }
        if !taken {
            return Ok(aside);
        }
    }
    let detail = format!("{ASIDE_MAX} damaged databases lie beside it; move them away");
    Err(StoreError::Damaged { path: path.to_owned(), detail })
}

fn exists(path: &Path) -> Result<bool, StoreError> {
    path.try_exists().map_err(|error| StoreError::io("look at", path, error))
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
