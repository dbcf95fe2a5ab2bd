//! What was asked: a list for tests and for people who watch.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;

/// Most requests that are kept; the oldest go first.
const SEEN_MAX: usize = 10_000;

/// A request that came in, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// `POST`, and the like.
    pub method: String,
    /// Path and query, without a key.
    pub path: String,
    /// The provider that was played; empty where there is none at that path.
    pub dialect: &'static str,
    /// The headers, names in lower case. In place of a key stands `[key]`.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Bytes,
    /// The body's digest, in hexadecimal.
    pub sha256: String,
    /// Which step of the script answered, from 0; `None` where none did.
    pub step: Option<usize>,
    /// The status of the answer; 0 where none was given.
    pub status: u16,
    /// What went wrong, in a few words; empty where nothing did.
    pub note: String,
}

impl Seen {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What was asked so far.
#[derive(Debug)]
pub(super) struct Book {
    pages: Mutex<Pages>,
    changed: Condvar,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Pages {
    seen: VecDeque<Seen>,
    /// How many there ever were.
    count: usize,
    stalls: usize,
}

impl Default for Book {
    fn default() -> Self {
        let (pages, changed) = (Mutex::default(), Condvar::new());
        Self { pages, changed, count: watch::Sender::new(0) }
    }
}

impl Book {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a request.
    pub(super) fn enter(&self, seen: Seen) {
        let mut pages = self.pages();
        if SEEN_MAX <= pages.seen.len() {
            pages.seen.pop_front();
        }
        pages.seen.push_back(seen);
        pages.count += 1;
        self.count.send_replace(pages.count);
        self.changed.notify_all();
    }

    /// An answer has stalled, and all before it is sent.
    pub(super) fn stall(&self) {
        self.pages().stalls += 1;
        self.changed.notify_all();
    }

    /// A copy of what is kept.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.pages().seen.iter().cloned().collect()
    }

    /// Takes out what is kept.
    pub(super) fn take(&self) -> Vec<Seen> {
        self.pages().seen.drain(..).collect()
    }

    /// Tells of every change in the number of requests.
    pub(super) fn watch(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// Waits for so many requests; whether they came in time.
    pub(super) fn wait_for_requests(&self, count: usize, longest: Duration) -> bool {
        self.wait(longest, |pages| pages.count < count)
    }

    /// Waits for so many stalled answers; whether there were that many in time.
    pub(super) fn wait_for_stalls(&self, count: usize, longest: Duration) -> bool {
        self.wait(longest, |pages| pages.stalls < count)
    }

    fn wait(&self, longest: Duration, missing: impl Fn(&Pages) -> bool) -> bool {
        let waited = self.changed.wait_timeout_while(self.pages(), longest, |it| missing(it));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}
