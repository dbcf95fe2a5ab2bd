//! What one turn may cost or use, shown and set in a chat.

use piton_agent::known::KnownModel;
use piton_agent::{Dollars, Overrides, typed};
use piton_core::view::{Allowance, View};

use super::Sitting;
use crate::cmd::query::stage::Stage;
use crate::render::cost::{amount, dollars};
use crate::report::Fault;

/// What can be typed.
const WAYS: &str = "/limit $2 bounds the cost of a turn, /limit 200000 its tokens, /limit steps 50 its answers, /limit off bounds neither cost nor tokens";

/// What is to be bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// Cost, in millionths of a dollar.
    Microdollars(u64),
    Tokens(u64),
    Steps(u32),
    Nothing,
}

impl Wanted {
    fn of(words: &str) -> Option<Self> {
        if let Some(amount) = words.strip_prefix('$') {
            let amount: Dollars = amount.trim().parse().ok()?;
            return Some(Self::Microdollars(amount.microdollars()));
        }
        match words.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["off"] => Some(Self::Nothing),
            ["steps", steps] => steps.parse().ok().map(Self::Steps),
            [tokens] | ["tokens", tokens] => tokens.parse().ok().map(Self::Tokens),
            [..] => None,
        }
    }

    fn set(self, overrides: &mut Overrides) {
        match self {
            Self::Microdollars(most) => overrides.microdollars_max = Some(most),
            Self::Tokens(most) => overrides.tokens_max = Some(most),
            Self::Steps(most) => overrides.steps_max = Some(most),
            Self::Nothing => {
                (overrides.microdollars_max, overrides.tokens_max) = (Some(0), Some(0));
            }
        }
    }
}

impl Sitting {
    /// Shows what a turn may use, or sets it. It counts from the next message or /continue on.
    pub(super) async fn limit(&mut self, words: &str, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let view = self.view(stage).await?;
        match Wanted::of(words) {
            Some(Wanted::Microdollars(most)) if 0 < most && !self.is_priced(&view) => {
                let said =
                    "The price of the model is not known, so a limit of cost cannot be held.";
                stage.output.talk(said);
                stage.output.talk("hint: tokens can be bounded: /limit 200000");
                return Ok(());
            }
            Some(wanted) => wanted.set(&mut self.overrides),
            None if words.is_empty() => {}
            None => {
                stage.output.talk(&format!("hint: {WAYS}"));
                return Ok(());
            }
        }
        let mut allowance = view.head.allowance;
        if self.conversation.is_none() {
            // The settings bound new conversations.
            let said = self.agent.ceilings();
            allowance.tokens_max = said.tokens_max.unwrap_or_default();
            allowance.microdollars_max = said.microdollars_max.unwrap_or_default();
        }
        for line in told(&allowance, &self.overrides) {
            stage.output.talk(&line);
        }
        if words.is_empty() {
            stage.output.talk(&format!("hint: {WAYS}"));
        }
        Ok(())
    }

    fn is_priced(&self, view: &View) -> bool {
        let model = self.agent.model(&self.overrides, view.head.model.as_ref());
        let known = model.ok().and_then(|model| KnownModel::find(&typed(&model)));
        known.is_some_and(|known| known.price.is_some())
    }
}

/// What one turn may use from now on, and what the open one has used.
fn told(allowance: &Allowance, overrides: &Overrides) -> Vec<String> {
    let cost_max = overrides.microdollars_max.unwrap_or(allowance.microdollars_max);
    let tokens_max = overrides.tokens_max.unwrap_or(allowance.tokens_max);
    let steps_max = overrides.steps_max.map_or(allowance.steps_max, u64::from);
    let row = |name: &str, used: Option<String>, most: Option<String>| {
        let most = most.map_or("no limit".into(), |most| format!("at most {most}"));
        let used = used.map(|used| format!("; the open turn has {used}")).unwrap_or_default();
        format!("  {name:<6}  {most}{used}")
    };
    let some = |number: u64| Some(number).filter(|number| 0 < *number);
    vec![
        row("cost", some(allowance.microdollars).map(dollars), some(cost_max).map(amount)),
        row(
            "tokens",
            some(allowance.tokens).map(|it| it.to_string()),
            some(tokens_max).map(|it| it.to_string()),
        ),
        row(
            "steps",
            some(allowance.steps).map(|it| it.to_string()),
            some(steps_max).map(|it| it.to_string()),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_an_amount_tokens_or_steps() {
        for (words, expected) in [
            ("$2", Some(Wanted::Microdollars(2_000_000))),
            ("$ 0.5", Some(Wanted::Microdollars(500_000))),
            ("200000", Some(Wanted::Tokens(200_000))),
            ("tokens 5", Some(Wanted::Tokens(5))),
            ("steps 50", Some(Wanted::Steps(50))),
            ("off", Some(Wanted::Nothing)),
            ("$much", None),
            ("much", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(Wanted::of(words), expected, "{words}");
        }
    }

    #[test]
    fn what_was_set_is_told_beside_what_was_used() {
        let used = serde_json::json!({"tokens": 220, "tokens_max": 150, "steps_max": 100});
        let overrides = Overrides { tokens_max: Some(300), ..Overrides::default() };
        assert_eq!(
            told(&serde_json::from_value(used).unwrap(), &overrides),
            [
                "  cost    no limit",
                "  tokens  at most 300; the open turn has 220",
                "  steps   at most 100",
            ]
        );
    }
}
