//! The system prompt: one fixed text, and instructions and skills as they were when the conversation began.

use crate::instructions::{InstructionFile, Instructions};
use crate::skills::Skills;

/// How to work. The same for every conversation, so that providers can keep it: nothing that changes
/// belongs in here. What changes is told with messages.
const PROMPT: &str = include_str!("prompt.md");

/// The system prompt of a conversation that begins with these instructions.
pub(crate) fn system_prompt(instructions: &Instructions, skills: &Skills) -> String {
    let sections = instructions.files.iter().map(InstructionFile::section);
    let prompt = std::iter::once(PROMPT.trim_end().to_owned());
    prompt.chain(sections).chain(skills.list()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters that count as one token in the house's estimate.
    const CHARS_PER_TOKEN: usize = 4;
    const TOKENS_MAX: usize = 1_500;

    #[test]
    fn the_prompt_is_short_and_has_nothing_in_it_that_changes() {
        assert!(PROMPT.len() / CHARS_PER_TOKEN <= TOKENS_MAX, "{} characters", PROMPT.len());
        assert!(!PROMPT.contains(|c: char| c.is_ascii_digit()), "a number may change");
    }

    #[test]
    fn without_instructions_the_prompt_is_the_same_everywhere() {
        assert_eq!(system_prompt(&Instructions::default(), &Skills::default()), PROMPT.trim_end());
    }
}
