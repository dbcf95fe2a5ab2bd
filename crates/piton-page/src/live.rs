//! What is live, on its way into a picture: its text never becomes shorter, and is dropped when an entry has it.

use piton_core::view::{Live, LiveStep, View};

/// Takes in what is live now. Text of one try never becomes shorter; what is of an older try is dropped.
pub(crate) fn renew(live: &mut Live, now: &Live) {
    let before = std::mem::replace(live, now.clone());
    let (Some(old), Some(new)) = (before.step, &mut live.step) else { return };
    let place = |step: &LiveStep| (step.turn, step.step, step.attempt);
    if place(new) < place(&old) {
        *new = old;
    } else if place(new) == place(&old) {
        if new.text.len() < old.text.len() {
            new.text = old.text;
        }
        if new.reasoning.len() < old.reasoning.len() {
            new.reasoning = old.reasoning;
        }
    }
}

/// Forgets the text that streamed, if a view has the answer.
pub(crate) fn forget_answered(live: &mut Live, view: &View) {
    let is_over = |step: &LiveStep| {
        let turn = view.turns.iter().rev().find(|it| it.head.id == step.turn);
        let known = turn.and_then(|turn| turn.steps().find(|it| it.number == step.step));
        known.is_some_and(|step| step.answered.is_some())
    };
    if live.step.as_ref().is_some_and(is_over) {
        live.step = None;
    }
}
