//! A history whose native blocks a provider no longer takes: what to leave out.
//!
//! Signatures and encrypted reasoning are replayed as they came, and a provider may refuse them all
//! the same: a key was changed, an account was switched, a gateway rewrote them. The answers are
//! sound without them, so a repair leaves blocks out and asks again. It only ever leaves out more,
//! so it comes to an end; and it is recorded, so a resumed turn does not try the refused form again.

use crate::event::{Native, Rejected, TurnEnd};
use crate::id::StepId;
use crate::state::{State, Step, Turn};

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
    let covered = state.overlay.as_ref().map(|overlay| overlay.through);
    let provider = state.config.model.as_ref().map(|model| &*model.provider);
    let is_sent = |turn: &&Turn| turn.end != Some(TurnEnd::Discarded) && covered < Some(turn.id);
    let mut found = Vec::new();
    for turn in state.turns.iter().filter(is_sent) {
        for step in turn.steps() {
            let native = state.native_sent(step);
            if let Some(native) = native.filter(|native| Some(&*native.provider) == provider) {
                found.push(Candidate { id: StepId { turn: turn.id, step: step.number }, native });
            }
        }
    }
    found
}
