//! What a conversation has used, for a person who asks.

use piton_agent::known::KnownModel;
use piton_agent::typed;
use piton_core::view::{Usage, View};

use super::status::{context, dollars, used};

/// What the conversation has used so far, in one line.
pub(crate) fn told(view: &View) -> String {
    let model = view.head.model.as_ref().map(typed);
    let known = model.as_deref().and_then(KnownModel::find);
    let usage = view.turns.iter().fold(Usage::default(), |sum, turn| sum.plus(turn.head.usage));
    let cost = known.and_then(|known| known.cost(usage));
    let parts = [
        context(view.head.context, known.map(|known| known.window)),
        used(usage),
        cost.map(dollars),
        model,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match used(usage) {
        Some(_) => parts.join(" · "),
        None => "No tokens were used yet.".into(),
    }
}
