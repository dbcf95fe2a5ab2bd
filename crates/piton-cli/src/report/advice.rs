//! What helps after a turn broke. Asking again helps only where the answer may be another one.

use std::collections::BTreeMap;

use piton_agent::{Agent, KeyFrom, Provider, typed};
use piton_core::id::ConversationId;
use piton_core::outcome::Cause;
use piton_core::view::{Allowance, BreakReason, FailureClass, ModelRef};

use super::code::Code;
use crate::render::incomplete::{self, Newest};

/// What may help with a provider.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remedies {
    /// What to do if the provider refused the key.
    key: String,
    /// Other models that could answer: there is a key for them.
    others: Vec<String>,
    /// What the turn might use.
    allowance: Allowance,
}

impl Remedies {
    /// What may help if a model does not answer.
    pub(crate) fn of(agent: &Agent, model: &ModelRef) -> Self {
        let others = agent.models_with_key().into_iter().map(|(other, _)| other);
        let others = others.filter(|other| other.provider != model.provider);
        let others = others.map(|other| typed(&other)).collect();
        let allowance = Allowance::default();
        Self { key: key_advice(agent.providers(), model), others, allowance }
    }

    /// Adds what the turn might use.
    pub(crate) fn within(self, allowance: Allowance) -> Self {
        Self { allowance, ..self }
    }

    /// Whether a turn broke because it had used what it might use.
    fn is_spent(&self, cause: &Cause) -> bool {
        cause.reason == Some(BreakReason::MaxSteps)
            || self.allowance.is_over_tokens()
            || self.allowance.is_over_cost()
    }

    /// How to go on with a higher limit than the one that was reached.
    fn higher(&self, cause: &Cause, resume: &str) -> Option<String> {
        let Allowance { steps_max, tokens_max, microdollars_max, .. } = self.allowance;
        let flag = match cause.reason {
            Some(BreakReason::MaxSteps) => format!("--max-steps {}", steps_max.saturating_mul(2)),
            _ if self.allowance.is_over_tokens() => {
                format!("--max-turn-tokens {}", tokens_max.saturating_mul(2))
            }
            _ if self.allowance.is_over_cost() => {
                format!("--max-cost {}", typed_dollars(microdollars_max.saturating_mul(2)))
            }
            _ => return None,
        };
        Some(format!("to go on with a higher limit: {resume} {flag}"))
    }

    /// How to go on with another model.
    fn other(&self, resume: &str) -> String {
        match self.others.split_first() {
            None => format!("to try with another model: {resume} --model MODEL"),
            Some((first, [])) => format!("to try with another model: {resume} --model {first}"),
            Some((first, more)) => {
                let more = more.join(" or ");
                format!("to try with another model: {resume} --model {first} (or {more})")
            }
        }
    }
}

/// Ways to go on, the best one first.
pub(super) fn after(
    cause: &Cause,
    code: Code,
    (conversation, turn): (&ConversationId, Option<&Newest>),
    remedies: &Remedies,
) -> Vec<String> {
    let resume = format!("piton query --continue --id {conversation}");
    let (key, other) = (&remedies.key, remedies.other(&resume));
    let class = cause.failure.as_ref().map(|failure| failure.class);
    let mut ways = match (code, class) {
        (Code::Interrupted, _) => vec![format!("the work is kept; to go on: {resume}")],
        (Code::Limit, None) if remedies.is_spent(cause) => {
            let fresh = format!("to go on with a fresh allowance: {resume}");
            [fresh].into_iter().chain(remedies.higher(cause, &resume)).collect()
        }
        (Code::Limit, None) if turn.is_some_and(incomplete::is_cut_off) => {
            vec![format!("to go on with the answer: {resume}")]
        }
        // A fresh allowance makes no room in a window.
        (_, Some(FailureClass::ContextOverflow)) | (Code::Limit, _) => {
            vec![format!("to go on with a model that takes more: {resume} --model MODEL")]
        }
        (_, Some(FailureClass::Auth)) => vec![format!("{key}, then: {resume}"), other],
        (_, Some(FailureClass::Quota)) => {
            vec![format!("see to the account at the provider, then: {resume}"), other]
        }
        (_, Some(FailureClass::InvalidRequest)) => vec![other],
        (_, Some(FailureClass::ContentFilter)) => vec![
            format!("to say it in other words: piton query --continue TEXT --id {conversation}"),
            other,
        ],
        _ => vec![format!("to try again: {resume}"), other],
    };
    let anew = match turn.and_then(incomplete::added) {
        Some(said) => format!("to go back to the message that was added last ({said})"),
        None => "to begin the turn anew, from its message".into(),
    };
    ways.push(format!("{anew}: piton retry --id {conversation}"));
    ways.push(format!("to discard the turn: piton query --discard-turn --id {conversation}"));
    ways
}

