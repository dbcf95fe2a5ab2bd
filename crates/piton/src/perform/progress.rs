//! How far running calls are: told to faces, kept nowhere.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use piton_core::id::CallId;
use tokio::sync::Notify;

use crate::driver::Driver;

/// Longest word on how far a call is, in bytes.
const TEXT_BYTES_MAX: usize = 400;

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
        let end = text.floor_char_boundary(TEXT_BYTES_MAX);
        let text = text.get(..end).unwrap_or_default().to_owned();
        self.newest().insert(call, text);
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
        let running = self.running();
        for (call, text) in newest {
            if running.contains(&call) {
                self.log.hub().progress(call, text);
            }
        }
    }
}
