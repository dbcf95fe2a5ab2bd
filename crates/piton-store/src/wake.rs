//! Wakes tasks that wait for news, within this process.
//!
//! News is a number that only rises: the end of a journal, the arrival of a letter, a position in
//! the list. A board has one channel for each awaited name, so that news wakes only the waiters of
//! that name. The channel carries the number, so that a waiter need not ask the store. How news of
//! other processes gets here is the store's business.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// The name under which the list is awaited; there is only one.
pub(crate) const LIST: &str = "";

/// What can be waited for.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    /// The ends of journals, by conversation.
    pub(crate) entries: Arc<Board>,
    /// The arrivals of letters, by conversation.
    pub(crate) letters: Arc<Board>,
    /// The position of the list, under [`LIST`].
    pub(crate) list: Arc<Board>,
}

impl Wakers {
    /// Whether anybody waits for anything.
    pub(crate) fn are_awaited(&self) -> bool {
        !self.letters.lock().is_empty() || self.await_commits()
    }

    /// Whether anybody waits for what a commit brings.
    pub(crate) fn await_commits(&self) -> bool {
        !self.entries.lock().is_empty() || !self.list.lock().is_empty()
    }
}

/// News of one kind.
#[derive(Debug, Default)]
pub(crate) struct Board {
    newest: Mutex<HashMap<String, watch::Sender<u64>>>,
    /// Changes when news may have been missed.
    doubt: watch::Sender<()>,
}

impl Board {
    /// Tells every waiter for this name how high its number is now.
    pub(crate) fn announce(&self, name: &str, number: u64) {
        if let Some(sender) = self.lock().get(name) {
            sender.send_if_modified(|known| {
                let risen = *known < number;
                *known = (*known).max(number);
                risen
            });
        }
    }

    /// Makes every waiter ask the store.
    pub(crate) fn raise_doubt(&self) {
        self.doubt.send_replace(());
    }

    /// Begins to listen. A waiter who listens first and asks the store second misses nothing.
    pub(crate) fn listen(self: &Arc<Self>, name: &str) -> Waiter {
        let mut newest = self.lock();
        let receiver =
            newest.entry(name.to_owned()).or_insert_with(|| watch::Sender::new(0)).subscribe();
        drop(newest);
        let (board, name) = (Arc::clone(self), name.to_owned());
        Waiter { doubt: board.doubt.subscribe(), board, name, receiver }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<u64>>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener. The last one to go takes the channel away, so that the table is never larger than the
/// number of waiters.
pub(crate) struct Waiter {
    board: Arc<Board>,
    name: String,
    receiver: watch::Receiver<u64>,
    doubt: watch::Receiver<()>,
}

impl Waiter {
    /// Waits for a number above `known` to be announced; `None` if the store has to be asked.
    pub(crate) async fn past(&mut self, known: u64) -> Option<u64> {
        let Self { receiver, doubt, .. } = self;
        let risen = async { receiver.wait_for(|number| *number > known).await.ok().map(|it| *it) };
        tokio::select! {
            // Both senders live for as long as this waiter does.
            Some(number) = risen => Some(number),
            _ = doubt.changed() => None,
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut newest = self.board.lock();
        if newest.get(&self.name).is_some_and(|sender| sender.receiver_count() <= 1) {
            newest.remove(&self.name);
        }
    }
}
