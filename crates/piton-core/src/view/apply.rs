//! A view takes in a change. Nothing is known here of what the elements mean.

use std::sync::Arc;

use super::change::{Patch, ViewChange};
use super::conversation::View;
use super::turn::{ItemView, PartView, StepView, TurnView};
use crate::event::PartialKind;
use crate::id::{Seq, TurnId};

/// Why a view does not take a change. It stays as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The view holds this entry already: the change can be dropped.
    #[error("the view is at entry {at} and holds entry {change} already")]
    AlreadyApplied {
        /// Where the view is.
        at: Seq,
        /// Where the change leads to.
        change: Seq,
    },
    /// Entries between the view and the change are missing: read again from the view's cursor.
    #[error("the view is at entry {at}, so entry {change} does not follow on it")]
    Gap {
        /// Where the view is.
        at: Seq,
        /// Where the change leads to.
        change: Seq,
    },
    /// The change names an element that the view does not have: it belongs to another conversation.
    #[error("the change to entry {change} does not fit this view: read the view again")]
    DoesNotFit {
        /// Where the change leads to.
        change: Seq,
    },
}

impl View {
    /// Takes in the change of the next entry.
    pub fn apply(&mut self, change: &ViewChange) -> Result<(), Refused> {
        let (at, next) = (self.cursor, change.cursor);
        if next <= at {
            return Err(Refused::AlreadyApplied { at, change: next });
        }
        if at.0.checked_add(1) != Some(next.0) {
            return Err(Refused::Gap { at, change: next });
        }
        if !fits(self, &change.patches) {
            return Err(Refused::DoesNotFit { change: next });
        }
        for patch in &change.patches {
            self.put(patch);
        }
        self.cursor = next;
        self.strays = change.strays;
        self.unknown = change.unknown;
        Ok(())
    }

    fn turn_mut(&mut self, id: TurnId) -> Option<&mut TurnView> {
        // The last one is nearly always the one that is meant.
        self.turns.iter_mut().rev().find(|turn| turn.head.id == id)
    }

    fn put(&mut self, patch: &Patch) {
        match patch {
            Patch::Head { head } => self.head = (**head).clone(),
            Patch::Queue { queue } => self.queue.clone_from(queue),
            Patch::Undos { undos } => self.undos.clone_from(undos),
            Patch::Covered { covered } => self.covered.clone_from(covered),
            Patch::Supersede { behind } => {
                let first = self.turns.iter().position(|turn| *behind < turn.head.id);
                let mut gone = self.turns.split_off(first.unwrap_or(self.turns.len()));
                gone.iter_mut().for_each(TurnView::supersede);
                self.superseded.extend(gone);
            }
            Patch::Turn { turn } => match self.turn_mut(turn.head.id) {
                Some(known) => *known = (**turn).clone(),
                None => self.turns.push((**turn).clone()),
            },
            Patch::TurnHead { head } => {
                if let Some(turn) = self.turn_mut(head.id) {
                    turn.head = (**head).clone();
                }
            }
            Patch::Item { turn, place, item } => {
                let Some(turn) = self.turn_mut(*turn) else { return };
                match turn.items.get_mut(*place) {
                    Some(known) => *known = (**item).clone(),
                    None => turn.items.push((**item).clone()),
                }
            }
            Patch::Append { turn, place, kind, text } => {
                if let Some(step) = self.step_mut(*turn, *place) {
                    append(step, *kind, text);
                }
            }
            Patch::Call { place, call } => {
                let step = self.step_mut(call.id.turn, *place);
                let known = step.and_then(|step| step.calls.iter_mut().find(|it| it.id == call.id));
                if let Some(known) = known {
                    *known = (**call).clone();
                }
            }
        }
    }

    fn step_mut(&mut self, turn: TurnId, place: usize) -> Option<&mut StepView> {
        match self.turn_mut(turn)?.items.get_mut(place)? {
            ItemView::Step(step) => Some(step),
            ItemView::Message(_) => None,
        }
    }
}

/// Whether every element that is named is there, or is the next one.
fn fits(view: &View, patches: &[Patch]) -> bool {
    let turn = |id: TurnId| view.turns.iter().rev().find(|turn| turn.head.id == id);
    // A turn that comes whole brings its items along.
    let brought = |id: TurnId| {
        patches.iter().any(|patch| matches!(patch, Patch::Turn { turn } if turn.head.id == id))
    };
    patches.iter().all(|patch| match patch {
        Patch::Head { .. }
        | Patch::Queue { .. }
        | Patch::Undos { .. }
        | Patch::Covered { .. }
        | Patch::Turn { .. } => true,
        Patch::Supersede { behind: id } => turn(*id).is_some(),
        Patch::TurnHead { head } => turn(head.id).is_some() || brought(head.id),
        Patch::Item { turn: id, place, .. } => {
            turn(*id).is_some_and(|turn| *place <= turn.items.len())
        }
        Patch::Append { turn: id, place, .. } => {
            let item = turn(*id).and_then(|turn| turn.items.get(*place));
            matches!(item, Some(ItemView::Step(_)))
        }
        Patch::Call { place, call } => {
            let item = turn(call.id.turn).and_then(|turn| turn.items.get(*place));
            matches!(item, Some(ItemView::Step(step)) if step.calls.iter().any(|it| it.id == call.id))
        }
    })
}

/// Reasoning stands in front of text, as long as the answer is not whole.
fn append(step: &mut StepView, kind: PartialKind, piece: &str) {
    if piece.is_empty() {
        return;
    }
    let known = step.parts.iter_mut().find_map(|part| match (part, kind) {
        (PartView::Text { text }, PartialKind::Text)
        | (PartView::Reasoning { text }, PartialKind::Reasoning) => Some(text),
        (PartView::Text { .. } | PartView::Reasoning { .. } | PartView::Call { .. }, _) => None,
    });
    let text: Arc<str> = piece.into();
    match (known, kind) {
        (Some(known), _) => *known = [&**known, piece].concat().into(),
        (None, PartialKind::Text) => step.parts.push(PartView::Text { text }),
        (None, PartialKind::Reasoning) => step.parts.insert(0, PartView::Reasoning { text }),
    }
    step.partial = true;
}
