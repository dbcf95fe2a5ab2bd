//! What commands about summaries record, or why they are refused.

use crate::cut;
use crate::event::{BreakReason, Event, Refusal, SummaryFault, Usage};
use crate::state::State;

const NOTHING_THERE: &str = "there is nothing to sum up yet: the newest messages stay as they are";
const NOTHING_NEW: &str = "everything but the newest messages is summed up already; name a focus to have \
     it summed up anew";
const NO_GAIN: &str = "a summary would not be shorter than what it stands for";
const NO_SUMMARY: &str = "no summary lies over this conversation";
/// What is said of a turn that nobody performs, and that is not to go on because of a summary.
const LEFT: &str = "nobody was working on it";

/// Why there is nothing to sum up, in words for people; none if there is something.
pub fn nothing_to_sum_up(state: &State, focus: Option<&str>) -> Option<&'static str> {
    let has_focus = focus.is_some_and(|focus| !focus.trim().is_empty());
    match cut::possible(state) {
        None => Some(NOTHING_THERE),
        Some(cut) if !has_focus && cut <= state.cut() => Some(NOTHING_NEW),
        Some(cut) if !has_focus && !cut::shrinks(state, cut) => Some(NO_GAIN),
        Some(_) => None,
    }
}

/// A person wants a summary.
pub(super) fn wanted(state: &State, focus: Option<&str>) -> Result<Event, Refusal> {
    if let Some(message) = nothing_to_sum_up(state, focus) {
        return Err(impossible(message));
    }
    let focus = focus.map(str::trim).filter(|focus| !focus.is_empty());
    Ok(Event::SummaryWanted { focus: focus.map(Into::into) })
}

/// An open turn that nobody performs stays as it is.
pub(super) fn left(state: &State) -> Option<Event> {
    let turn = state.open_turn().filter(|turn| turn.broke.is_none())?.id;
    let (reason, message) = (BreakReason::Interrupted, LEFT.into());
    Some(Event::TurnBroke { turn, reason, message })
}

/// A person takes the summary off.
pub(super) fn lifted(state: &State) -> Result<Event, Refusal> {
    state.overlay.as_ref().map(|_| Event::SummaryLifted).ok_or_else(|| impossible(NO_SUMMARY))
}

/// A person does not wait for the model.
pub(super) fn stopped(state: &State) -> Result<Event, Refusal> {
    let (why, message, usage) = (SummaryFault::Stopped, String::new(), Usage::default());
    let stopped = Event::SummaryFailed { why, message, usage };
    state.summing.asked.map(|_| stopped).ok_or(Refusal::NotRunning)
}

fn impossible(message: &str) -> Refusal {
    Refusal::Impossible { message: message.into() }
}
