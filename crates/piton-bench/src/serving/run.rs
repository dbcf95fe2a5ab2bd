//! How large a run is, and what it was like.

use std::time::Duration;

use super::judged::Judged;
use crate::measure::percentile;

/// Turns at the same time, each in a conversation of its own.
pub(super) const TURNS: usize = 1_000;
/// Readers of each conversation.
pub(super) const READERS_EACH: usize = 2;

/// What one run of all turns was like.
pub(super) struct Run {
    /// How many entries the journals have in all.
    pub(super) entries: usize,
    /// How many readers ended with a view that is not the fold.
    pub(super) wrong: usize,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    /// From the first message to the end of the last turn.
    pub(super) took: Duration,
    /// Memory before the turns, in KB.
    pub(super) before: f64,
    /// The most memory while they ran, in KB.
    pub(super) peak: f64,
}

impl Run {
    pub(super) fn new(judged: Judged, took: Duration, (before, peak): (f64, f64)) -> Self {
        let Judged { delays, wrong, entries } = judged;
        let (p50, p99) = (percentile(delays.clone(), 50), percentile(delays, 99));
        Self { entries, wrong, p50, p99, took, before, peak }
    }

    /// Growth for each turn, in KB.
    pub(super) fn each_turn(&self) -> f64 {
        (self.peak - self.before) / count(TURNS)
    }
}

/// A count as a figure. All counts here are small.
pub(super) fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}
