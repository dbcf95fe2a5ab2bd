//! The attempts of a message: how each ended, what it used, and what it did that stays.

use piton_agent::typed;
use piton_core::view::{
    BreakReason, CallState, CallView, EffectClass, Halt, ItemView, MessageView, Outcome, StepView,
    TurnEnd, TurnView, Usage,
};

use super::cost::{self, dollars, used};
use super::tool;

/// One attempt of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried<'a> {
    pub(crate) said: &'a MessageView,
    /// What followed on it, in order.
    pub(crate) items: &'a [ItemView],
    end: Option<TurnEnd>,
    halt: Option<&'a Halt>,
    /// Whether it is the one that counts.
    pub(crate) is_present: bool,
}

/// The attempts of the message at a place of a turn, the present one last.
pub(crate) fn attempts(turn: &TurnView, place: usize) -> Vec<Tried<'_>> {
    let Some(ItemView::Message(said)) = turn.items.get(place) else { return Vec::new() };
    let old = turn.attempts.iter().filter(|old| old.message.id == said.id);
    let old = old.map(|old| Tried {
        said: &old.message,
        items: &old.items,
        end: old.end,
        halt: old.halt.as_ref(),
        is_present: false,
    });
    let items = turn.items.get(place + 1..).unwrap_or_default();
    let (end, halt) = (turn.head.end, turn.head.halt.as_ref());
    old.chain([Tried { said, items, end, halt, is_present: true }]).collect()
}

impl<'a> Tried<'a> {
    fn steps(self) -> impl Iterator<Item = &'a StepView> {
        self.items.iter().filter_map(|item| match item {
            ItemView::Step(step) => Some(step),
            ItemView::Message(_) | _ => None,
        })
    }

    /// Who was asked, each once, in order.
    pub(crate) fn models(self) -> Vec<String> {
        let mut models: Vec<String> = Vec::new();
        for model in self.steps().filter_map(|step| step.model.as_ref()).map(typed) {
            if !models.contains(&model) {
                models.push(model);
            }
        }
        models
    }

    /// How many steps it has: answers of the model.
    pub(crate) fn answers(self) -> usize {
        self.steps().filter(|step| step.usage.is_some()).count()
    }

    /// Tokens of its answers.
    pub(crate) fn usage(self) -> Usage {
        let used = self.steps().filter_map(|step| step.usage);
        used.fold(Usage::default(), Usage::plus)
    }

    /// What they cost, in millionths of a dollar, if the prices of all its models are known.
    pub(crate) fn cost(self) -> Option<u64> {
        cost::of_steps(self.steps())
    }

    /// How it ended, in one word, and why.
    pub(crate) fn ended(self) -> (&'static str, Option<&'a str>) {
        match (self.end, self.halt) {
            (Some(TurnEnd::Completed), _) => ("answered", None),
            (Some(TurnEnd::Stopped), _) => ("stopped", None),
            (Some(TurnEnd::Discarded), _) => ("discarded", None),
            (None, Some(halt)) => {
                let word = match halt.reason {
                    BreakReason::Interrupted => return ("interrupted", None),
                    BreakReason::ApiError | BreakReason::EmptyAnswer => "failed",
                    BreakReason::MaxSteps | BreakReason::Limit => "limit",
                };
                (word, Some(&halt.message))
            }
            (None, None) if self.is_present => ("open", None),
            // Whoever worked on it was gone.
            (None, None) => ("lost", None),
        }
    }

    /// Its calls whose effects stay, whatever becomes of the attempt.
    pub(crate) fn effects(self) -> impl Iterator<Item = &'a CallView> {
        self.steps().flat_map(|step| &step.calls).filter(|call| stands(call))
    }

    /// The attempt in one line: which of how many, who answered, how it ended, what it took.
    pub(crate) fn line(self, count: usize) -> String {
        let number = self.said.attempt.0;
        let models = self.models().join(", ");
        let models = if models.is_empty() { "nobody was asked".into() } else { models };
        let ended = match self.ended() {
            (word, None) => word.to_owned(),
            (word, Some(why)) => format!("{word}, {}", why.trim_end_matches('.')),
        };
        let steps = match self.answers() {
            1 => "1 step".to_owned(),
            steps => format!("{steps} steps"),
        };
        let parts = [Some(steps), used(self.usage()), self.cost().map(dollars)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let (id, parts) = (&self.said.id, parts.join(" · "));
        format!("[message {id}, attempt {number} of {count} · {models} · {ended} · {parts}]")
    }
}

/// Whether a call may have changed something that stays. One that was stopped in the middle may have, too.
pub(crate) fn stands(call: &CallView) -> bool {
    let acts = call.effect.is_some_and(|effect| effect != EffectClass::ReadOnly);
    acts && match call.state {
        CallState::Done { outcome, .. } => match outcome {
            Outcome::Ok | Outcome::Unknown | Outcome::Cancelled => true,
            Outcome::Failed | Outcome::Denied => false,
        },
        CallState::Running | CallState::InDoubt | CallState::Parked { .. } => true,
        CallState::Waiting | _ => false,
    }
}

/// An effect in one line: what was run, and how it ended.
pub(crate) fn effect(call: &CallView) -> String {
    let input = tool::input(call);
    match call.state {
        CallState::Done { outcome, exit_code } => {
            let end = match (outcome, exit_code) {
                (Outcome::Cancelled, _) => "stopped in the middle".to_owned(),
                (_, Some(code)) if code != 0 => format!("exit code {code}"),
                (outcome, _) => tool::word(outcome).to_owned(),
            };
            format!("{} {input} — {end}", tool::mark(outcome, exit_code))
        }
        CallState::Waiting
        | CallState::Running
        | CallState::InDoubt
        | CallState::Parked { .. }
        | _ => format!("? {input} — outcome unknown"),
    }
}

/// The attempts against each other: every effect once, with the attempts that had it.
pub(crate) fn compared(tried: &[Tried<'_>]) -> Vec<String> {
    let mut rows: Vec<(String, Vec<u32>)> = Vec::new();
    for attempt in tried {
        let number = attempt.said.attempt.0;
        for line in attempt.effects().map(effect) {
            match rows.iter_mut().find(|(known, _)| *known == line) {
                Some((_, numbers)) if numbers.contains(&number) => {}
                Some((_, numbers)) => numbers.push(number),
                None => rows.push((line, vec![number])),
            }
        }
    }
    let row = |(line, numbers): (String, Vec<u32>)| {
        let which: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let word = if which.len() == 1 { "attempt" } else { "attempts" };
        format!("  {word} {}: {line}", which.join(", "))
    };
    rows.into_iter().map(row).collect()
}
