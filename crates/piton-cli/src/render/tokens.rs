//! What a conversation has used, for a person who asks.

use piton_agent::known::KnownModel;
use piton_agent::typed;
use piton_core::view::View;

use super::cost::{self, dollars, used};
use super::status::context;

/// What a conversation has used so far: the context now, its last turn, and all of it.
pub(crate) fn told(view: &View) -> Vec<String> {
    let Some(all) = in_all(view) else { return vec!["No tokens were used yet.".into()] };
    let model = view.head.model.as_ref().map(typed);
    let window = model.as_deref().and_then(KnownModel::find).map(|known| known.window);
    let is_over = view.turns.last().is_some_and(|turn| turn.head.end.is_some());
    let which = if is_over { "the last turn" } else { "this turn" };
    let turn = last_turn(view).map(|told| format!("{which}: {told}"));
    let parts = [context(view.head.context, window), model.filter(|model| !model.is_empty())];
    let now = Some(joined(parts)).filter(|now| !now.is_empty());
    now.into_iter().chain(turn).chain([format!("in all: {all}")]).collect()
}

/// What the last turn has used, and what that cost.
pub(crate) fn last_turn(view: &View) -> Option<String> {
    let turn = view.turns.last()?;
    Some(joined([Some(used(turn.head.usage)?), cost::of_turn(turn).map(dollars)]))
}

/// What a conversation has used in all, and what that cost.
pub(crate) fn in_all(view: &View) -> Option<String> {
    let parts = [Some(used(view.head.usage)?), cost::of_conversation(view).map(dollars)];
    Some(joined(parts))
}

fn joined<const PARTS: usize>(parts: [Option<String>; PARTS]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
