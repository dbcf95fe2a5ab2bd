//! How far running calls are: told to faces, kept nowhere.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use piton_core::id::CallId;
use piton_tools::Shown;
use tokio::sync::Notify;

use crate::driver::Driver;

/// Longest word on how far a call is, in bytes.
const TEXT_BYTES_MAX: usize = 400;
/// The same before it was searched for secrets: one must not be cut in two by then.
const SAID_BYTES_MAX: usize = 16 * 1024;

/// What a call said last.
#[derive(Debug, Default)]
struct Newest {
    far: Option<String>,
    /// The end of what it printed, and how much that is.
    printed: Option<(String, u64)>,
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
        for (call, Newest { far, printed }) in newest {
            if !running.contains(&call) {
                continue;
            }
            if let Some(mut text) = far {
                veil.cut_text(&mut text);
                self.log.live().progress(call, head(&text, TEXT_BYTES_MAX));
            }
            if let Some((mut tail, bytes)) = printed {
                veil.cut_text(&mut tail);
                self.log.live().printed(call, tail, bytes);
            }
        }
    }
}

fn head(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}
