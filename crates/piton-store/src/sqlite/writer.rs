//! The writer thread: takes appends of all conversations from one queue and commits all that wait
//! in one transaction.
//!
//! An fsync costs the same for one append and for a hundred. A conversation that is the only one in
//! its process has nobody to share it with and commits on its own thread: two changes of thread would
//! cost half as much as the commit itself. Knows when to commit; `append` knows how.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Instant;

use piton_core::id::Seq;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::append::{Append, Ledger};
use super::bell::Bell;
use super::failure;
use crate::wake::{LIST, Wakers};
use crate::{AppendError, StoreError};

/// Appends that may wait in the queue; further callers wait for room.
const QUEUE_APPENDS_MAX: usize = 1024;
/// Appends in one transaction. Bounds how long the first of them waits for the last.
const GROUP_APPENDS_MAX: usize = 256;
/// How long a commit waits for the callers that shared the last one, in microseconds: they were
/// answered a moment ago and are likely to write again. Less than a commit takes.
const GATHER_US: u128 = 50;

enum Request {
    Append(Box<Append>, oneshot::Sender<Result<Seq, AppendError>>),
    LimitPages(u32, oneshot::Sender<()>),
    /// Answered when all that came before it is committed or refused.
    Settle(oneshot::Sender<()>),
    /// The log has grown, and the caller that noticed must not wait until it is moved into the file.
    Tidy,
}

/// Tells waiters, here and in other processes, what was committed.
#[derive(Debug)]
pub(super) struct News {
    pub(super) wakers: Arc<Wakers>,
    pub(super) bell: Bell,
}

impl News {
    /// Waiters of this process first: they need no bell.
    fn tell<'a>(&self, ends: impl Iterator<Item = (&'a Append, Seq)>, newest: u64) {
        let mut any = false;
        for (append, end) in ends {
            self.wakers.entries.announce(append.conversation.as_str(), end.0);
            any = true;
        }
        if any {
            self.wakers.list.announce(LIST, newest);
            self.bell.ring();
        }
    }
}

/// A handle on the thread. Dropping it commits what waits, ends the thread and waits for that.
#[derive(Debug)]
pub(super) struct Writer {
    // Held for one transaction at a time, by the thread or by a caller that is alone.
    ledger: Arc<Mutex<Ledger>>,
    news: Arc<News>,
    queue: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(db: Connection, path: PathBuf, news: News) -> Result<Self, StoreError> {
        let news = Arc::new(news);
        let ledger = Arc::new(Mutex::new(Ledger::new(db, path.clone())?));
        let (queue, requests) = mpsc::channel(QUEUE_APPENDS_MAX);
        let (served, told) = (ledger.clone(), news.clone());
        let thread = std::thread::Builder::new()
            .name("piton-store-writer".to_owned())
            .spawn(move || serve(&served, requests, &told))
            .map_err(|error| StoreError::io("start a thread for", &path, error))?;
        Ok(Self { ledger, news, queue: Some(queue), thread: Some(thread) })
    }

    /// Appends on the caller's own thread, if nobody else is at the ledger. For a caller that is
    /// alone: it would wait for the commit anyway.
    pub(super) fn append_here(&self, append: &Append) -> Option<Result<Seq, AppendError>> {
        let mut ledger = match self.ledger.try_lock() {
            Ok(ledger) => ledger,
            Err(TryLockError::WouldBlock) => return None,
            // A commit that panicked left the connection in an unknown state.
            Err(TryLockError::Poisoned(_)) => return Some(Err(StoreError::Closed.into())),
        };
        let committed = ledger.commit(std::slice::from_ref(append));
        let (untidy, newest) = (ledger.is_untidy(), ledger.newest());
        drop(ledger);
        if untidy && let Some(queue) = &self.queue {
            // A full queue means that the thread is awake and will see to it by itself.
            queue.try_send(Request::Tidy).ok();
        }
        let verdict = match committed {
            Ok(mut verdicts) => verdicts.pop().unwrap_or_else(|| Err(StoreError::Closed.into())),
            Err(error) => Err(error.into()),
        };
        self.news.tell(verdict.iter().map(|end| (append, *end)), newest);
        Some(verdict)
    }

