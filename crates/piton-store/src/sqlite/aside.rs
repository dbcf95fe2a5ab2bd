//! Sets a damaged database aside, so that a new one can begin. Removes nothing, overwrites nothing.
//!
//! Certain before it acts: the damage is looked at a second time, by one process at a time, and a
//! database that somebody is writing to stays where it is.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};
use serde::{Deserialize, Serialize};

use super::open::{self, Home, Notice};
use super::{failure, lock, private, suspect};
use crate::StoreError;

/// Most damaged databases kept beside a good one. Whoever has as many has another problem.
const ASIDE_MAX: u32 = 1000;
/// Name of the lock that lets one process at a time decide; no conversation's lock is called so.
const DECIDING: &str = "=aside.lock";
/// What belongs to a database, in the order in which it is moved. The file comes last, so that no
/// log ever lies beside a new file, where `SQLite` would remove it.
pub(super) const SUFFIXES: [&str; 3] = ["-wal", "-shm", ""];
/// What the name of the note has beyond that of the database.
const NOTE: &str = ".moving";

/// The note that lies beside the database while its files are moved. A database without its log may
/// well look whole: if we die in between, what only the log had would be missing, and nobody would
/// know. So whoever finds the note moves the rest before anything is opened.
#[derive(Debug, Serialize, Deserialize)]
struct Moving {
    number: u32,
    detail: String,
}

/// Renames the database to a free name. `None` if it turned out not to be damaged, because another
/// process has set the bad one aside in the meantime.
pub(super) fn set_aside(home: &Home, detail: &str) -> Result<Option<Notice>, StoreError> {
    let path = &home.database;
    let _deciding = deciding(home, detail)?;
    let Some(detail) = damage(path)? else { return Ok(None) };
    let moving = Moving { number: free_number(path)?, detail };
    moving.write(path)?;
    moving.carry_out(path).map(Some)
}

/// Looks at all of a database in which damage was met since the last start. One that somebody is at
/// work on stays, note and all: nothing is wrong with what does not touch the damage.
pub(super) fn examine(home: &Home) -> Result<Option<Notice>, StoreError> {
    let path = &home.database;
    if !suspect::is_noted(path)? || lock::any_held(&home.locks, DECIDING)? {
        return Ok(None);
    }
    let moved = set_aside(home, "damage was met in it")?;
    suspect::clear(path)?;
    Ok(moved)
}

/// Moves what a process that died while it set a database aside has left.
pub(super) fn finish(home: &Home) -> Result<Option<Notice>, StoreError> {
    let path = &home.database;
    let note = with_suffix(path, NOTE);
    if !exists(&note)? {
        return Ok(None);
    }
    let _deciding = deciding(home, "it is being set aside")?;
    let written = match fs::read(&note) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| StoreError::io("read", &note, error))?,
    };
    match serde_json::from_slice::<Moving>(&written) {
        Ok(moving) => moving.carry_out(path).map(Some),
        // It is whole before the first file is moved, so none was.
        Err(_) => remove_note(path).map(|()| None),
    }
}

impl Moving {
    fn write(&self, path: &Path) -> Result<(), StoreError> {
        let note = with_suffix(path, NOTE);
        let text = serde_json::to_vec(self).map_err(io::Error::from);
        let written = text.and_then(|text| {
            let mut file = private::create().truncate(true).open(&note)?;
            file.write_all(&text)?;
            file.sync_all()
        });
        written.map_err(|error| StoreError::io("write", &note, error))?;
        sync_beside(path)
    }

    fn carry_out(self, path: &Path) -> Result<Notice, StoreError> {
        let aside = damaged(path, self.number);
        for suffix in SUFFIXES {
            let (from, mut to) = (with_suffix(path, suffix), with_suffix(&aside, suffix));
            if !exists(&from)? {
                continue;
            }
            if exists(&to)? {
                // A build that does not know the note was here in between.
                to = with_suffix(&damaged(path, free_number(path)?), suffix);
            }
            fs::rename(&from, &to).map_err(|error| StoreError::io("rename", &from, error))?;
        }
        sync_beside(path)?;
        remove_note(path)?;
        Ok(Notice::SetAside { aside, detail: self.detail })
    }
}

fn remove_note(path: &Path) -> Result<(), StoreError> {
    let note = with_suffix(path, NOTE);
    fs::remove_file(&note).map_err(|error| StoreError::io("remove", &note, error))?;
    sync_beside(path)
}

/// Takes the right to decide. J82: not under the feet of a living writer. Its commits would go into
/// a file without a name.
fn deciding(home: &Home, detail: &str) -> Result<lock::Lock, StoreError> {
    let busy = |detail: String| StoreError::Damaged { path: home.database.clone(), detail };
    let Some(lock) = lock::take(&home.locks.join(DECIDING))? else {
        return Err(busy("another process is setting it aside; try again".into()));
    };
    if lock::any_held(&home.locks, DECIDING)? {
        return Err(busy(format!("{detail}; it stays, because another process is using it")));
    }
    Ok(lock)
}

/// Looks again, with a connection of its own. Only the two answers that mean damage count; a disk
/// that fails for a moment is an error and moves nothing.
fn damage(path: &Path) -> Result<Option<String>, StoreError> {
    match open::connect(path).and_then(|db| check(&db)) {
        Ok(found) => Ok(found),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Ok(Some(error.to_string()))
            }
            _ => Err(failure::database(path, &error)),
        },
    }
}

/// The quick check does not look whether an index leads to its rows, and a reader who follows one to
/// nowhere meets damage too. So the slow one follows; whoever comes here has time.
fn check(db: &Connection) -> Result<Option<String>, rusqlite::Error> {
    for check in ["PRAGMA quick_check(1)", "PRAGMA integrity_check(1)"] {
        let verdict: String = db.query_row(check, [], |row| row.get(0))?;
        if verdict != "ok" {
            return Ok(Some(fault(&verdict)));
        }
    }
    Ok(None)
}

/// What a check found, without its headings, on one line.
pub(super) fn fault(verdict: &str) -> String {
    let told: Vec<_> = verdict.lines().filter(|line| !line.starts_with("***")).collect();
    told.join("; ")
}

/// The first number under which nothing lies yet, nor anything that belongs to it.
fn free_number(path: &Path) -> Result<u32, StoreError> {
    for number in 1..=ASIDE_MAX {
        let aside = damaged(path, number);
        let mut taken = false;
        for suffix in SUFFIXES {
            taken |= exists(&with_suffix(&aside, suffix))?;
        }
        if !taken {
            return Ok(number);
        }
    }
    let detail = format!("{ASIDE_MAX} damaged databases lie beside it; move them away");
    Err(StoreError::Damaged { path: path.to_owned(), detail })
}

fn damaged(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, &format!(".damaged-{number}"))
}

fn sync_beside(path: &Path) -> Result<(), StoreError> {
    path.parent().map_or(Ok(()), private::sync_directory)
}

fn exists(path: &Path) -> Result<bool, StoreError> {
    path.try_exists().map_err(|error| StoreError::io("look at", path, error))
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
