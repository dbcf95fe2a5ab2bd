//! A request that is no part of a conversation: one question, no tools.

use std::sync::Arc;

use super::size::{AnswerRoom, head_letters};
use super::{Files, Settled, Transcript, note};
use crate::event::Effort;
use crate::state::State;

/// What is asked, and how much may be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneShot<'a> {
    /// The system prompt.
    pub(crate) system: &'a str,
    /// The only message.
    pub(crate) text: &'a str,
    /// Most tokens of the answer.
    pub(crate) answer_tokens_max: u32,
}

impl Transcript {
    /// A request with one message, to the model of a conversation.
    pub(crate) fn one_shot(state: &State, asked: OneShot<'_>) -> Self {
        let config = &state.config;
        let mut made = Self {
            model: config.model.clone(),
            effort: Effort::Low,
            answer: AnswerRoom::default(),
            system: asked.system.into(),
            tools: Arc::default(),
            head_letters: head_letters(asked.system, &[]),
            divisor: config.limits.divisor(),
            messages: Arc::new(vec![note(asked.text)]),
            settled: Settled::default(),
            conversation: None,
            files: Files::default(),
        };
        let expected = state.calibration.corrected(made.tokens_estimated());
        let (set, window) = (asked.answer_tokens_max, state.window());
        made.answer = AnswerRoom { set, window, expected };
        made
    }
}
