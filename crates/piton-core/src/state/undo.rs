//! Changes of files that a person took back, and what the model has to hear of them.
//!
//! The model is told once, in front of the answer to its next request. The note stays there, so that
//! later requests begin alike. Where a retry or a discard hides that request, the model is told again.

use std::sync::Arc;

use super::{Item, State, Turn};
use crate::event::{UndoIntent, UndoOutcome};
use crate::id::Timestamp;

/// A change that a person took back, or wanted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// What was meant.
    pub intent: UndoIntent,
    /// What became of it; absent as long as nobody knows.
    pub outcome: Option<UndoOutcome>,
    /// More about it, for people.
    pub text: String,
    /// When it was meant.
    pub at: Timestamp,
}

impl State {
    /// What was meant and has no outcome, the oldest first.
    pub fn unsettled_undos(&self) -> impl Iterator<Item = &UndoIntent> {
        self.undos.iter().filter(|undo| undo.outcome.is_none()).map(|undo| &undo.intent)
    }

    pub(super) fn begin_undo(&mut self, intent: &UndoIntent, at: Timestamp) -> bool {
        if self.unsettled_undos().any(|known| known.change == intent.change) {
            return false;
        }
        let (intent, text) = (intent.clone(), String::new());
        self.undos.push(Undone { intent, outcome: None, text, at });
        true
    }

    pub(super) fn end_undo(&mut self, change: &str, outcome: UndoOutcome, text: &str) -> bool {
        let mut open = self.undos.iter_mut().filter(|undo| undo.outcome.is_none());
        let Some(undo) = open.find(|undo| undo.intent.change == change) else { return false };
        undo.outcome = Some(outcome);
        text.clone_into(&mut undo.text);
        if outcome == UndoOutcome::Done {
            self.untold.push(note(&undo.intent));
        }
        true
    }

    /// The request that leaves now tells the model.
    pub(super) fn tell(&mut self) {
        let untold = std::mem::take(&mut self.untold);
        if let Some(Item::Step(step)) = self.open_turn_mut().and_then(|turn| turn.items.last_mut())
        {
            step.told.extend(untold);
        }
    }

    /// What these items told is hidden from now on, so the model has to hear it again.
    pub(super) fn tell_again<'a>(&mut self, items: impl IntoIterator<Item = &'a mut Item>) {
        self.untold.splice(0..0, take_told(items));
    }

    /// The same for a turn that is discarded.
    pub(super) fn tell_again_of(&mut self, mut turn: Option<Turn>) -> Option<Turn> {
        if let Some(turn) = &mut turn {
            self.tell_again(&mut turn.items);
        }
        turn
    }
}

/// Takes what these items told.
pub(super) fn take_told<'a>(items: impl IntoIterator<Item = &'a mut Item>) -> Vec<Arc<str>> {
    let told = items.into_iter().filter_map(|item| match item {
        Item::Step(step) => Some(std::mem::take(&mut step.told)),
        Item::User(_) => None,
    });
    told.flatten().collect()
}

/// What the model hears.
fn note(intent: &UndoIntent) -> Arc<str> {
    let UndoIntent { path, after, again, .. } = intent;
    let what = match (after, again) {
        (Some(_), false) => "it has the content that it had before that change",
        (None, false) => "the file is removed, because it did not exist before that change",
        (Some(_), true) => "it has the content that the change gave it, after all",
        (None, true) => "the file is removed again",
    };
    format!(
        "[The user took back a change of the file {path}: {what}. Read it before you change it.]"
    )
    .into()
}
