//! What to do next: the only place with loop control flow.
//!
//! A pure function of the folded journal. There is no mode for resuming: a driver that starts on a
//! half-done turn asks the same question as one that is in the middle of it.

pub mod calls;
pub mod permission;

use self::calls::next_for_calls;
use crate::action::{Action, Wish};
use crate::budget;
use crate::coordinate::{is_to_plan, plan};
use crate::cut;
use crate::event::{BreakReason, CostLimit, Cut, FailureClass, FinishReason, Limits, QueuePlace};
use crate::id::Attempt;
use crate::repair::{self, REPAIRS_MAX};
use crate::retry::{EMPTIES_MAX, asks_too_much, next_try, wait_in_words};
use crate::shorten;
use crate::state::{Call, Exchange, Failure, Item, Progress, State, Step, Turn};
use crate::summarise;

/// What to do about a request that is too large when all that can be shortened is.
const NOTHING_TO_SHORTEN: &str = "nothing is left to shorten: go on with a model that takes more, or \
     begin a new conversation";
/// Most requests of one step that a provider may refuse as too large.
const OVERFLOWS_MAX: u32 = 3;
/// So many summaries, with fewer steps than that from the first to the last of them, lead nowhere.
const SUMMARIES_MAX: u32 = 3;

/// Decides what to do next.
pub fn decide(state: &State, wish: Wish) -> Action {
    if let Some(action) = next_for_summary(state, wish) {
        return action;
    }
    let Some(turn) = state.open_turn() else {
        return match (wish, state.queue.first()) {
            (Wish::Proceed, Some(queued)) if state.may_drain() => {
                Action::StartQueued(queued.message.clone())
            }
            (Wish::Proceed | Wish::Interrupt, _) => Action::Rest,
        };
    };
    if turn.broke.is_some() {
        return Action::Rest;
    }
    if wish == Wish::Interrupt {
        return if is_in_flight(turn) {
            Action::Cancel
        } else {
            stop(BreakReason::Interrupted, "interrupted")
        };
    }
    let injected = matches!(turn.items.last(), Some(Item::User(_)));
    // Behind an injected message, the step before it may still have calls without an end.
    if let Some(step) = turn.steps().next_back()
        && (injected || step.answer.is_some())
        && let Some(action) = next_for_calls(state, turn, step, injected)
    {
        return action;
    }
    match turn.items.last() {
        // A turn that has not even a message yet: the commit that began it was cut by a bug, not
        // by a crash, because both are one commit. There is nothing to answer.
        None => stop(BreakReason::Limit, "the turn has no message"),
        Some(Item::User(_)) => ask(state, turn, Attempt::FIRST),
        Some(Item::Step(step)) => next_for_step(state, turn, step),
    }
}

/// A summary that is awaited, or that a person wants while no turn is performed.
fn next_for_summary(state: &State, wish: Wish) -> Option<Action> {
    let turn = state.open_turn().filter(|turn| turn.broke.is_none());
    match (wish, turn) {
        (Wish::Proceed, _) if state.summing.asked.is_some() => Some(Action::Await),
        (Wish::Interrupt, None) if state.summing.asked.is_some() => Some(Action::LeaveSummary),
        (Wish::Proceed, None) => cut::wanted(state).map(|cut| sum_up(state, cut)),
        // In a turn that is performed, it waits for the next request.
        (Wish::Proceed | Wish::Interrupt, _) => None,
    }
}

/// A summary over everything before a cut: first what a model writes of it, part by part.
fn sum_up(state: &State, cut: Cut) -> Action {
    summarise::next(state, cut).map_or(Action::Compact(cut), Action::SumUp)
}

/// Whether tools run. A request in flight need not be waited for: dropping it has no effect.
fn is_in_flight(turn: &Turn) -> bool {
    let runs = |call: &Call| matches!(call.progress, Progress::Running(_));
    turn.steps().flat_map(|step| &step.calls).any(runs)
}

fn next_for_step(state: &State, turn: &Turn, step: &Step) -> Action {
    match (step.exchange, &step.answer, &step.failure) {
        (Exchange::Asked, _, _) => Action::Await,
        (Exchange::Failed, None, Some(failure)) => after_failure(state, turn, step, failure),
        (_, Some(_), _) if step.is_final() && is_to_plan(turn) => Action::Plan(plan(turn, step)),
        (_, Some(_), _) if step.is_final() => Action::Complete,
        (_, Some(answer), _) if !resumed_behind(turn) => match answer.finish {
            FinishReason::Refused => stop(BreakReason::ApiError, "the model refused to answer"),
            FinishReason::Length if step.calls.is_empty() && answer.dropped.is_empty() => {
                stop(BreakReason::Limit, "the answer was cut off by the output limit")
            }
            FinishReason::Length | FinishReason::Stop | FinishReason::ToolCalls => {
                ask(state, turn, Attempt::FIRST)
            }
        },
        (_, Some(_), _) => ask(state, turn, Attempt::FIRST),
        (_, None, Some(failure)) if budget::is_refused(state, step) => {
            make_room(state, &failure.message)
        }
        (Exchange::Quiet | Exchange::Failed | Exchange::Answered, None, _) => {
            ask(state, turn, step.attempt.next())
        }
    }
}

/// Whether allowances were granted after the last answer: somebody wants it to go on.
fn resumed_behind(turn: &Turn) -> bool {
    turn.steps_used == 0
}

