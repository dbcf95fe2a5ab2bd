//! Where chance comes from: names and back-off.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Gives random numbers.
pub trait Chance: fmt::Debug + Send + Sync {
    /// The next 64 bits.
    fn next(&self) -> u64;
}

/// The operating system's chance.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    fn next(&self) -> u64 {
        // A system without a random source still has to give different names to different drivers;
        // the clock is the best that is left.
        getrandom::u64().unwrap_or_else(|_| {
            let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            SeededChance::new(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)).next()
        })
    }
}

/// Chance that repeats itself from a seed, for tests and simulations (`SplitMix64`).
#[derive(Debug)]
pub struct SeededChance(AtomicU64);

impl SeededChance {
    /// Starts at a seed.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Chance for SeededChance {
    fn next(&self) -> u64 {
        let step = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
