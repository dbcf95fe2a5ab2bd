//! What the model was told beside what users said.

use std::collections::BTreeMap;

use super::{State, Turn};
use crate::event::{ContextItem, TurnEnd};
use crate::id::{Digest, TurnId};

impl State {
    /// Context stands in front of the first message of the open turn, and is told once.
    pub(super) fn add_context(&mut self, turn: TurnId, items: &[ContextItem]) -> bool {
        let fits = self.in_turn(Some(turn), |turn| {
            let fits = turn.items.is_empty() && turn.context.is_empty();
            if fits {
                turn.context.extend(items.iter().filter(|item| item.text.is_some()).cloned());
            }
            fits
        });
        if fits {
            let prompted = items.iter().filter(|item| item.text.is_none());
            let prompted = prompted.map(|item| (item.name.clone(), item.digest.clone()));
            self.prompted.extend(prompted);
        }
        fits
    }

    /// What the model knows of the context: the newest digest of each name. What stands in a turn that
    /// requests no longer carry is not known.
    pub fn context_told(&self) -> BTreeMap<&str, &Digest> {
        let prompted = self.prompted.iter().map(|(name, digest)| (name.as_str(), digest));
        let turns = self.turns.iter().filter(|turn| self.is_sent(turn));
        let told = turns.flat_map(|turn| &turn.context);
        prompted.chain(told.map(|item| (item.name.as_str(), &item.digest))).collect()
    }

    /// Whether requests carry a turn: it is neither discarded nor covered by a summary.
    pub(crate) fn is_sent(&self, turn: &Turn) -> bool {
        let covered = self.overlay.as_ref().is_some_and(|overlay| turn.id <= overlay.through);
        turn.end != Some(TurnEnd::Discarded) && !covered
    }
}
