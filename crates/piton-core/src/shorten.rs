//! Outputs of tools that are too large to be sent again: which ones to shorten, and to what.
//!
//! Old outputs go first, many at once: every change of the past costs the prompt cache and the native
//! blocks behind it. The newest ones are what the model is working on, so they are touched last, and keep
//! more. Each round sends less than the one before, so there is an end to it.

use std::sync::Arc;

use crate::budget::{letters, measure, part};
use crate::event::{Outcome, ShortOutput};
use crate::recall::RECALL;
use crate::state::{Call, Progress, State, Step};
use crate::summary::input_summary;
use crate::tasks::UPDATE_PLAN;

/// Longest output that is never shortened, in characters.
const KEPT_CHARS_MAX: u64 = 500;
/// What stays of each end of an old output, in characters.
const OLD_END_CHARS: usize = 150;
/// What stays of each end of an output of the last step, in characters.
const NEW_END_CHARS: usize = 2_000;
/// Of the budget, how much of the newest outputs stays whole.
const NEWEST_PERCENT: u64 = 25;
/// Most of the newest outputs that stay whole, in tokens.
const NEWEST_TOKENS_MAX: u64 = 40_000;
/// Of the budget, how much a round must free to be worth its cost.
const WORTH_PERCENT: u64 = 10;
/// Tools whose outputs are words of a person, or rules that count on.
const KEPT_TOOLS: [&str; 2] = ["ask_user", "skill"];

/// The old outputs to shorten, if that frees enough to be worth it.
pub(crate) fn old_outputs(state: &State) -> Option<Vec<ShortOutput>> {
    let (measure, divisor) = (measure(state), state.config.limits.divisor());
    let newest = part(measure, NEWEST_PERCENT).min(NEWEST_TOKENS_MAX).saturating_mul(divisor);
    let plan = newest_plan(state);
    let mut seen = 0_u64;
    let is_old = |call: &&Call| {
        // It can be looked for again, and the journal has it twice.
        if &*call.name == RECALL {
            return true;
        }
        let size = call.output_sent().map_or(0, |sent| letters(sent));
        seen = seen.saturating_add(size);
        newest < seen
    };
    let mut calls: Vec<&Call> = calls_sent(state).collect();
    calls.reverse();
    let old = calls.into_iter().filter(is_old);
    let old = old.filter(|call| is_last(state, call).is_none() && may_shrink(call));
    let old = old.filter(|call| Some(call.id) != plan);
    let mut found: Vec<_> = old.filter_map(|call| shortened(state, call, OLD_END_CHARS)).collect();
    found.reverse();
    let freed = found.iter().map(|(_, less)| *less).fold(0, u64::saturating_add) / divisor;
    let worth = 0 < freed && part(measure, WORTH_PERCENT) <= freed;
    worth.then(|| found.into_iter().map(|(output, _)| output).collect())
}

/// All outputs that can still be shortened: the last resort. The last step keeps more of its own, until
/// that is too much, too.
pub(crate) fn all_outputs(state: &State) -> Option<Vec<ShortOutput>> {
    let ends = |call: &Call| match is_last(state, call) {
        Some(_) => NEW_END_CHARS,
        None => OLD_END_CHARS,
    };
    let all = calls_sent(state).filter_map(|call| shortened(state, call, ends(call)));
    let mut outputs: Vec<_> = all.map(|(output, _)| output).collect();
    if outputs.is_empty() {
        let all = calls_sent(state).filter_map(|call| shortened(state, call, OLD_END_CHARS));
        outputs.extend(all.map(|(output, _)| output));
    }
    (!outputs.is_empty()).then_some(outputs)
}

/// Calls of all steps that are sent, oldest first.
fn calls_sent(state: &State) -> impl Iterator<Item = &Call> {
    state.steps_sent().flat_map(|(_, step)| &step.calls)
}

/// The last step of the open turn with calls, if a call is one of its: what the model looks at next.
fn is_last<'a>(state: &'a State, call: &Call) -> Option<&'a Step> {
    let last = state.open_turn()?.steps().rev().find(|step| !step.calls.is_empty())?;
    last.calls.iter().any(|known| known.id == call.id).then_some(last)
}

/// The call that made the newest plan.
fn newest_plan(state: &State) -> Option<crate::id::CallId> {
    calls_sent(state).filter(|call| &*call.name == UPDATE_PLAN).map(|call| call.id).last()
}

/// Failures are short, and worth remembering.
fn may_shrink(call: &Call) -> bool {
    let is_ok = matches!(&call.progress, Progress::Done(ended) if ended.outcome == Outcome::Ok);
    is_ok && !KEPT_TOOLS.contains(&&*call.name)
}

/// What is sent of an output instead, and how many letters that frees.
fn shortened(state: &State, call: &Call, end_chars: usize) -> Option<(ShortOutput, u64)> {
    let Progress::Done(ended) = &call.progress else { return None };
    let sent = letters(call.output_sent()?);
    if sent <= KEPT_CHARS_MAX {
        return None;
    }
    let again = match state.config.tool(RECALL).filter(|_| &*call.name != RECALL) {
        Some(_) => format!(", or read entry {} with {RECALL}", call.id),
        None => String::new(),
    };
    let text = text(call, &ended.output.text, end_chars, &again);
    let less = sent.checked_sub(letters(&text)).filter(|less| 0 < *less)?;
    Some((ShortOutput { call: call.id, text }, less))
}

fn text(call: &Call, output: &str, end_chars: usize, again: &str) -> Arc<str> {
    let what = input_summary(&call.name, &call.arguments);
    let (id, bytes) = (call.id, output.len());
    let begin: String = output.chars().take(end_chars).collect();
    let mut end: Vec<char> = output.chars().rev().take(end_chars).collect();
    end.reverse();
    let end: String = end.into_iter().collect();
    format!(
        "[Shortened to make room: {what} (call {id}) gave {bytes} bytes, of which only the beginning and \
         the end follow. If you need more of it, look again at that part alone{again}.]\n{begin}\n[…]\n{end}"
    )
    .into()
}
