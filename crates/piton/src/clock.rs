//! Where time comes from. The engine sleeps on the runtime's clock, which tests make virtual.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use piton_core::id::Timestamp;
use tokio::time::Instant;

/// Tells the time.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// The runtime's clock: with paused time, a virtual one that only sleeping moves on.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeClock {
    start: Instant,
    at_start: Timestamp,
}

impl RuntimeClock {
    /// A clock that shows `at_start` now.
    pub fn starting_at(at_start: Timestamp) -> Self {
        Self { start: Instant::now(), at_start }
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        let passed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.at_start.plus_ms(passed)
    }
}
