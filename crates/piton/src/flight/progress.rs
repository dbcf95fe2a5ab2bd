//! How far running calls are, as they say it themselves.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use piton_core::id::CallId;
use piton_tools::Shown;
use tokio::sync::Notify;

/// Longest word on how far a call is before it is searched for secrets, in bytes. Longer than what faces
/// are shown: a cut through a secret would hide the secret from the search.
const SAID_BYTES_MAX: usize = 16 * 1024;

/// What a call said last.
#[derive(Debug, Default)]
pub(crate) struct Newest {
    pub(crate) far: Option<String>,
    /// The end of what it printed, and how much that is.
    pub(crate) printed: Option<(String, u64)>,
}

/// Where calls leave word for the driver. Only the newest of each call is kept, so it is bounded.
#[derive(Debug, Default)]
pub(crate) struct ProgressTap {
    newest: Mutex<BTreeMap<CallId, Newest>>,
    more: Notify,
}

impl ProgressTap {
    fn newest(&self) -> MutexGuard<'_, BTreeMap<CallId, Newest>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn say(&self, call: CallId, shown: Shown<'_>) {
        let mut newest = self.newest();
        let newest = newest.entry(call).or_default();
        match shown {
            Shown::Far(text) => newest.far = Some(head(text, SAID_BYTES_MAX).to_owned()),
            Shown::Printed { tail, bytes } => {
                newest.printed = Some((head(tail, SAID_BYTES_MAX).to_owned(), bytes));
            }
        }
        self.more.notify_one();
    }

    /// The newest word of each call since this was asked last.
    pub(crate) fn take(&self) -> BTreeMap<CallId, Newest> {
        std::mem::take(&mut *self.newest())
    }

    /// Waits for word of a call.
    pub(crate) async fn more(&self) {
        self.more.notified().await;
    }
}

/// The first bytes of a text, up to a whole character.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}
