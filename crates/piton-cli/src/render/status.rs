//! One line at the end of a turn: who answered, how full the context is, what it took.

use piton_agent::known::KnownModel;
use piton_core::view::{Context, TurnView, View};

use super::age::lasting;
use super::cost::{self, dollars, used};
use super::count::short;

/// The line. `model` is what answered, as it is typed, and `ms` is how long it took.
pub(crate) fn status(view: &View, turn: &TurnView, model: &str, ms: u64) -> String {
    let known = KnownModel::find(model);
    let parts = [
        Some(model.to_owned()),
        context(view.head.context, known.map(|known| known.window)),
        used(turn.head.usage),
        cost::of_turn(turn).map(dollars),
        in_all(view, turn),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().chain([lasting(ms)]).collect();
    format!("[{}]", parts.join(" · "))
}

/// What the conversation has cost, where other turns did too.
fn in_all(view: &View, turn: &TurnView) -> Option<String> {
    let all = cost::of_conversation(view)?;
    (cost::of_turn(turn)? < all).then(|| format!("in all {}", dollars(all)))
}

/// How full the context is: of what the conversation may use, else of the model's window.
pub(super) fn context(context: Context, window: Option<u64>) -> Option<String> {
    let Context { tokens, tokens_max, .. } = context;
    let tokens_max = if tokens_max == 0 { window.unwrap_or_default() } else { tokens_max };
    match (tokens, tokens_max) {
        (0, _) => None,
        (_, 0) => Some(format!("context {}", short(tokens))),
        (_, _) => {
            let percent = tokens.saturating_mul(100) / tokens_max;
            Some(format!("context {} of {} ({percent} %)", short(tokens), short(tokens_max)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_ends_with_what_it_took() {
        let mut view = View::default();
        let usage = json!({"input": 1_234, "output": 56, "cached": 1_000});
        let opus = json!({"provider": "anthropic", "model": "claude-opus-5-5"});
        let step = json!({"item": "step", "number": 1, "attempt": 1, "state": "answered",
            "asked": 0, "model": opus, "usage": usage});
        let head = json!({"id": 1, "began": 0, "usage": usage});
        let priced: TurnView =
            serde_json::from_value(json!({"head": head, "items": [step]})).unwrap();
        let turn: TurnView = serde_json::from_value(json!({"head": head, "items": []})).unwrap();
        view.head.used = serde_json::from_value(json!([{"model": opus, "usage": usage}])).unwrap();
        (view.head.context.tokens, view.head.context.tokens_max) = (24_000, 200_000);
        assert_eq!(
            status(&view, &turn, "a/b", 3_200),
            "[a/b · context 24k of 200k (12 %) · 1.2k in (81 % cached), 56 out · 3 s]"
        );
        let told = status(&view, &priced, "anthropic/claude-opus-5-5", 3_200);
        assert!(told.ends_with(", 56 out · ≈$0.0025 · 3 s]"), "{told}");
        let before = json!({"input": 1_000_000, "output": 0, "cached": 0});
        let before = json!([{"model": opus, "usage": before}]);
        view.head.used.extend(serde_json::from_value::<Vec<_>>(before).unwrap());
        let told = status(&view, &priced, "anthropic/claude-opus-5-5", 3_200);
        assert!(told.ends_with(" · ≈$0.0025 · in all ≈$4.01 · 3 s]"), "{told}");
        view.head.context.tokens_max = 0;
        let told = status(&view, &turn, "anthropic/claude-opus-5-5", 3_200);
        assert!(told.contains("context 24k of 1M (2 %)"), "{told}");
        assert!(status(&view, &turn, "a/b", 10).contains("context 24k ·"));
        view.head.context.tokens = 0;
        let turn = json!({"head": {"id": 1, "began": 0, "usage": {}}, "items": []});
        let turn: TurnView = serde_json::from_value(turn).unwrap();
        assert_eq!(status(&view, &turn, "demo", 125_000), "[demo · 2 min 5 s]");
    }
}
