//! What a fork takes over from the conversation that it was cut from.

use super::State;
use crate::event::TurnEnd;

impl State {
    /// What a conversation begins with that was cut from this one: all that was said, the open turn
    /// as it stands. Configuration, queue and driver are its own.
    #[must_use]
    pub fn forked(mut self) -> Self {
        let to_plan = self.open_turn().filter(|turn| turn.is_to_plan()).map(|turn| turn.id);
        if let Some(turn) = self.open_turn_mut() {
            turn.broke = None;
            turn.lose_what_is_in_flight();
            turn.end = Some(TurnEnd::Stopped);
            // The fork has another errand, so nothing asks it for a plan.
            turn.agent = turn.agent.take().filter(|_| to_plan.is_none());
        }
        if let Some(turn) = to_plan {
            self.rewrite_turn(turn);
        }
        let Self { turns, superseded, overlay, summing, calibration, frames, .. } = self;
        let (frames, calibration, summing) = (frames.kept(), calibration.kept(), summing.kept());
        Self { turns, superseded, overlay, summing, calibration, frames, ..Self::default() }
    }
}
