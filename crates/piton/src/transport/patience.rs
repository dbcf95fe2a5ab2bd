//! How long to wait for a provider. Measured on wall time: a laptop that slept has waited too.

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use crate::timeouts::{Silence, Timeouts};

/// How often to look at the wall clock while waiting. The runtime's own clock stands still while
/// the machine sleeps.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Waits for one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience(Timeouts);

impl Patience {
    pub(super) fn new(timeouts: Timeouts) -> Self {
        Self(timeouts)
    }

    /// How long an outage is waited for.
    pub(super) fn outage(&self) -> Duration {
        self.0.outage
    }

    pub(super) async fn first_byte<T>(&self, work: impl Future<Output = T>) -> Result<T, Silence> {
        let max = self.0.first_byte;
        within(max, work).await.ok_or(Silence::FirstByte(max))
    }

    pub(super) async fn idle<T>(&self, work: impl Future<Output = T>) -> Result<T, Silence> {
        let max = self.0.idle;
        within(max, work).await.ok_or(Silence::Idle(max))
    }
}

/// `None` when the time is over.
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
