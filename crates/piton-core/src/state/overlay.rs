//! The summary that lies over the oldest part of a conversation. What it covers stays in the journal.

use std::sync::Arc;

use super::{State, Step, Turn};
pub use crate::event::Cut;
use crate::event::{ContextItem, Event, SummaryFault, TurnEnd};
use crate::id::{StepId, Timestamp, TurnId};

/// A summary in place of the oldest part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// What the model sees.
    pub summary: Arc<str>,
    /// What it covers.
    pub cut: Cut,
    /// What piton told with the turns that it covers and that counts. It stands beside the summary, as it was
    /// told, so that the model always sees the instructions that count.
    pub context: Vec<ContextItem>,
    /// How many parts of it a model wrote.
    pub pieces: u32,
    /// Why the model was of no use for it, if it was not.
    pub fault: Option<SummaryFault>,
    /// Estimated size of the next request before it was made, in tokens; 0 if nobody said.
    pub tokens_before: u64,
    /// And behind it.
    pub tokens_after: u64,
    /// When it was made.
    pub at: Timestamp,
}

impl Overlay {
    /// What an entry says of a summary that is laid; the context follows from what it covers.
    pub(super) fn of(event: &Event, at: Timestamp) -> Option<Self> {
        if let Event::Compacted { summary, through } = event {
            let (summary, cut) = (summary.clone(), Cut { through: *through, within: None });
            return Some(Self {
                summary,
                cut,
                context: Vec::new(),
                pieces: 0,
                fault: None,
                tokens_before: 0,
                tokens_after: 0,
                at,
            });
        }
        let Event::SummaryLaid { summary, through, within, tokens_before, tokens_after, pieces } =
            event
        else {
            return None;
        };
        Some(Self {
            summary: summary.clone(),
            cut: Cut { through: *through, within: *within },
            context: Vec::new(),
            pieces: *pieces,
            fault: None,
            tokens_before: *tokens_before,
            tokens_after: *tokens_after,
            at,
        })
    }
}

/// Most summaries of a turn that are remembered for the bound on them.
const SUMMARIES_KEPT: usize = 2;

impl State {
    /// What the summary covers; nothing without one.
    pub fn cut(&self) -> Cut {
        self.overlay.as_ref().map(|overlay| overlay.cut).unwrap_or_default()
    }

    /// Whether requests carry a turn: it is neither discarded nor covered whole by a summary.
    pub(crate) fn is_sent(&self, turn: &Turn) -> bool {
        turn.end != Some(TurnEnd::Discarded) && !self.cut().has_turn(turn.id)
    }

    /// Whether a summary stands for a step.
    pub(crate) fn covers(&self, turn: &Turn, step: &Step) -> bool {
        self.cut().has_step(turn.id, step.number)
    }

    /// The steps that requests carry, oldest first, with their turns.
    pub(crate) fn steps_sent(&self) -> impl Iterator<Item = (&Turn, &Step)> {
        let turns = self.turns.iter().filter(|turn| self.is_sent(turn));
        let steps = turns.flat_map(|turn| turn.steps().map(move |step| (turn, step)));
        steps.filter(|(turn, step)| !self.covers(turn, step))
    }

    /// A summary is laid. It covers at least what the one before did, only what has happened, and never
    /// the last finished step of the open turn: that is what the model works on.
    pub(super) fn cover(&mut self, overlay: Overlay) -> bool {
        let cut = overlay.cut;
        let grows = self.cut() <= cut;
        let is_closed = |turn: &Turn| turn.end.is_some();
        let known = self.turns.iter().find(|turn| turn.id == cut.through);
        let whole = known.map_or(cut.through == TurnId(0), is_closed);
        let behind = cut.within.is_none_or(|last| self.may_cover(cut, last));
        let empty = cut == Cut::default();
        if !grows || !whole || !behind || empty {
            return false;
        }
        self.summing.laid(Some(overlay.tokens_after).filter(|tokens| *tokens != 0));
        let (fault, context) = (self.summing.fault.take(), self.context_within(cut));
        self.overlay = Some(Overlay { context, fault, ..overlay });
        // A request that was too large is another one now.
        if let Some(turn) = self.open_turn_mut() {
            turn.forgive_overflow();
            turn.summed_up.push(turn.steps_counted);
            let old = turn.summed_up.len().saturating_sub(SUMMARIES_KEPT);
            turn.summed_up.drain(..old);
        }
        true
    }

    fn may_cover(&self, cut: Cut, last: StepId) -> bool {
        let Some(turn) = self.turns.iter().find(|turn| turn.id == last.turn) else { return false };
        let is_over = |step: &Step| step.answer.is_some() && step.is_settled();
        let covered = || turn.steps().filter(|step| step.number <= last.step);
        let kept = turn.steps().any(|step| last.step < step.number && is_over(step));
        let named = turn.steps().any(|step| step.number == last.step);
        cut.through < turn.id && named && kept && covered().all(Step::is_settled)
    }

    /// A summary over this turn tells of an attempt that is given up, and would hide its message.
    pub(super) fn uncover(&mut self, turn: TurnId) {
        self.overlay.take_if(|overlay| turn <= overlay.cut.last_turn());
        self.summing.forget_from(turn);
    }
}
