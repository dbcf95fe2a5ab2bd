//! How long a worker may be at work.

use std::time::Duration;

use tokio::time::Instant;

/// How long a worker may be at work. Stands still while a person is asked.
#[derive(Debug)]
pub(super) struct Allowance {
    left: Duration,
    since: Option<Instant>,
}

impl Allowance {
    pub(super) fn of(limit: Duration) -> Self {
        Self { left: limit, since: None }
    }

    pub(super) fn run(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    pub(super) fn pause(&mut self) {
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
    }

    /// Waits until nothing is left; for ever while it stands still.
    pub(super) async fn spent(&self) {
        match self.since.and_then(|since| since.checked_add(self.left)) {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    }
}
