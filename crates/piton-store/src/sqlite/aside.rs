//! Sets a damaged database aside, so that a new one can begin. Removes nothing, overwrites nothing.
//!
//! Certain before it acts: the damage is looked at a second time, by one process at a time, and a
//! database that a process is writing to stays where it is.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::beside::{SUFFIXES, with_suffix};
use super::connect::connect;
use super::home::Home;
use super::notice::Notice;
use super::{failure, lock, orphan, private, suspect};
use crate::StoreError;

/// Most damaged databases kept beside a good one. A machine with as many has another problem.
const ASIDE_MAX: u32 = 1000;
/// Name of the lock that lets one process at a time decide; no conversation's lock is called so.
const DECIDING: &str = "=aside.lock";
/// Name for a write-ahead log whose database file is empty. `SQLite` would delete the log on open, so
/// it is renamed first.
const ONLY_LOG: &str = "-log";
/// Times to ask for the right to decide; each takes a few milliseconds.
const DECIDING_TRIES: u32 = 200;
/// What the name of the note has beyond that of the database.
const NOTE: &str = ".moving";

/// The note that lies beside the database while its files are moved. A database without its log may
/// well look whole: if we die in between, the entries in the log would be missing, and nobody would
/// know. So a process that finds the note moves the other files before it opens anything.
#[derive(Debug, Serialize, Deserialize)]
struct Moving {
    number: u32,
    detail: String,
}

/// Renames the database to a free name. `None` if it turned out not to be damaged, because another
/// process has set the bad one aside in the meantime. One that is empty is set aside only if its log
/// does not have all of it.
pub(super) fn set_aside(home: &Home) -> Result<Option<Notice>, StoreError> {
    let path = &home.database;
    let _deciding = deciding(home)?;
    let Some(mut detail) = damage(path)? else { return Ok(None) };
    stay_if_used(home, &detail)?;
    if orphan::is_left(path)? && orphan::revive(path)? {
        match damage(path)? {
            None => return Ok(Some(Notice::FromLog { path: path.clone() })),
            Some(found) => detail = found,
        }
    }
    let moving = Moving { number: free_number(path)?, detail };
    moving.write(path)?;
    moving.carry_out(path).map(Some)
}

/// Looks at all of a database in which damage was met since the last start. One that a process is
/// at work on stays, note and all: nothing is wrong with what does not touch the damage.
pub(super) fn examine(home: &Home) -> Result<Option<Notice>, StoreError> {
    let path = &home.database;
    if !suspect::is_noted(path)? || lock::any_held(&home.locks, DECIDING)? {
        return Ok(None);
    }
    let moved = set_aside(home)?;
    suspect::clear(path)?;
    Ok(moved)
}

/// Moves what a process that died while it set a database aside has left.
pub(super) fn finish(home: &Home) -> Result<Option<Notice>, StoreError> {
    let path = &home.database;
    if !is_under_way(path)? {
        return Ok(None);
    }
    let note = with_suffix(path, NOTE);
    let _deciding = deciding(home)?;
    let written = match fs::read(&note) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| StoreError::io("read", &note, error))?,
    };
    stay_if_used(home, "it is being set aside")?;
    match serde_json::from_slice::<Moving>(&written) {
        Ok(moving) => moving.carry_out(path).map(Some),
        // It is whole before the first file is moved, so none was.
        Err(_) => remove_note(path).map(|()| None),
    }
}

/// Whether a process is moving a database away, or died doing so.
pub(super) fn is_under_way(path: &Path) -> Result<bool, StoreError> {
    exists(&with_suffix(path, NOTE))
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
        // The same at a second attempt: the database is moved last.
        let only_log = orphan::is_left(path)?;
        for suffix in SUFFIXES {
            let kept = if only_log && suffix == "-wal" { ONLY_LOG } else { suffix };
            let (from, mut to) = (with_suffix(path, suffix), with_suffix(&aside, kept));
            if !exists(&from)? {
                continue;
            }
            if exists(&to)? {
                // A build that does not know the note was here in between.
                to = with_suffix(&damaged(path, free_number(path)?), kept);
            }
            fs::rename(&from, &to).map_err(|error| StoreError::io("rename", &from, error))?;
        }
        sync_beside(path)?;
        remove_note(path)?;
        let log = with_suffix(&aside, ONLY_LOG);
        if exists(&log)? {
            return Ok(Notice::LogAside { log });
        }
        Ok(Notice::SetAside { aside, detail: self.detail })
    }
}

fn remove_note(path: &Path) -> Result<(), StoreError> {
    let note = with_suffix(path, NOTE);
    fs::remove_file(&note).map_err(|error| StoreError::io("remove", &note, error))?;
    sync_beside(path)
}

/// Takes the right to decide. Several processes may start at once where something is wrong; the
/// second one soon finds nothing left to do.
fn deciding(home: &Home) -> Result<lock::Lock, StoreError> {
    for _ in 0..DECIDING_TRIES {
        if let Some(lock) = lock::take(&home.locks.join(DECIDING))? {
            return Ok(lock);
        }
    }
    let detail = "another process is setting it aside; try again".into();
    Err(StoreError::Damaged { path: home.database.clone(), detail })
}

/// J82: no database is moved while a process holds a lease. Its commits would go into a file without a
/// name.
fn stay_if_used(home: &Home, detail: &str) -> Result<(), StoreError> {
    if lock::any_held(&home.locks, DECIDING)? {
        let detail = format!("{detail}; it stays, because another process is using it");
        return Err(StoreError::Damaged { path: home.database.clone(), detail });
    }
    Ok(())
}

/// Looks again, with a connection of its own. Only the two answers that mean damage count; a disk
/// that fails for a moment is an error and moves nothing.
fn damage(path: &Path) -> Result<Option<String>, StoreError> {
    let failed = |error| failure::database(path, &error);
    match connect(path).and_then(|db| check(&db).map_err(failed)) {
        Err(StoreError::Damaged { detail, .. }) => Ok(Some(detail)),
        looked => looked,
    }
}

/// The quick check does not look whether an index leads to its rows, and a reader who follows one to
/// nowhere meets damage too. So the slow check follows; a damaged database is rare, and there is time.
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
        for suffix in SUFFIXES.into_iter().chain([ONLY_LOG]) {
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
