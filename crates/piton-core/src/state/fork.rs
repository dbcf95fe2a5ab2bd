//! What a fork takes over from the conversation that it was cut from.

use super::{Config, Progress, State, Turn};
use crate::event::{
    Event, ForkOrigin, Handle, InquiryKind, PermissionMode, PermissionRule, Permissions, RuleScope,
    TurnEnd,
};
use crate::id::TurnId;

impl State {
    /// What a worker begins with that was cut from this conversation: all that was said. The open turn
    /// is over for it. Configuration, queue and driver are its own.
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
        let Self { turns, superseded, overlay, summing, origin_gone, turn_gone, .. } = self;
        Self {
            origin_gone,
            turn_gone,
            turns,
            superseded,
            overlay,
            summing: summing.kept(),
            calibration: self.calibration.kept(),
            frames: self.frames.kept(),
            ..Self::default()
        }
    }

    /// What a fork begins with whose origin is gone: nothing, and that is said.
    #[must_use]
    pub fn orphaned() -> Self {
        Self { origin_gone: true, ..Self::default() }
    }

    /// What a person's fork begins with that was cut from this conversation: all that was said, and the
    /// open turn, which stays open. Its next request begins with the same bytes. Calls that were started
    /// stay with `origin`. Queue, driver, commands and undos are its own, and it has to ask for what was
    /// allowed for this conversation only.
    #[must_use]
    pub fn branched(mut self, origin: &ForkOrigin) -> Self {
        if let Some(turn) = self.open_turn_mut() {
            turn.leave_to(origin);
        }
        Self {
            origin_gone: self.origin_gone,
            turn_gone: self.turn_gone,
            config: self.config.of_branch(),
            turns: self.turns,
            superseded: self.superseded,
            overlay: self.overlay,
            summing: self.summing.kept(),
            calibration: self.calibration,
            frames: self.frames,
            prompted: self.prompted,
            // The files are as they are, whichever conversation says so.
            untold: self.untold,
            context_estimated: self.context_estimated,
            touched: self.touched,
            past: self.past,
            rewrites: self.rewrites,
            ..Self::default()
        }
    }
}

impl State {
    /// Keeps in mind that a turn which an event goes on with is gone with the origin, so that its number is not
    /// given again.
    pub(super) fn miss_turn_of(&mut self, event: &Event) {
        self.turn_gone = self.turn_gone.max(turn_of(event));
    }
}

/// The turn that an event goes on with; zero if it does not say.
fn turn_of(event: &Event) -> TurnId {
    if let Event::TurnResumed { turn }
    | Event::TurnEnded { turn, .. }
    | Event::TurnBroke { turn, .. } = event
    {
        return *turn;
    }
    if let Event::ToolStarted { call, .. } | Event::ToolFinished { call, .. } = event {
        return call.turn;
    }
    TurnId::default()
}

impl Turn {
    /// The work of its calls stays with the conversation that began it. What stood at a question in front
    /// of everything may be answered otherwise here.
    fn leave_to(&mut self, origin: &ForkOrigin) {
        self.lose_what_is_in_flight();
        let ForkOrigin { conversation, through } = origin;
        let mut left = Vec::new();
        for call in self.steps_mut().flat_map(|step| &mut step.calls) {
            if let Progress::InDoubt(started) = &mut call.progress {
                let (conversation, through) = (conversation.clone(), *through);
                started.handle = Handle::Origin { conversation, through };
                left.push(call.id);
            }
        }
        // They ask whether to run it again.
        self.inquiries.retain(|raised| {
            raised.inquiry.kind != InquiryKind::InDoubt || !left.contains(&raised.inquiry.call)
        });
    }
}

impl Config {
    /// The same without what was allowed for one conversation.
    fn of_branch(mut self) -> Self {
        let Permissions { mode, rules, directories, .. } = &mut self.permissions;
        *mode = match mode {
            PermissionMode::AcceptEdits | PermissionMode::Auto => PermissionMode::Ask,
            PermissionMode::Plan | PermissionMode::ReadOnly | PermissionMode::Ask => *mode,
        };
        rules.retain(|rule: &PermissionRule| rule.scope != RuleScope::Conversation);
        directories.clear();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Entry;
    use crate::id::{Seq, Timestamp};

    #[test]
    fn the_number_of_a_turn_that_is_gone_is_not_given_again() {
        let mut state = State::orphaned();
        let mut apply = |seq, event| {
            state.apply(&Entry { seq: Seq(seq), at: Timestamp(0), event });
            state.next_turn().0
        };
        assert_eq!(apply(1, Event::TurnResumed { turn: TurnId(4) }), 5);
        let end = TurnEnd::Completed;
        assert_eq!(apply(2, Event::TurnEnded { turn: TurnId(4), end }), 5);
        assert_eq!(apply(3, Event::TurnStarted { turn: TurnId(5), agent: None }), 6);
    }
}
