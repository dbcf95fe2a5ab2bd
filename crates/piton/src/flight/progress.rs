//! How far running calls are, as they say it themselves.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use piton_core::id::CallId;
use tokio::sync::Notify;

/// Longest word on how far a call is before it is searched for secrets, in bytes. Longer than what faces
/// are shown: a cut through a secret would hide the secret from the search.
const SAID_BYTES_MAX: usize = 16 * 1024;

/// Where calls leave word for the driver. Only the newest of each call is kept, so it is bounded.
#[derive(Debug, Default)]
pub(crate) struct ProgressTap {
    newest: Mutex<BTreeMap<CallId, String>>,
    more: Notify,
}

impl ProgressTap {
    fn newest(&self) -> MutexGuard<'_, BTreeMap<CallId, String>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn say(&self, call: CallId, text: &str) {
        self.newest().insert(call, head(text, SAID_BYTES_MAX).to_owned());
        self.more.notify_one();
    }

    /// The newest word of each call since this was asked last.
    pub(crate) fn take(&self) -> BTreeMap<CallId, String> {
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