/// An amount as a flag takes it, from millionths of a dollar.
fn typed_dollars(millionths: u64) -> String {
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What to do about a key that the provider of a model refuses.
fn key_advice(providers: &BTreeMap<String, Provider>, model: &ModelRef) -> String {
    let name = &model.provider;
    match providers.get(name).map(|provider| &provider.key) {
        Some(KeyFrom::Variables(names)) => {
            format!("set {} to a key that {name} takes", names.join(" or "))
        }
        Some(KeyFrom::Command(_)) => {
            format!("see that the key command of {name} in piton.toml prints a key it takes")
        }
        Some(KeyFrom::Nowhere) => format!("give {name} a key in piton.toml"),
        None => format!("see to the key of {name}"),
    }
}

#[cfg(test)]
mod tests {
    use piton_core::id::Timestamp;
    use piton_core::outcome::Failure;
    use piton_core::view::BreakReason;

    use super::*;

    fn said(class: FailureClass, code: Code) -> String {
        let (message, at) = (String::new(), Timestamp(0));
        let failure = Failure {
            class,
            message,
            retry_after_ms: None,
            jitter_permille: 0,
            at,
            rejected: None,
            outage_ms_max: None,
        };
        let reason = Some(BreakReason::ApiError);
        let cause = Cause { reason, failure: Some(failure), message: "why".into() };
        let remedies = Remedies { key: "set KEY".into(), ..Remedies::default() };
        after(&cause, code, (&ConversationId::new("abc"), None), &remedies).join("\n")
    }

    #[test]
    fn what_would_fail_again_is_not_advised() {
        let again = "piton query --continue --id abc";
        assert!(said(FailureClass::Auth, Code::Failed).starts_with("set KEY, then: "));
        assert!(said(FailureClass::Quota, Code::Failed).starts_with("see to the account"));
        for (class, code) in [
            (FailureClass::ContextOverflow, Code::Limit),
            (FailureClass::InvalidRequest, Code::Failed),
            (FailureClass::ContentFilter, Code::Failed),
        ] {
            let said = said(class, code);
            assert!(!said.lines().any(|line| line.ends_with(again)), "{said}");
            assert!(said.contains("--discard-turn") && said.contains("--model MODEL"), "{said}");
        }
        assert!(said(FailureClass::Overloaded, Code::Transient).starts_with("to try again"));
    }

    #[test]
    fn other_models_that_could_answer_are_named() {
        let with = |others: &[&str]| {
            let others = others.iter().map(|other| (*other).to_owned()).collect();
            Remedies { others, ..Remedies::default() }.other("piton query --continue")
        };
        assert!(with(&[]).ends_with("--continue --model MODEL"));
        assert!(with(&["a/b"]).ends_with("--continue --model a/b"));
        assert!(with(&["a/b", "c/d", "e/f"]).ends_with("--model a/b (or c/d or e/f)"));
    }

    #[test]
    fn where_no_allowance_was_used_up_a_fresh_one_is_not_advised() {
        let cause =
            Cause { reason: Some(BreakReason::Limit), failure: None, message: "why".into() };
        let allowance = serde_json::json!({"tokens": 20, "tokens_max": 150});
        let remedies = Remedies::default().within(serde_json::from_value(allowance).unwrap());
        let ways = after(&cause, Code::Limit, (&ConversationId::new("abc"), None), &remedies);
        let told =
            "to go on with a model that takes more: piton query --continue --id abc --model MODEL";
        assert_eq!(ways.first().map(String::as_str), Some(told));
        assert!(!ways.join(" ").contains("allowance"), "{ways:?}");
    }

    // D68
    #[test]
    fn a_limit_that_was_reached_can_be_raised_by_the_flag_that_sets_it() {
        let told = |reason, allowance: serde_json::Value| {
            let allowance = serde_json::from_value(allowance).unwrap();
            let remedies = Remedies::default().within(allowance);
            let cause = Cause { reason: Some(reason), failure: None, message: "why".into() };
            after(&cause, Code::Limit, (&ConversationId::new("abc"), None), &remedies)
                .swap_remove(1)
        };
        let flag = |flag: &str| {
            format!("to go on with a higher limit: piton query --continue --id abc {flag}")
        };
        let over = serde_json::json!({"tokens": 220, "tokens_max": 150, "microdollars_max": 9});
        assert_eq!(told(BreakReason::Limit, over), flag("--max-turn-tokens 300"));
        let over = serde_json::json!({"microdollars": 1_300_000, "microdollars_max": 1_250_000});
        assert_eq!(told(BreakReason::Limit, over), flag("--max-cost 2.5"));
        let over = serde_json::json!({"steps": 5, "steps_max": 5, "tokens_max": 9});
        assert_eq!(told(BreakReason::MaxSteps, over), flag("--max-steps 10"));
        assert_eq!(typed_dollars(2_000_000), "2");
        assert_eq!(typed_dollars(20), "0.00002");
    }
}
