//! Commands about summaries.

use super::{Leave, Performing, Plan, Then};
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

pub(super) fn compact(state: &State, focus: Option<&str>, performing: Performing) -> Plan {
    let focus = focus.map(str::trim).filter(|focus| !focus.is_empty());
    let Some(cut) = cut::possible(state) else { return refuse(NOTHING_THERE) };
    if focus.is_none() && cut <= state.cut() {
        return refuse(NOTHING_NEW);
    }
    if focus.is_none() && !cut::shrinks(state, cut) {
        return refuse(NO_GAIN);
    }
    let open = state.open_turn().filter(|turn| turn.broke.is_none());
    let left = open.filter(|_| performing == Performing::Nobody).map(|turn| Event::TurnBroke {
        turn: turn.id,
        reason: BreakReason::Interrupted,
        message: LEFT.into(),
    });
    let wanted = Event::SummaryWanted { focus: focus.map(Into::into) };
    let then = match performing {
        Performing::Now => Then::Rest,
        Performing::Nobody => Then::Run,
    };
    Plan::Record { leave: Leave::Nothing, facts: left.into_iter().chain([wanted]).collect(), then }
}

pub(super) fn uncompact(state: &State, performing: Performing) -> Plan {
    match (performing, &state.overlay) {
        (_, None) => refuse(NO_SUMMARY),
        (Performing::Now, Some(_)) => Plan::Refuse(Refusal::Running),
        (Performing::Nobody, Some(_)) => {
            let facts = vec![Event::SummaryLifted];
            Plan::Record { leave: Leave::Nothing, facts, then: Then::Rest }
        }
    }
}

pub(super) fn stop(state: &State) -> Plan {
    if state.summing.asked.is_none() {
        return Plan::Refuse(Refusal::NotRunning);
    }
    let (why, message, usage) = (SummaryFault::Stopped, String::new(), Usage::default());
    let facts = vec![Event::SummaryFailed { why, message, usage }];
    Plan::Record { leave: Leave::Nothing, facts, then: Then::Rest }
}

fn refuse(message: &str) -> Plan {
    Plan::Refuse(Refusal::Impossible { message: message.into() })
}
