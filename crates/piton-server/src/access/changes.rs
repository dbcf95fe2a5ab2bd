//! Notices that tokens come and go, once for all streams that are open.
//!
//! Every token is a file, so making or revoking one changes the time of their directory. One task looks
//! at that time; a stream reads its own token again only when it moved.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::token::Tokens;
use crate::limits::TOKENS_EVERY;

/// A change that is younger may hide another one behind the same time.
const RECENT: Duration = Duration::from_secs(1);

/// Looks at the tokens as long as somebody holds it.
#[derive(Debug)]
pub(crate) struct TokenChanges {
    moved: watch::Receiver<()>,
    looking: AbortHandle,
}

impl Drop for TokenChanges {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

impl TokenChanges {
    /// Begins to look.
    pub(crate) fn start(tokens: &Tokens) -> Arc<Self> {
        let (tokens, (sender, moved)) = (tokens.clone(), watch::channel(()));
        let looking = tokio::spawn(async move {
            let mut seen = tokens.changed();
            loop {
                tokio::time::sleep(TOKENS_EVERY).await;
                let now = tokens.changed();
                if now != seen || now.is_some_and(is_recent) {
                    seen = now;
                    sender.send_replace(());
                }
            }
        });
        Arc::new(Self { moved, looking: looking.abort_handle() })
    }

    /// Tells each time that tokens may have changed; the first time at once.
    pub(crate) fn moved(&self) -> watch::Receiver<()> {
        let mut moved = self.moved.clone();
        moved.mark_changed();
        moved
    }
}

/// Whether a time is now, or not yet: clocks of file systems are not ours.
fn is_recent(changed: SystemTime) -> bool {
    changed.elapsed().map_or(true, |age| age < RECENT)
}
