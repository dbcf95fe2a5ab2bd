//! The writer thread: takes appends of all conversations from one queue and commits together
//! whatever waits.
//!
//! An fsync costs the same for one append and for a hundred, so nobody waits for another's turn. Who
//! is alone has nobody to share it with and commits on its own thread: two changes of thread would
//! cost half as much as the commit itself. Knows when to commit; `append` knows how.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

use piton_core::id::Seq;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::append::{Append, Ledger};
use super::failure;
use crate::wake::Wakers;
use crate::{AppendError, StoreError};

/// Appends that may wait in the queue; further callers wait for room.
const QUEUE_APPENDS_MAX: usize = 1024;
/// Appends in one transaction. Bounds how long the first of them waits for the last.
const GROUP_APPENDS_MAX: usize = 256;

enum Request {
    Append(Append, oneshot::Sender<Result<Seq, AppendError>>),
    LimitPages(u32, oneshot::Sender<()>),
    /// The log has grown, and whoever noticed has no time.
    Tidy,
}

/// A handle on the thread. Dropping it commits what waits, ends the thread and waits for that.
#[derive(Debug)]
pub(super) struct Writer {
    // Held for one transaction at a time, by the thread or by a caller that is alone.
    ledger: Arc<Mutex<Ledger>>,
    wakers: Arc<Wakers>,
    queue: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(
        db: Connection,
        path: PathBuf,
        wakers: Arc<Wakers>,
    ) -> Result<Self, StoreError> {
        let ledger = Arc::new(Mutex::new(Ledger::new(db, path.clone())?));
        let (queue, requests) = mpsc::channel(QUEUE_APPENDS_MAX);
        let (served, announced) = (ledger.clone(), wakers.clone());
        let thread = std::thread::Builder::new()
            .name("piton-store-writer".to_owned())
            .spawn(move || serve(&served, requests, &announced))
            .map_err(|error| StoreError::io("start a thread for", &path, error))?;
        Ok(Self { ledger, wakers, queue: Some(queue), thread: Some(thread) })
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
        let untidy = ledger.is_untidy();
        drop(ledger);
        if untidy && let Some(queue) = &self.queue {
            // A full queue means that the thread is awake and will see to it by itself.
            queue.try_send(Request::Tidy).ok();
        }
        let verdict = match committed {
            Ok(mut verdicts) => verdicts.pop().unwrap_or_else(|| Err(StoreError::Closed.into())),
            Err(error) => Err(error.into()),
        };
        if let Ok(end) = &verdict {
            self.wakers.announce(&append.conversation, *end);
        }
        Some(verdict)
    }

    /// Appends and waits for the commit. If the caller stops waiting, the append may take place all
    /// the same.
    pub(super) async fn append(&self, append: Append) -> Result<Seq, AppendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Request::Append(append, reply)).await?;
        answer.await.map_err(|_| StoreError::Closed)?
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
            // An error means that the thread panicked; whoever waited for it was told `Closed`.
            thread.join().ok();
        }
    }
}

fn serve(shared: &Mutex<Ledger>, mut requests: mpsc::Receiver<Request>, wakers: &Wakers) {
    let mut group = Vec::new();
    let mut replies = Vec::new();
    while let Some(first) = requests.blocking_recv() {
        let mut next = Some(first);
        while let Some(request) = next {
            match request {
                Request::Append(append, reply) => {
                    group.push(append);
                    replies.push(reply);
                }
                Request::LimitPages(pages, reply) => {
                    hold(shared).limit_pages(pages);
                    reply.send(()).ok();
                }
                Request::Tidy => {}
            }
            let room = group.len() < GROUP_APPENDS_MAX;
            next = if room { requests.try_recv().ok() } else { None };
        }
        if !group.is_empty() {
            answer(&mut hold(shared), &group, replies.drain(..), wakers);
            group.clear();
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

fn answer(
    ledger: &mut Ledger,
    group: &[Append],
    replies: impl Iterator<Item = oneshot::Sender<Result<Seq, AppendError>>>,
    wakers: &Wakers,
) {
    // A caller who no longer listens is none of our business, hence `ok` on every reply.
    match ledger.commit(group) {
        Ok(verdicts) => {
            for ((append, verdict), reply) in group.iter().zip(verdicts).zip(replies) {
                let end = verdict.as_ref().ok().copied();
                // The writer first: it waits for this to go on.
                reply.send(verdict).ok();
                if let Some(end) = end {
                    wakers.announce(&append.conversation, end);
                }
            }
        }
        Err(error) => {
            for reply in replies {
                reply.send(Err(failure::repeat(&error).into())).ok();
            }
        }
    }
}