    /// Appends and waits for the commit. If the caller stops waiting, the append may take place all
    /// the same.
    pub(super) async fn append(&self, append: Append) -> Result<Seq, AppendError> {
        let (reply, answer) = oneshot::channel();
        let (conversation, name) = (append.conversation.clone(), append.name.clone());
        self.send(Request::Append(Box::new(append), reply)).await?;
        // Without an answer the thread died over it, before or behind the commit.
        answer.await.unwrap_or(Err(AppendError::Unknown { conversation, name }))
    }

    /// Waits until all that waits is committed or refused. Nothing waits for a thread that is gone.
    pub(super) async fn settle(&self) {
        let (reply, answer) = oneshot::channel();
        if self.send(Request::Settle(reply)).await.is_ok() {
            answer.await.unwrap_or_default();
        }
    }

    pub(super) async fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Request::LimitPages(pages, reply)).await?;
        answer.await.map_err(|_| StoreError::Closed)
    }

    async fn send(&self, request: Request) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(request).await.map_err(|_| StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // An error means that the thread panicked; callers that waited for it were told `Closed`.
            thread.join().ok();
        }
    }
}

fn serve(shared: &Mutex<Ledger>, mut requests: mpsc::Receiver<Request>, news: &News) {
    let mut group = Group::default();
    while let Some(first) = requests.blocking_recv() {
        group.take(first, shared);
        group.gather(&mut requests, shared);
        if !group.appends.is_empty() {
            group.commit(&mut hold(shared), news);
        }
        for settled in group.settled.drain(..) {
            settled.send(()).ok();
        }
        if requests.is_empty() {
            hold(shared).tidy();
        }
    }
}

/// A ledger whose last commit panicked refuses by itself what it cannot do.
fn hold(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Appends that are committed together.
#[derive(Default)]
struct Group {
    appends: Vec<Append>,
    replies: Vec<oneshot::Sender<Result<Seq, AppendError>>>,
    /// Callers who wait for all of that.
    settled: Vec<oneshot::Sender<()>>,
    /// How many appends the last commit held.
    last: usize,
}

impl Group {
    fn take(&mut self, request: Request, shared: &Mutex<Ledger>) {
        match request {
            Request::Append(append, reply) => {
                self.appends.push(*append);
                self.replies.push(reply);
            }
            Request::LimitPages(pages, reply) => {
                hold(shared).limit_pages(pages);
                reply.send(()).ok();
            }
            Request::Settle(reply) => self.settled.push(reply),
            Request::Tidy => {}
        }
    }

    /// Takes what waits, and for a moment also what is about to come.
    fn gather(&mut self, requests: &mut mpsc::Receiver<Request>, shared: &Mutex<Ledger>) {
        let start = Instant::now();
        while self.appends.len() < GROUP_APPENDS_MAX {
            if let Ok(request) = requests.try_recv() {
                self.take(request, shared);
            } else if self.appends.len() < self.last && start.elapsed().as_micros() < GATHER_US {
                std::thread::yield_now();
            } else {
                break;
            }
        }
    }

    fn commit(&mut self, ledger: &mut Ledger, news: &News) {
        self.last = self.appends.len();
        let replies = self.replies.drain(..);
        // A caller who no longer listens is none of our business, hence `ok` on every reply.
        match ledger.commit(&self.appends) {
            Ok(verdicts) => {
                let ends: Vec<_> = verdicts.iter().map(|end| end.as_ref().ok().copied()).collect();
                // The writers are answered before the waiters, and all in one go: they wait for this
                // to go on.
                for (verdict, reply) in verdicts.into_iter().zip(replies) {
                    reply.send(verdict).ok();
                }
                let ends = self.appends.iter().zip(ends);
                news.tell(ends.filter_map(|(append, end)| Some((append, end?))), ledger.newest());
            }
            Err(error) => {
                for reply in replies {
                    reply.send(Err(failure::repeat(&error).into())).ok();
                }
            }
        }
        self.appends.clear();
    }
}
