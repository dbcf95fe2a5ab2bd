//! How far running calls are: told to faces, kept nowhere.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use piton_core::id::CallId;
use tokio::sync::Notify;

use crate::driver::Driver;

/// Longest word on how far a call is, in bytes.
const TEXT_BYTES_MAX: usize = 400;
/// The same before it was searched for secrets: one must not be cut in two by then.
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

    /// Waits for word of a call.
    pub(crate) async fn more(&self) {
        self.more.notified().await;
    }
}

impl Driver<'_> {
    /// Shows faces how far calls are.
    pub(crate) fn show_progress(&mut self) {
        let newest = std::mem::take(&mut *self.progress.newest());
        let (running, veil) = (self.running(), self.veil());
        for (call, mut text) in newest {
            if running.contains(&call) {
                veil.cut_text(&mut text);
                self.log.live().progress(call, head(&text, TEXT_BYTES_MAX));
            }
        }
    }
}

fn head(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}
