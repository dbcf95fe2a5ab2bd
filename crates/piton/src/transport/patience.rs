//! How long to wait for a provider. Measured on wall time: a laptop that slept has waited too.

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, SystemTime};

/// How often to look at the wall clock while waiting. The runtime's own clock stands still while
/// the machine sleeps.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The clocks of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From sending to the first byte of the answer.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { first_byte: Duration::from_mins(2), idle: Duration::from_mins(1) }
    }
}

/// Waits for one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience(Timeouts);

/// The wait was too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Expired {
    #[error("the provider sent nothing for {} s", .0.as_secs())]
    FirstByte(Duration),
    #[error("the stream was silent for {} s", .0.as_secs())]
    Idle(Duration),
}

impl Patience {
    pub(super) fn new(timeouts: Timeouts) -> Self {
        Self(timeouts)
    }

    pub(super) async fn first_byte<T>(&self, work: impl Future<Output = T>) -> Result<T, Expired> {
        let max = self.0.first_byte;
        within(max, work).await.ok_or(Expired::FirstByte(max))
    }

    pub(super) async fn idle<T>(&self, work: impl Future<Output = T>) -> Result<T, Expired> {
        let max = self.0.idle;
        within(max, work).await.ok_or(Expired::Idle(max))
    }
}

async fn within<T>(max: Duration, work: impl Future<Output = T>) -> Option<T> {
    let (begun, mut waited) = (SystemTime::now(), Duration::ZERO);
    let mut work = pin!(work);
    while waited < max {
        let look = LOOK_EVERY.min(max.saturating_sub(waited));
        if let Ok(done) = tokio::time::timeout(look, &mut work).await {
            return Some(done);
        }
        // Whichever clock is ahead: the wall may have been set back.
        waited = begun.elapsed().unwrap_or_default().max(waited + look);
    }
    None
}
