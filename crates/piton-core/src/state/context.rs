//! What the model was told beside what users said.

use std::collections::BTreeMap;

use super::State;
use crate::event::{ContextItem, Cut, TurnEnd};
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

    /// What the model knows of the context: the newest digest of each name. What a discarded turn told is
    /// not known; what a covered one told stands beside the summary.
    pub fn context_told(&self) -> BTreeMap<&str, &Digest> {
        let prompted = self.prompted.iter().map(|(name, digest)| (name.as_str(), digest));
        let covered = self.overlay.iter().flat_map(|overlay| &overlay.context);
        let turns = self.turns.iter().filter(|turn| self.is_sent(turn));
        let told = covered.chain(turns.flat_map(|turn| &turn.context));
        prompted.chain(told.map(|item| (item.name.as_str(), &item.digest))).collect()
    }

    /// What turns told that a cut covers whole, as far as it counts: the newest of each name, unless a turn
    /// behind the cut tells it anew.
    pub(crate) fn context_within(&self, cut: Cut) -> Vec<ContextItem> {
        let told = |covered: bool| {
            let kept = self.turns.iter().filter(|turn| turn.end != Some(TurnEnd::Discarded));
            let turns = kept.filter(move |turn| cut.has_turn(turn.id) == covered);
            turns.flat_map(|turn| &turn.context)
        };
        let mut newest: BTreeMap<&str, &ContextItem> =
            told(true).map(|item| (item.name.as_str(), item)).collect();
        for item in told(false) {
            newest.remove(item.name.as_str());
        }
        newest.into_values().cloned().collect()
    }
}
