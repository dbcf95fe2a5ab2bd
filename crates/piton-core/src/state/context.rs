//! What the model was told beside what users said.

use std::collections::BTreeMap;

use super::State;
use crate::event::ContextItem;
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
}
