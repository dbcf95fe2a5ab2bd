//! What workers are allowed: how many, how long, and without which tools.

use std::time::Duration;

use piton_core::coordinate::DELEGATE;
use tokio::time::Instant;

/// Most workers of one conversation that are at work at the same time; the others wait for a place.
pub const WORKERS_MAX: usize = 4;
/// Tools that no worker has: one level is enough, and a person is asked by one agent at a time.
pub(super) const NOT_FOR_WORKERS: [&str; 2] = [DELEGATE, "ask_user"];

/// What workers are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delegation {
    /// Longest time that a worker is at work; waiting for a person does not count.
    pub limit: Duration,
    /// Most model answers of a worker; 0 is no limit of its own.
    pub steps_max: u32,
}

impl Default for Delegation {
    fn default() -> Self {
        Self { limit: Duration::from_mins(2), steps_max: 50 }
    }
}

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
