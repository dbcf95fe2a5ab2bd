//! What a summary is to cover: everything before a tail that stays as it is (D14, D16, D17, X11).
//!
//! A cut is made between turns, or between finished steps of the open turn. So a call and its result are
//! never on both sides of it.

use std::sync::Arc;

use crate::budget::{Budget, letters, measure, part};
use crate::event::{AnswerPart, ContextItem, Event, TurnEnd, UserPart};
use crate::id::{StepId, TurnId};
use crate::recap::{self, Look};
use crate::state::{Cut, Said, State, Step, Turn};
use crate::transcript::Transcript;

/// Most messages that stay behind the cut.
const TAIL_MESSAGES_MAX: u64 = 8;
/// Of the budget, how much may stay behind the cut.
const TAIL_PERCENT: u64 = 10;
/// Of a request, how much a summary must free to be worth its cost.
const WORTH_PERCENT: u64 = 10;
/// Of a request, how large the next one may be if what a model wrote is in it.
const SUMMED_UP_PERCENT: u64 = 90;

/// The cut to make, if one frees enough: with the usual tail, else with the last finished step alone.
pub fn plan(state: &State) -> Option<Cut> {
    let cuts = [usual(state), shortest(state)];
    cuts.into_iter().find(|cut| state.cut() < *cut && frees(state, *cut))
}

/// The cut that covers most, whatever it frees, if it covers more than the present one.
pub fn widest(state: &State) -> Option<Cut> {
    Some(shortest(state)).filter(|cut| state.cut() < *cut)
}

/// The cut that a person wants, who does not wait until room is needed.
pub fn wanted(state: &State) -> Option<Cut> {
    state.summing.wanted.as_ref().and_then(|_| possible(state))
}

/// The cut that a person can want: the usual tail stays.
pub fn possible(state: &State) -> Option<Cut> {
    Some(usual(state).max(state.cut())).filter(|cut| *cut != Cut::default())
}

/// Whether requests are smaller behind a summary from the journal alone.
pub(crate) fn shrinks(state: &State, cut: Cut) -> bool {
    freed(state, cut) != 0
}

/// The fact that a summary lies over everything before a cut. What a model wrote goes along if that is worth
/// its room.
pub fn lay(state: &State, cut: Cut, look: &Look) -> Event {
    let tokens_before = Transcript::from(state).tokens_estimated();
    let (freed, divisor) = (covered_letters(state, cut), state.config.limits.divisor());
    let after = |summary: &str| {
        let added = letters(summary) / divisor;
        tokens_before.saturating_sub(freed / divisor).saturating_add(added)
    };
    let pieces = state.pieces_within(cut);
    let mut made = (recap::with_pieces(state, cut, look), pieces.len());
    // Who wants one that tells something else does not want it smaller.
    let is_wanted = state.summing.wanted.is_some();
    if made.1 != 0 && !is_wanted && part(tokens_before, SUMMED_UP_PERCENT) <= after(&made.0) {
        made = (recap::text(state, cut, look), 0);
    }
    let (summary, pieces) = made;
    let (tokens_after, pieces) = (after(&summary), u32::try_from(pieces).unwrap_or(u32::MAX));
    let (summary, Cut { through, within }): (Arc<str>, _) = (summary.into(), cut);
    Event::SummaryLaid { summary, through, within, tokens_before, tokens_after, pieces }
}

/// How large something is that is sent.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    messages: u64,
    letters: u64,
}

impl Size {
    fn plus(self, other: Self) -> Self {
        Self {
            messages: self.messages.saturating_add(other.messages),
            letters: self.letters.saturating_add(other.letters),
        }
    }

    fn of_step(step: &Step) -> Self {
        let answer = step.answer.as_ref().map(|answer| &*answer.parts).unwrap_or_default();
        let said: usize = answer.iter().map(AnswerPart::letters).sum();
        let gave: u64 =
            step.calls.iter().filter_map(|call| call.output_sent()).map(|it| letters(it)).sum();
        let messages = if step.calls.is_empty() { 1 } else { 2 };
        Self { messages, letters: gave.saturating_add(u64::try_from(said).unwrap_or(u64::MAX)) }
    }

    fn of_said(said: &Said) -> Self {
        let texts = said.parts.iter().filter_map(|part| match part {
            UserPart::Text { text } | UserPart::InlinedFile { text, .. } => Some(letters(text)),
            UserPart::File { .. } => None,
        });
        Self { messages: 1, letters: texts.sum() }
    }

