//! Who may start a command: the process that gives its log its name, once.
//!
//! The lock lies on the open file, not on a process. A process that is handed that open file holds the lock
//! too, so there is no moment between the claim and the end of the last holder in which it is free.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use crate::supervise::record::log::{self, Intent, Record, Story};
use crate::supervise::record::verdict::Lock;
use crate::supervise::record::{PRIVATE_DIRECTORY, lock, opening, output};

/// The files of a call that is ours to start.
#[derive(Debug)]
pub(crate) struct Claim {
    /// The record, locked.
    pub(crate) log: File,
    /// Where the command prints.
    pub(crate) out: File,
}

/// What came of an attempt to claim.
#[derive(Debug)]
pub(crate) enum Claimed {
    /// It is ours.
    Ours(Claim),
    /// Somebody has claimed it before.
    Taken,
}

/// Claims the call whose record is kept in `directory`, and writes down what is to run.
///
/// The log gets its name when it is locked and says what is to run, and only one file can get that
/// name. So nobody ever sees a claimed log that is free.
pub(crate) fn claim(directory: &Path, intent: Intent) -> io::Result<Claimed> {
    let chance = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    let unnamed = directory.join(format!("log.{chance:016x}"));
    let mut made = make(directory, &unnamed);
    if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        // Somebody who tidies up has removed the directory of the conversation, which was empty.
        made = make(directory, &unnamed);
    }
    let log = made?;
    lock(&log)?;
    log::append(&log, &Record::Intended(Box::new(intent)))?;
    crate::fail::here("intended");
    let named = fs::hard_link(&unnamed, directory.join("log"));
    fs::remove_file(&unnamed)?;
    match named {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Claimed::Taken),
        Err(error) => return Err(error),
    }
    let out = opening().create_new(true).open(directory.join("out"))?;
    output::seal(&out)?;
    crate::fail::here("claimed");
    Ok(Claimed::Ours(Claim { log, out }))
}

fn make(directory: &Path, log: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(directory)?;
    opening().create_new(true).open(log)
}

/// Sees to it that a call which nobody has claimed is never started: who comes too late to find out
/// that it was given up finds it taken. The log says whether that was so.
pub(crate) fn forbid(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(directory)?;
    let log = opening().create(true).open(directory.join("log"))?;
    if lock(&log)? == Lock::Free && Story::read(&log)?.started.is_none() {
        let why = "it was not started when its agent died".into();
        log::append(&log, &Record::NeverRan { why })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use piton_core::id::{CallId, TurnId};

    use super::*;
    use crate::supervise::record::{open_log, peek};

    pub(crate) fn intent() -> Intent {
        Intent {
            version: log::LOG_VERSION,
            call: CallId { turn: TurnId(1), step: 1, index: 0 },
            command: "true".into(),
            directory: "/".into(),
            timeout_ms: None,
            keep: false,
            at_ms: 0,
            marker: "m".into(),
            sandbox: None,
            input: false,
            terminal: false,
            secret: false,
            sealed: true,
            guard: None,
        }
    }

    #[test]
    fn a_call_is_claimed_once_and_the_lock_lives_with_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c/1.1.0");
        let Claimed::Ours(claim_) = claim(&path, intent()).unwrap() else { panic!("not ours") };
        assert!(matches!(claim(&path, intent()).unwrap(), Claimed::Taken));
        let later = open_log(&path).unwrap();
        assert_eq!(lock(&later).unwrap(), Lock::Held);
        // A copy of the handle is the same lock: the first going away does not free it.
        let copy = claim_.log.try_clone().unwrap();
        drop(claim_);
        assert_eq!(peek(&later).unwrap(), Lock::Held);
        drop(copy);
        assert_eq!(peek(&later).unwrap(), Lock::Free);
        assert_eq!(Story::read(&later).unwrap().intent, Some(intent()));
    }

    #[test]
    fn what_was_given_up_cannot_be_claimed_any_more() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c/1.1.0");
        forbid(&path).unwrap();
        assert!(matches!(claim(&path, intent()).unwrap(), Claimed::Taken));
        assert!(Story::read(&open_log(&path).unwrap()).unwrap().never_ran.is_some());
    }
}
