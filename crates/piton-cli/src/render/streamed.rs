//! How often what streams goes out for `--json`: each line has all of the text so far.

use std::time::Duration;

use piton_core::id::{Attempt, TurnId};
use piton_core::view::{Live, LiveStep};
use tokio::time::Instant;

/// Least time between two lines of an answer that streams.
const LIVE_EVERY: Duration = Duration::from_millis(100);

/// What went out last, and when.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    shown: Live,
    at: Option<Instant>,
}

impl Streamed {
    /// Whether it is time to show this.
    pub(crate) fn is_due(&mut self, live: &Live) -> bool {
        let is_new = live.step != self.shown.step && live.step.as_ref().is_some_and(has_text)
            || printed(live) != printed(&self.shown) && 0 < printed(live);
        let far = |live: &Live| -> Vec<_> {
            live.calls.iter().map(|call| (call.call, call.progress.clone())).collect()
        };
        let has_moved =
            far(live) != far(&self.shown) && live.calls.iter().any(|call| call.progress.is_some());
        let now = Instant::now();
        let is_soon = self.at.is_some_and(|at| now.duration_since(at) < LIVE_EVERY)
            && name(live) == name(&self.shown);
        if !has_moved && (!is_new || is_soon) {
            return false;
        }
        (self.at, self.shown) = (Some(now), live.clone());
        true
    }
}

/// Everything that running calls have printed, in bytes.
fn printed(live: &Live) -> u64 {
    live.calls.iter().map(|call| call.bytes).sum()
}

fn has_text(step: &LiveStep) -> bool {
    !step.text.is_empty() || !step.reasoning.is_empty()
}

/// Which try of which request streams.
fn name(live: &Live) -> Option<(TurnId, u32, Attempt)> {
    live.step.as_ref().map(|step| (step.turn, step.step, step.attempt))
}
