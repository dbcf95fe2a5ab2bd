//! How many letters a model reads of something, and what that leaves for its answer.

use super::files;
use super::message::Message;
use crate::event::{AnswerPart, ToolSpec, UserPart, Window};
use crate::state::Config;

/// Tokens between the end of a request and of the window that are never promised to an answer: estimates
/// are not exact.
const SPARE_TOKENS: u64 = 1_024;
/// Most tokens that a provider may be left to choose by itself for an answer, where nobody knows more.
const CHOSEN_ANSWER_TOKENS: u32 = 4_096;

/// What bounds the next answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerRoom {
    /// What a person set; 0 leaves it to the provider.
    pub(super) set: u32,
    /// What the model takes, where that is known.
    pub(super) window: Option<Window>,
    /// What the request is expected to be counted as.
    pub(super) expected: u64,
}

impl AnswerRoom {
    /// Most tokens of the answer; 0 leaves it to the provider. Providers check that request and answer
    /// fit the window together.
    pub(super) fn tokens_max(self) -> u32 {
        let (Some(left), Some(window)) = (self.left(), self.window) else { return self.set };
        let said = [self.set, window.answer_tokens_max].into_iter().filter(|most| *most != 0).min();
        if left < said.unwrap_or(CHOSEN_ANSWER_TOKENS) {
            left
        } else {
            self.set.min(said.unwrap_or(0))
        }
    }

    /// What the request leaves of the window, at least 1; none where the window is not known.
    pub(super) fn left(self) -> Option<u32> {
        let Window { tokens, .. } = self.window?;
        let left = tokens.saturating_sub(self.expected).saturating_sub(SPARE_TOKENS).max(1);
        Some(u32::try_from(left).unwrap_or(u32::MAX))
    }
}

/// The system prompt and the tools of a configuration, in tokens as they are estimated.
pub(crate) fn head_tokens(config: &Config) -> (u64, u64) {
    let divisor = config.limits.divisor();
    let tools: usize = config.tools.iter().map(tool_letters).sum();
    (letters(&config.system) as u64 / divisor, tools as u64 / divisor)
}

/// What stands before all messages.
pub(super) fn head_letters(system: &str, tools: &[ToolSpec]) -> usize {
    letters(system) + tools.iter().map(tool_letters).sum::<usize>()
}

pub(super) fn tool_letters(tool: &ToolSpec) -> usize {
    letters(&tool.name) + letters(&tool.description) + letters(&tool.parameters)
}

/// How many letters a model reads of a message.
pub(super) fn message_letters(message: &Message) -> usize {
    match message {
        Message::User(parts) => parts.iter().map(part_letters).sum(),
        Message::Assistant(assistant) => assistant.parts.iter().map(AnswerPart::letters).sum(),
        Message::Results(results) => results
            .iter()
            .map(|result| {
                letters(&result.text) + result.files.iter().map(part_letters).sum::<usize>()
            })
            .sum(),
    }
}

pub(super) fn part_letters(part: &UserPart) -> usize {
    match part {
        UserPart::Text { text } | UserPart::InlinedFile { text, .. } => letters(text),
        UserPart::File { media_type, blob, .. } => files::letters(media_type, blob),
    }
}

pub(super) fn letters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::WindowSource;

    // qwen-code#7960 in another agent: request and answer must fit together.
    #[test]
    fn an_answer_gets_what_the_request_leaves() {
        let room = |set, tokens, answer_tokens_max, expected| {
            let from = WindowSource::Table;
            let window = Some(Window { tokens, answer_tokens_max, from });
            AnswerRoom { set, window, expected }.tokens_max()
        };
        assert_eq!(room(0, 200_000, 64_000, 10_000), 0, "there is room for the longest answer");
        assert_eq!(room(0, 200_000, 64_000, 150_000), 48_976);
        assert_eq!(room(9_000, 200_000, 64_000, 150_000), 9_000);
        assert_eq!(room(90_000, 200_000, 64_000, 10_000), 64_000, "the model gives no more");
        assert_eq!(room(0, 16_384, 0, 10_000), 0);
        assert_eq!(room(0, 16_384, 0, 13_000), 2_360);
        assert_eq!(room(0, 16_384, 0, 99_000), 1, "at least one");
        let unknown = AnswerRoom { set: 7, window: None, expected: 1 };
        assert_eq!(unknown.tokens_max(), 7);
    }
}
