//! Brings news of other processes to the waiters of this one: a thread that listens to the bell.
//!
//! Started with the first waiter. It reads what was committed since it last looked and announces
//! that, so that a commit costs one query however many wait. If it cannot read, it makes the waiters
//! ask the store themselves, and they get the error.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::bell::{Ear, Heard};
use super::column::unsigned;
use super::home::Home;
use super::{connect, failure, letter, place, private};
use crate::StoreError;
use crate::wake::{LIST, Wakers};

/// How often to look although nothing was heard, for the bell of a file system that is shared with
/// another machine makes no sound here.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often to look where the kernel tells nothing.
const LOOK_DEAF_EVERY: Duration = Duration::from_millis(100);
/// Commits that are read one by one. If there were more, all waiters ask for themselves.
const NEWS_CHUNKS_MAX: i64 = 1024;

/// The thread, which runs once a caller has waited.
#[derive(Debug)]
pub(super) struct Watcher {
    home: Home,
    wakers: Arc<Wakers>,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    // Closing it stops the thread.
    stop: UnixStream,
    thread: JoinHandle<()>,
}

impl Watcher {
    pub(super) fn new(home: Home, wakers: Arc<Wakers>) -> Self {
        Self { home, wakers, running: Mutex::default() }
    }

    /// Starts the thread, if it does not run.
    pub(super) fn start(&self) -> Result<(), StoreError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_some() {
            return Ok(());
        }
        let failed = |error| StoreError::io("start a thread for", &self.home.database, error);
        let (stop, stopped) = UnixStream::pair().map_err(failed)?;
        private::make_directory(&self.home.inbox)?;
        let mut look = Look {
            ear: Ear::new(&self.home.database, &self.home.inbox, stopped),
            database: self.home.database.clone(),
            inbox: self.home.inbox.clone(),
            wakers: self.wakers.clone(),
            db: None,
            known: None,
        };
        let thread = std::thread::Builder::new()
            .name("piton-store-watch".to_owned())
            .spawn(move || look.run())
            .map_err(failed)?;
        *running = Some(Running { stop, thread });
        Ok(())
    }

    /// Stops the thread and waits for its end.
    pub(super) fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { stop, thread }) = running {
            drop(stop);
            // A thread that panicked has nothing left to close.
            thread.join().ok();
        }
    }
}

/// What the thread knows.
struct Look {
    ear: Ear,
    database: PathBuf,
    inbox: PathBuf,
    wakers: Arc<Wakers>,
    db: Option<Connection>,
    /// The last commit that was announced.
    known: Option<i64>,
}

impl Look {
    fn run(&mut self) {
        let every = if self.ear.is_told() { LOOK_EVERY } else { LOOK_DEAF_EVERY };
        // What was committed before the ear was open makes no sound.
        self.look(&Heard { look_at_all: true, ..Heard::default() });
        loop {
            let heard = self.ear.wait(every);
            if heard.stop {
                return;
            }
            if self.wakers.are_awaited() {
                self.look(&heard);
            }
        }
    }

    fn look(&mut self, heard: &Heard) {
        for name in &heard.letters {
            self.announce_letter(name);
        }
        if heard.look_at_all {
            // A directory that cannot be read has told nobody anything; the next look tries again.
            for name in letter::names(&self.inbox).unwrap_or_default() {
                self.announce_letter(&name);
            }
        }
        // Without waiters nothing is read: the next look with one announces it all.
        if self.wakers.await_commits() && !matches!(self.announce_commits(), Ok(true)) {
            self.db = None;
            self.wakers.entries.raise_doubt();
            self.wakers.list.raise_doubt();
        }
    }

    fn announce_letter(&self, name: &str) {
        if let Some((conversation, arrival)) = letter::arrived(name) {
            self.wakers.letters.announce(conversation, arrival.0);
        }
    }

    /// Announces what was committed since the last look; false if that is unknown.
    fn announce_commits(&mut self) -> Result<bool, StoreError> {
        let failed = |error| failure::database(&self.database, &error);
        let db = match &self.db {
            Some(db) => db,
            None => self.db.insert(connect::reader(&self.database)?),
        };
        let newest = place::newest(db).map_err(failed)?;
        let known = self.known.replace(newest);
        let Some(known) = known
            .filter(|known| *known <= newest && newest.saturating_sub(*known) <= NEWS_CHUNKS_MAX)
        else {
            return Ok(false);
        };
        if known < newest {
            let news = place::news(db, known).map_err(failed)?;
            for (conversation, end) in news {
                self.wakers.entries.announce(&conversation, end.0);
            }
            self.wakers.list.announce(LIST, unsigned(newest));
        }
        Ok(true)
    }
}