fn after_failure(state: &State, turn: &Turn, step: &Step, failure: &Failure) -> Action {
    let limits = &state.config.limits;
    if failure.class == FailureClass::Empty {
        return if step.empties <= EMPTIES_MAX {
            ask(state, turn, step.attempt.next())
        } else {
            stop(BreakReason::EmptyAnswer, "the model answered with nothing, twice")
        };
    }
    if failure.class == FailureClass::ContextOverflow {
        return if step.overflows <= OVERFLOWS_MAX {
            make_room(state, &failure.message)
        } else {
            stop(BreakReason::Limit, &with_largest(state, &failure.message))
        };
    }
    if let Some(rejected) = &failure.rejected {
        let steps = repair::plan(state, step, rejected);
        return if steps.is_empty() || REPAIRS_MAX <= step.repairs {
            stop(BreakReason::ApiError, &failure.message)
        } else {
            Action::Repair(steps)
        };
    }
    match next_try(step, limits) {
        Some(at) => Action::AskModel {
            step: step.number,
            attempt: step.attempt.next(),
            not_before: Some(at),
        },
        None => match asks_too_much(failure, limits).map(wait_in_words) {
            Some(wait) => {
                let message = format!("{}; the provider asks to wait {wait}", failure.message);
                stop(BreakReason::ApiError, &message)
            }
            None => stop(BreakReason::ApiError, &gave_up(step, failure)),
        },
    }
}

/// What is said when nobody tries any more.
fn gave_up(step: &Step, failure: &Failure) -> String {
    let waited_ms = step.outage.map_or(0, |outage| outage.until.ms_since(outage.since));
    match waited_ms {
        0 => failure.message.clone(),
        ms => format!("{}; it was waited for, {}", failure.message, wait_in_words(ms)),
    }
}

/// A model request, unless a limit stands against it.
fn ask(state: &State, turn: &Turn, attempt: Attempt) -> Action {
    let limits = &state.config.limits;
    if 0 < limits.steps_max && limits.steps_max <= turn.steps_used {
        let message = match turn.steps_used {
            1 => "1 step was used".to_owned(),
            used => format!("{used} steps were used"),
        };
        return stop(BreakReason::MaxSteps, &message);
    }
    if let Some(message) = overspent(turn, limits) {
        return stop(BreakReason::Limit, &message);
    }
    if let Some(message) = budget::too_small_a_window(state) {
        return stop(BreakReason::Limit, &message);
    }
    if let Some(cut) = cut::wanted(state) {
        return sum_up(state, cut);
    }
    if budget::is_over(state) {
        return make_room(state, "the conversation is larger than the context budget");
    }
    // Who steers a turn is heard before its next request.
    match state.queue.iter().find(|queued| queued.place == QueuePlace::Steer) {
        Some(queued) => Action::Steer(queued.message.clone()),
        None => Action::AskModel { step: turn.next_step(), attempt, not_before: None },
    }
}

/// What a turn has used too much of: tokens, or money.
fn overspent(turn: &Turn, limits: &Limits) -> Option<String> {
    let tokens = turn.spent.total();
    if 0 < limits.tokens_max && limits.tokens_max < tokens {
        return Some(format!("{tokens} tokens were used, {} are allowed", limits.tokens_max));
    }
    let CostLimit { microdollars_max, price } = limits.cost?;
    let cost = price.cost(turn.spent);
    let is_over = microdollars_max < cost;
    is_over.then(|| {
        // A table of prices says so; what providers bill may differ.
        format!("it cost ≈{}, {} is allowed", dollars(cost), dollars(microdollars_max))
    })
}

/// Money in words, from millionths of a dollar.
fn dollars(millionths: u64) -> String {
    let text = format!("${}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    let short = text.trim_end_matches('0');
    text.get(..short.len().max(text.len() - 4)).unwrap_or(&text).to_owned()
}

/// Makes the next request smaller, in the way that costs least. Every way leaves less to send than there
/// was, so this comes to an end.
fn make_room(state: &State, why: &str) -> Action {
    if let Some(outputs) = shorten::old_outputs(state) {
        return Action::Shorten(outputs);
    }
    if let Some(cut) = cut::plan(state) {
        return if state.open_turn().is_some_and(is_thrashing) {
            let why = format!("{why}, and summing up does not help any more");
            stop(BreakReason::Limit, &with_largest(state, &why))
        } else {
            sum_up(state, cut)
        };
    }
    match shorten::all_outputs(state) {
        Some(outputs) => Action::Shorten(outputs),
        None => stop(BreakReason::Limit, &with_largest(state, why)),
    }
}

/// Whether the last summaries bought hardly a step.
fn is_thrashing(turn: &Turn) -> bool {
    // The next one would be the last of them.
    let known = usize::try_from(SUMMARIES_MAX).unwrap_or(usize::MAX) - 1;
    let first = turn.summed_up.iter().rev().nth(known - 1);
    first.is_some_and(|first| turn.steps_counted < first.saturating_add(SUMMARIES_MAX))
}

/// Why a turn stops whose request is too large, with what to do, and what is large.
fn with_largest(state: &State, why: &str) -> String {
    match budget::largest(state) {
        Some(largest) => format!("{why}; {largest}; {NOTHING_TO_SHORTEN}"),
        None => format!("{why}; {NOTHING_TO_SHORTEN}"),
    }
}

fn stop(reason: BreakReason, message: &str) -> Action {
    Action::Break { reason, message: message.into() }
}
