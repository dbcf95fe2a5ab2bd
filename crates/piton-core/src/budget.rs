//! How much of a model's window a request may take, and whether the next one takes too much.

use crate::event::{UserPart, Window};
use crate::state::{Item, State, Step, Turn};
use crate::summary::input_summary;
use crate::transcript::{Transcript, head_tokens, tokens_of_next};

/// Most tokens of a request to a model whose window nobody knows (D12).
const UNKNOWN_WINDOW_BUDGET: u64 = 180_000;
/// Least tokens of a window that are left for the answer.
const ANSWER_TOKENS_MIN: u64 = 4_096;
/// Of the window, how much is left for the answer.
const ANSWER_PERCENT: u64 = 5;
/// Of the budget, how much a request may take before room is made.
const TRIGGER_PERCENT: u64 = 90;
/// Of the budget, how much is aimed at when room is made.
const AIM_PERCENT: u64 = 50;
/// Of the budget, how much room there should be behind what cannot shrink.
const AIM_BEHIND_FIXED_PERCENT: u64 = 25;
/// What a request must leave behind its fixed parts to be of any use, in tokens.
const WORK_TOKENS_MIN: u64 = 1_024;
/// Of a refused request, how large the next one may be.
const AFTER_REFUSAL_PERCENT: u64 = 80;
/// Of a refused request, what counts as the budget of the next one.
const REFUSED_BUDGET_PERCENT: u64 = 70;

/// How much a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Most tokens of a request.
    pub tokens: u64,
    /// Room is made for a request that is expected to take more than this.
    pub trigger: u64,
    /// What is aimed at then.
    pub aim: u64,
}

impl Budget {
    /// The budget of the next request.
    pub fn of(state: &State) -> Self {
        let limits = &state.config.limits;
        let of_window =
            state.window().map_or(UNKNOWN_WINDOW_BUDGET, |window| within(window.tokens));
        let set = Some(limits.context_tokens_max).filter(|set| 0 < *set);
        let tokens = set.map_or(of_window, |set| set.min(of_window));
        let behind_fixed =
            Fixed::of(state).total().saturating_add(part(tokens, AIM_BEHIND_FIXED_PERCENT));
        Self {
            tokens,
            trigger: part(tokens, TRIGGER_PERCENT),
            aim: part(tokens, AIM_PERCENT).max(behind_fixed),
        }
    }
}

/// What may be sent into a window.
fn within(window: u64) -> u64 {
    window.saturating_sub(part(window, ANSWER_PERCENT).max(ANSWER_TOKENS_MIN))
}

/// So much of it.
pub(crate) fn part(tokens: u64, percent: u64) -> u64 {
    tokens.saturating_mul(percent) / 100
}

/// What cannot shrink, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fixed {
    prompt: u64,
    tools: u64,
    /// What piton tells with the open turn, and beside a summary.
    instructions: u64,
    /// What the user said in the open turn.
    message: u64,
}

impl Fixed {
    fn of(state: &State) -> Self {
        let divisor = state.config.limits.divisor();
        let (prompt, tools) = head_tokens(&state.config);
        let turn = state.open_turn();
        let told = turn.into_iter().flat_map(|turn| &turn.context);
        let told = told.chain(state.overlay.iter().flat_map(|overlay| &overlay.context));
        let told = told.filter_map(|item| item.text.as_deref());
        let said = turn.into_iter().flat_map(Turn::said).flat_map(|said| &said.parts);
        let told: u64 = told.map(letters).sum();
        let said: u64 = said.filter_map(text_of).map(letters).sum();
        Self { prompt, tools, instructions: told / divisor, message: said / divisor }
    }

    fn total(self) -> u64 {
        let Self { prompt, tools, instructions, message } = self;
        prompt.saturating_add(tools).saturating_add(instructions).saturating_add(message)
    }
}

fn text_of(part: &UserPart) -> Option<&str> {
    match part {
        UserPart::Text { text } | UserPart::InlinedFile { text, .. } => Some(text),
        UserPart::File { .. } => None,
    }
}

