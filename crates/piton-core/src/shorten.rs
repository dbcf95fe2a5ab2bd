//! Outputs of tools that are too large to be sent again: which ones to shorten, and to what.
//!
//! Old outputs go first, oldest before newer, many at once: every change of the past costs the prompt
//! cache and the native blocks behind it. The newest ones are what the model is working on, so they are
//! touched last, and keep more. Each round sends less than the one before, so there is an end to it.

use std::sync::Arc;

use crate::event::{Outcome, ShortOutput, TurnEnd};
use crate::state::{Call, Progress, State, Step, Turn};
use crate::summary::input_summary;
use crate::transcript::{LETTERS_PER_TOKEN, Transcript};

/// Longest output that is never shortened, in bytes.
const KEPT_BYTES_MAX: usize = 1_000;
/// What stays of each end of an old output, in characters.
const OLD_END_CHARS: usize = 150;
/// What stays of each end of an output of the last step, in characters.
const NEW_END_CHARS: usize = 2_000;
/// Of the size that a request must get below, how much the shortened one aims at.
const GOAL_PERCENT: u64 = 70;
/// Of the size of a request, how much a round must free to be worth its cost.
const WORTH_PERCENT: u64 = 10;

/// The old outputs to shorten, if that frees enough to be worth it.
pub(crate) fn old_outputs(state: &State) -> Option<Vec<ShortOutput>> {
    let size = Transcript::from(state).tokens_estimated().saturating_mul(LETTERS_PER_TOKEN);
    let budget = state.config.limits.context_tokens_max.saturating_mul(LETTERS_PER_TOKEN);
    let bound = if budget == 0 { size } else { size.min(budget) };
    let wanted = size.saturating_sub(bound / 100 * GOAL_PERCENT);
    let (mut outputs, mut freed) = (Vec::new(), 0);
    for call in old_calls(state).filter(|call| succeeded(call)) {
        if wanted <= freed {
            break;
        }
        if let Some((output, less)) = shortened(call, OLD_END_CHARS) {
            outputs.push(output);
            freed += less;
        }
    }
    (!outputs.is_empty() && size / 100 * WORTH_PERCENT <= freed).then_some(outputs)
}

/// All outputs that can still be shortened: the last resort. The last step keeps more of its own, until
/// that is too much, too.
pub(crate) fn all_outputs(state: &State) -> Option<Vec<ShortOutput>> {
    let old = old_calls(state).filter_map(|call| shortened(call, OLD_END_CHARS));
    let newest = || last_step(state).into_iter().flat_map(|step| &step.calls);
    let new: Vec<_> = newest().filter_map(|call| shortened(call, NEW_END_CHARS)).collect();
    let mut outputs: Vec<_> = old.chain(new).map(|(output, _)| output).collect();
    if outputs.is_empty() {
        let new = newest().filter_map(|call| shortened(call, OLD_END_CHARS));
        outputs.extend(new.map(|(output, _)| output));
    }
    (!outputs.is_empty()).then_some(outputs)
}

/// Calls of all steps that are sent but the last one, oldest first.
fn old_calls(state: &State) -> impl Iterator<Item = &Call> {
    let covered = state.overlay.as_ref().map(|overlay| overlay.through);
    let is_sent =
        move |turn: &&Turn| turn.end != Some(TurnEnd::Discarded) && covered < Some(turn.id);
    let last = last_step(state).map(std::ptr::from_ref);
    let steps = state.turns.iter().filter(is_sent).flat_map(Turn::steps);
    steps.filter(move |step| Some(std::ptr::from_ref(*step)) != last).flat_map(|step| &step.calls)
}

/// The last step of the open turn with calls: what the model looks at next.
fn last_step(state: &State) -> Option<&Step> {
    state.open_turn()?.steps().rev().find(|step| !step.calls.is_empty())
}

fn succeeded(call: &Call) -> bool {
    matches!(&call.progress, Progress::Done(ended) if ended.outcome == Outcome::Ok)
}

/// What is sent of an output instead, and how many letters that frees.
fn shortened(call: &Call, end_chars: usize) -> Option<(ShortOutput, u64)> {
    let Progress::Done(ended) = &call.progress else { return None };
    let sent = call.output_sent()?;
    if sent.len() <= KEPT_BYTES_MAX {
        return None;
    }
    let text = text(call, &ended.output.text, end_chars);
    let less = sent.chars().count().checked_sub(text.chars().count()).filter(|less| 0 < *less)?;
    let less = u64::try_from(less).unwrap_or(u64::MAX);
    Some((ShortOutput { call: call.id, text }, less))
}

fn text(call: &Call, output: &str, end_chars: usize) -> Arc<str> {
    let what = input_summary(&call.name, &call.arguments);
    let bytes = output.len();
    let begin: String = output.chars().take(end_chars).collect();
    let mut end: Vec<char> = output.chars().rev().take(end_chars).collect();
    end.reverse();
    let end: String = end.into_iter().collect();
    format!(
        "[Shortened to make room: {what} gave {bytes} bytes, of which only the beginning and the end \
         follow. If you need more of it, look again at that part alone.]\n{begin}\n[…]\n{end}"
    )
    .into()
}
