//! A history whose native blocks a provider no longer takes: what to leave out.
//!
//! Signatures and encrypted reasoning are replayed as they came, and a provider may refuse them all
//! the same: a key was changed, an account was switched, a gateway rewrote them. The answers are
//! sound without them, so a repair leaves blocks out and asks again. It only ever leaves out more,
//! so it comes to an end; and it is recorded, so a resumed turn does not try the refused form again.

use crate::event::{Native, Rejected};
use crate::id::StepId;
use crate::state::{State, Step};

/// Most repairs in a row; an answer, or a person who resumes, ends the row.
pub const REPAIRS_MAX: u32 = 10;

/// The steps whose native blocks are to be left out, or none if nothing would shrink any more.
/// The last repair of a row takes all that it may: asking once more for less would be of no use.
pub(crate) fn plan(state: &State, asked: &Step, rejected: &Rejected) -> Vec<StepId> {
    let open = state.open_turn().map(|turn| turn.id);
    let all = candidates(state);
    let is_last = REPAIRS_MAX <= asked.repairs.saturating_add(1);
    let kept: Vec<_> = match rejected {
        // Older turns are not looked at by a provider that says this.
        Rejected::OpenTurn => all.into_iter().filter(|it| Some(it.id.turn) == open).collect(),
        Rejected::LatestMessage if is_last => all,
        Rejected::LatestMessage => all.into_iter().next_back().into_iter().collect(),
        Rejected::Named { excerpt } => {
            let is_named = |it: &Candidate<'_>| {
                !is_last && !excerpt.is_empty() && it.native.raw.contains(excerpt.as_str())
            };
            let any = all.iter().any(is_named);
            all.into_iter().filter(|it| !any || is_named(it)).collect()
        }
    };
    kept.into_iter().map(|it| it.id).collect()
}

struct Candidate<'a> {
    id: StepId,
    native: &'a Native,
}

/// Answers that are sent with native blocks, oldest first. Another provider's are not sent.
fn candidates(state: &State) -> Vec<Candidate<'_>> {
    let provider = state.config.model.as_ref().map(|model| &*model.provider);
    let found = state.steps_sent().filter_map(|(turn, step)| {
        let native = state.native_sent(step).filter(|it| Some(&*it.provider) == provider)?;
        Some(Candidate { id: StepId { turn: turn.id, step: step.number }, native })
    });
    found.collect()
}