    fn of_turn(turn: &Turn) -> Self {
        let steps = turn.steps().map(Self::of_step);
        turn.said().map(Self::of_said).chain(steps).fold(Self::default(), Self::plus)
    }
}

/// The tail: as many finished steps of the open turn as fit, and if all of them do, whole turns before it.
fn usual(state: &State) -> Cut {
    let most = part(measure(state), TAIL_PERCENT).min(Budget::of(state).aim);
    let most = most.saturating_mul(state.config.limits.divisor());
    let fits = |size: Size| size.messages <= TAIL_MESSAGES_MAX && size.letters <= most;
    let mut kept = Size::default();
    let finished: Vec<&Step> = finished(state).collect();
    for (place, step) in finished.iter().enumerate().rev() {
        kept = kept.plus(Size::of_step(step));
        let is_last = place + 1 == finished.len();
        if !is_last && !fits(kept) {
            return Cut { through: last_closed(state), within: within(state, step) };
        }
    }
    let closed = state.turns.iter().rev().filter(|turn| turn.end.is_some());
    for turn in closed {
        let is_hidden = turn.end == Some(TurnEnd::Discarded);
        kept = if is_hidden { kept } else { kept.plus(Size::of_turn(turn)) };
        if !fits(kept) {
            return Cut { through: turn.id, within: None };
        }
    }
    Cut::default()
}

/// The tail is the last finished step.
fn shortest(state: &State) -> Cut {
    let before_last = finished(state).rev().nth(1);
    let within = before_last.and_then(|step| within(state, step));
    Cut { through: last_closed(state), within }
}

/// The finished steps of the open turn that are sent.
fn finished(state: &State) -> impl DoubleEndedIterator<Item = &Step> {
    let turn = state.open_turn();
    let steps = turn.into_iter().flat_map(|turn| turn.steps().map(move |step| (turn, step)));
    let is_over = |step: &Step| step.answer.is_some() && step.is_settled();
    let sent = steps.filter(move |(turn, step)| is_over(step) && !state.covers(turn, step));
    sent.map(|(_, step)| step)
}

/// The cut behind a step, if all before it is over.
fn within(state: &State, step: &Step) -> Option<StepId> {
    let turn = state.open_turn()?;
    let mut before = turn.steps().take_while(|it| it.number <= step.number);
    before.all(Step::is_settled).then_some(StepId { turn: turn.id, step: step.number })
}

fn last_closed(state: &State) -> TurnId {
    let closed = state.turns.iter().rev().find(|turn| turn.end.is_some());
    closed.map_or(TurnId(0), |turn| turn.id)
}

/// Letters that requests no longer carry behind a cut. What was told and counts stays beside the summary.
fn covered_letters(state: &State, cut: Cut) -> u64 {
    let old = state.overlay.as_ref().map_or(0, |overlay| {
        letters(&overlay.summary).saturating_add(told_letters(&overlay.context))
    });
    let turns = state.turns.iter().filter(|turn| state.is_sent(turn));
    let covered = turns.map(|turn| {
        let steps = turn
            .steps()
            .filter(|step| cut.has_step(turn.id, step.number) && !state.covers(turn, step));
        let steps = steps.map(Size::of_step);
        let whole = cut.has_turn(turn.id);
        let said = turn.said().filter(|_| whole).map(Size::of_said);
        let told = if whole { told_letters(&turn.context) } else { 0 };
        steps.chain(said).fold(Size::default(), Size::plus).letters.saturating_add(told)
    });
    let covered = covered.fold(old, u64::saturating_add);
    covered.saturating_sub(told_letters(&state.context_within(cut)))
}

fn told_letters(items: &[ContextItem]) -> u64 {
    items.iter().filter_map(|item| item.text.as_deref()).map(letters).sum()
}

/// Whether the request shrinks enough.
fn frees(state: &State, cut: Cut) -> bool {
    let before = Transcript::from(state).tokens_estimated();
    let freed = freed(state, cut);
    0 < freed && part(before, WORTH_PERCENT) <= freed
}

/// Tokens that a summary from the journal alone frees.
fn freed(state: &State, cut: Cut) -> u64 {
    let text = letters(&recap::text(state, cut, &Look::default()));
    covered_letters(state, cut).saturating_sub(text) / state.config.limits.divisor()
}
