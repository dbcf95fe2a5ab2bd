//! One line at the end of a turn: who answered, how full the context is, what it took.

use piton_core::view::{Context, TurnView, Usage, View};

use super::age::lasting;

/// Below this many, tokens are told to the last one.
const THOUSAND: u64 = 1_000;
const MILLION: u64 = 1_000_000;

/// The line. `model` is what answered, as it is typed, and `ms` is how long it took.
pub(crate) fn status(view: &View, turn: &TurnView, model: &str, ms: u64) -> String {
    let parts = [Some(model.to_owned()), context(view.head.context), used(turn.head.usage)];
    let parts: Vec<String> = parts.into_iter().flatten().chain([lasting(ms)]).collect();
    format!("[{}]", parts.join(" · "))
}

fn context(context: Context) -> Option<String> {
    let Context { tokens, tokens_max, .. } = context;
    match (tokens, tokens_max) {
        (0, _) => None,
        (_, 0) => Some(format!("context {}", count(tokens))),
        (_, _) => {
            let percent = tokens.saturating_mul(100) / tokens_max;
            Some(format!("context {} of {} ({percent} %)", count(tokens), count(tokens_max)))
        }
    }
}

/// What the turn used. Prices are known to nobody here, so tokens are what it cost.
fn used(usage: Usage) -> Option<String> {
    let Usage { input, output, cached, .. } = usage;
    let cached = match cached {
        0 => String::new(),
        _ => format!(", {} of them cached", count(cached)),
    };
    (0 < input + output).then(|| format!("{} in{cached}, {} out", count(input), count(output)))
}

/// A number of tokens, as short as it can be told.
fn count(tokens: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", tokens / unit, tokens % unit * 10 / unit);
    match tokens {
        0..THOUSAND => tokens.to_string(),
        THOUSAND..MILLION => format!("{}k", tenths(THOUSAND)),
        MILLION.. => format!("{}M", tenths(MILLION)),
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
        let turn = json!({"head": {"id": 1, "began": 0, "usage": usage}, "items": []});
        let turn: TurnView = serde_json::from_value(turn).unwrap();
        (view.head.context.tokens, view.head.context.tokens_max) = (24_000, 200_000);
        assert_eq!(
            status(&view, &turn, "a/b", 3_200),
            "[a/b · context 24.0k of 200.0k (12 %) · 1.2k in, 1.0k of them cached, 56 out · 3 s]"
        );
        view.head.context.tokens_max = 0;
        assert!(status(&view, &turn, "a/b", 10).contains("context 24.0k ·"));
        view.head.context.tokens = 0;
        let turn = json!({"head": {"id": 1, "began": 0, "usage": Usage::default()}, "items": []});
        let turn: TurnView = serde_json::from_value(turn).unwrap();
        assert_eq!(status(&view, &turn, "demo", 125_000), "[demo · 2 min 5 s]");
    }
}
