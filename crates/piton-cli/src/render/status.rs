//! One line at the end of a turn: who answered, how full the context is, what it took.

use piton_agent::known::KnownModel;
use piton_core::view::{Context, TurnView, Usage, View};

use super::age::lasting;
use super::count::short;

/// The line. `model` is what answered, as it is typed, and `ms` is how long it took.
pub(crate) fn status(view: &View, turn: &TurnView, model: &str, ms: u64) -> String {
    let known = KnownModel::find(model);
    let usage = turn.head.usage;
    let parts = [
        Some(model.to_owned()),
        context(view.head.context, known.map(|known| known.window)),
        used(usage),
        known.and_then(|known| known.cost(usage)).map(dollars),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().chain([lasting(ms)]).collect();
    format!("[{}]", parts.join(" · "))
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

/// Money, from millionths of a dollar. It is an estimate: prices come from a table.
pub(super) fn dollars(millionths: u64) -> String {
    let cents = millionths.div_ceil(10_000);
    match millionths {
        0..10_000 => "less than $0.01".into(),
        _ => format!("about ${}.{:02}", cents / 100, cents % 100),
    }
}

/// What the turn used.
pub(super) fn used(usage: Usage) -> Option<String> {
    let Usage { input, output, cached, .. } = usage;
    let cached = match cached {
        0 => String::new(),
        _ => format!(", {} of them cached", short(cached)),
    };
    (0 < input + output).then(|| format!("{} in{cached}, {} out", short(input), short(output)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_ends_with_what_it_took() {
        let mut view = View::default();
        let usage = json!({"input": 1_234, "output": 56, "cached": 1_000});
        let turn = json!({"head": {"id": 1, "began": 0, "usage": usage}, "items": []});
        let turn: TurnView = serde_json::from_value(turn).unwrap();
        (view.head.context.tokens, view.head.context.tokens_max) = (24_000, 200_000);
        assert_eq!(
            status(&view, &turn, "a/b", 3_200),
            "[a/b · context 24k of 200k (12 %) · 1.2k in, 1k of them cached, 56 out · 3 s]"
        );
        let opus = status(&view, &turn, "anthropic/claude-opus-5-5", 3_200);
        assert!(opus.ends_with(" · less than $0.01 · 3 s]"), "{opus}");
        assert_eq!(dollars(1_234_567), "about $1.24");
        view.head.context.tokens_max = 0;
        let opus = status(&view, &turn, "anthropic/claude-opus-5-5", 3_200);
        assert!(opus.contains("context 24k of 1M (2 %)"), "{opus}");
        assert!(status(&view, &turn, "a/b", 10).contains("context 24k ·"));
        view.head.context.tokens = 0;
        let turn = json!({"head": {"id": 1, "began": 0, "usage": Usage::default()}, "items": []});
        let turn: TurnView = serde_json::from_value(turn).unwrap();
        assert_eq!(status(&view, &turn, "demo", 125_000), "[demo · 2 min 5 s]");
    }
}