pub(crate) fn letters(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

/// Why no request can be made at all: what cannot shrink leaves no room in the window.
pub(crate) fn too_small_a_window(state: &State) -> Option<String> {
    let Window { tokens: window, .. } = state.window()?;
    let (most, fixed) = (within(window), Fixed::of(state));
    if fixed.total().saturating_add(WORK_TOKENS_MIN) <= most {
        return None;
    }
    let Fixed { prompt, tools, instructions, message } = fixed;
    Some(format!(
        "the model takes {window} tokens, of which a request may use {most}; the prompt has {prompt}, the \
         tools {tools}, instructions {instructions}, your message {message}, and work needs \
         {WORK_TOKENS_MIN}: go on with a model that takes more"
    ))
}

/// Whether the next request is expected to take too much.
pub(crate) fn is_over(state: &State) -> bool {
    Budget::of(state).trigger < state.tokens_expected(tokens_of_next(state))
}

/// Whether a step's request was refused as too large, and the next one would not be much smaller (K44).
pub(crate) fn is_refused(state: &State, step: &Step) -> bool {
    is_too_large(state, step) && {
        let most = part(step.request.estimated, AFTER_REFUSAL_PERCENT);
        most < Transcript::from(state).tokens_estimated()
    }
}

fn is_too_large(state: &State, step: &Step) -> bool {
    step.request.too_large && step.model == state.config.model
}

/// What shares of a request are measured by, in tokens: the budget, or less if the provider has refused a
/// request that was below it.
pub(crate) fn measure(state: &State) -> u64 {
    let last = state.open_turn().and_then(|turn| turn.items.last());
    let budget = Budget::of(state).tokens;
    match last {
        Some(Item::Step(step)) if is_too_large(state, step) => {
            budget.min(part(step.request.estimated, REFUSED_BUDGET_PERCENT))
        }
        Some(Item::Step(_) | Item::User(_)) | None => budget,
    }
}

/// The largest thing that a request carries, in words.
pub(crate) fn largest(state: &State) -> Option<String> {
    let divisor = state.config.limits.divisor();
    let (prompt, tools) = head_tokens(&state.config);
    let head =
        [(prompt, "the prompt".to_owned()), (tools, "the description of the tools".to_owned())];
    let outputs = state.steps_sent().flat_map(|(_, step)| &step.calls).filter_map(|call| {
        let what = input_summary(&call.name, &call.arguments);
        let size = letters(call.output_sent()?) / divisor;
        Some((size, format!("what {what} gave (call {})", call.id)))
    });
    let turns = state.turns.iter().filter(|turn| state.is_sent(turn));
    let said = turns.flat_map(Turn::said).map(|said| {
        let size: u64 = said.parts.iter().filter_map(text_of).map(letters).sum();
        (size / divisor, format!("your message {}", said.message))
    });
    let (size, what) = head.into_iter().chain(outputs).chain(said).max_by_key(|(size, _)| *size)?;
    Some(format!("the largest part is {what}, about {size} tokens"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::WindowSource;

    fn budget(window: Option<u64>, set: u64) -> (u64, u64) {
        let mut state = State::default();
        let from = WindowSource::Table;
        state.config.limits.window =
            window.map(|tokens| Window { tokens, answer_tokens_max: 0, from });
        state.config.limits.context_tokens_max = set;
        let Budget { tokens, trigger, .. } = Budget::of(&state);
        (tokens, trigger)
    }

    // X24, D12
    #[test]
    fn the_budget_follows_from_the_window_and_a_setting_only_lowers_it() {
        assert_eq!(budget(Some(200_000), 0), (190_000, 171_000));
        assert_eq!(budget(Some(16_384), 0), (12_288, 11_059));
        assert_eq!(budget(Some(4_096), 0), (0, 0));
        assert_eq!(budget(None, 0), (180_000, 162_000));
        assert_eq!(budget(Some(200_000), 50_000), (50_000, 45_000));
        assert_eq!(budget(Some(200_000), 500_000), (190_000, 171_000));
        assert_eq!(budget(None, 500_000), (180_000, 162_000));
    }
}
