//! What tokens cost: an estimate by the table of prices, for each model that answered.

use piton_agent::known::KnownModel;
use piton_agent::typed;
pub(crate) use piton_core::money::{amount, dollars};
use piton_core::view::{ItemView, ModelRef, StepView, TurnView, Usage, View};
use serde::Serialize;

use super::count::short;

/// What a conversation has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct InAll {
    /// Tokens of its newest request.
    context_tokens: u64,
    /// Tokens of all its answers.
    pub(crate) usage: Usage,
    /// What they cost, in millionths of a dollar, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_microdollars: Option<u64>,
}

impl InAll {
    /// What a conversation has used until now.
    pub(crate) fn of(view: &View) -> Self {
        Self {
            context_tokens: view.head.context.tokens,
            usage: view.head.usage,
            cost_microdollars: of_conversation(view),
        }
    }
}

/// What a conversation cost, in millionths of a dollar; none if the price of a model is not known. What
/// was said before it was forked was paid elsewhere.
pub(crate) fn of_conversation(view: &View) -> Option<u64> {
    sum(view.head.used.iter().map(|used| (used.model.as_ref(), used.usage)))
}

/// What a turn cost with all attempts of its messages, as above. What it used beside its steps is paid by the
/// price of the last one.
pub(crate) fn of_turn(turn: &TurnView) -> Option<u64> {
    let old = turn.attempts.iter().flat_map(|old| &old.items);
    let mut used: Vec<_> = of_items(old.chain(&turn.items)).filter_map(used_by).collect();
    let counted = used.iter().fold(Usage::default(), |sum, (_, usage)| sum.plus(*usage));
    let all = turn.head.usage;
    let rest = Usage {
        input: all.input.saturating_sub(counted.input),
        output: all.output.saturating_sub(counted.output),
        cached: all.cached.saturating_sub(counted.cached),
    };
    let last = used.last().and_then(|(model, _)| *model);
    used.push((last, rest));
    sum(used.into_iter())
}

/// What steps cost, as above.
pub(crate) fn of_steps<'a>(steps: impl Iterator<Item = &'a StepView>) -> Option<u64> {
    sum(steps.filter_map(used_by))
}

fn of_items<'a>(items: impl Iterator<Item = &'a ItemView>) -> impl Iterator<Item = &'a StepView> {
    items.filter_map(|item| match item {
        ItemView::Step(step) => Some(step),
        ItemView::Message(_) | _ => None,
    })
}

fn used_by(step: &StepView) -> Option<(Option<&ModelRef>, Usage)> {
    Some((step.model.as_ref(), step.usage?))
}

fn sum<'a>(used: impl Iterator<Item = (Option<&'a ModelRef>, Usage)>) -> Option<u64> {
    let mut paid = used.filter(|(_, usage)| 0 < usage.total()).peekable();
    paid.peek()?;
    paid.try_fold(0_u64, |sum, (model, usage)| {
        let cost = KnownModel::find(&typed(model?))?.cost(usage)?;
        Some(sum.saturating_add(cost))
    })
}

/// Tokens, and which share of those that were sent had been kept by the provider.
pub(crate) fn used(usage: Usage) -> Option<String> {
    let Usage { input, output, .. } = usage;
    let cached = cached_share(usage).map(|share| format!(" ({share} cached)"));
    let cached = cached.unwrap_or_default();
    (0 < usage.total()).then(|| format!("{} in{cached}, {} out", short(input), short(output)))
}

/// Which share of the tokens that were sent had been kept by the provider.
pub(crate) fn cached_share(Usage { input, cached, .. }: Usage) -> Option<String> {
    let percent = cached.min(input).saturating_mul(100).checked_div(input);
    percent.filter(|_| 0 < cached).map(|percent| format!("{percent} %"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn step(number: u32, model: &str) -> Value {
        let model = json!({"provider": "anthropic", "model": model});
        json!({"item": "step", "number": number, "attempt": 1, "state": "answered", "asked": 0,
            "model": model, "usage": {"input": 1_000_000, "output": 0, "cached": 0}})
    }

    #[test]
    fn every_model_is_paid_its_own_price_also_for_attempts_that_were_given_up() {
        let said = json!({"id": "m", "attempt": 1, "parts": [], "at": 0});
        let turn = |second: &str, beside: u64| -> TurnView {
            let beside = json!({"input": 2_000_000 + beside, "output": 0, "cached": 0});
            let old = json!({"message": said, "items": [step(1, "claude-opus-5-5")]});
            let head = json!({"id": 1, "began": 0, "usage": beside});
            let turn = json!({"head": head, "items": [step(2, second)], "attempts": [old]});
            serde_json::from_value(turn).unwrap()
        };
        assert_eq!(of_turn(&turn("claude-sonnet-5-5", 0)), Some(4_000_000 + 2_000_000));
        let with_more = of_turn(&turn("claude-sonnet-5-5", 1_000_000));
        assert_eq!(with_more, Some(4_000_000 + 2_000_000 + 2_000_000));
        assert_eq!(of_turn(&turn("of-tomorrow", 0)), None);
        assert_eq!(of_steps([].iter()), None);
    }

    #[test]
    fn the_share_of_a_cache_is_told() {
        let told = |input, cached| used(Usage { input, output: 56, cached }).unwrap();
        assert_eq!(told(1_234, 1_000), "1.2k in (81 % cached), 56 out");
        assert_eq!(told(1_234, 0), "1.2k in, 56 out");
        assert_eq!(told(0, 5), "0 in, 56 out");
        assert_eq!(used(Usage::default()), None);
    }
}
