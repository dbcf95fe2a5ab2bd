//! How large a request is in tokens, and by part. No tokeniser of any provider.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::is_context;
use super::message::Message;
use super::size::{letters, message_letters, part_letters, tool_letters};
use super::{SUMMARY_HEADING, Transcript};
use crate::event::UserPart;

/// What a request consists of, in tokens as they are estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Parts {
    /// The system prompt.
    pub prompt: u64,
    /// The tools offered.
    pub tools: u64,
    /// What piton tells beside what was said: instructions that changed, the date.
    pub instructions: u64,
    /// The summary of what is no longer sent.
    pub summary: u64,
    /// What tools gave.
    pub outputs: u64,
    /// What was said and answered.
    pub rest: u64,
}

impl Transcript {
    /// A rough size in tokens; no tokeniser of any provider.
    pub fn tokens_estimated(&self) -> u64 {
        let rest: usize =
            self.messages.iter().skip(self.settled.messages).map(message_letters).sum();
        (self.head_letters + self.settled.letters + rest) as u64 / self.divisor
    }

    /// The same, by part.
    pub fn parts_estimated(&self) -> Parts {
        let mut found = Parts {
            prompt: letters(&self.system) as u64,
            tools: self.tools.iter().map(tool_letters).sum::<usize>() as u64,
            ..Parts::default()
        };
        for message in self.messages() {
            let all = message_letters(message) as u64;
            match message {
                Message::Results(_) => found.outputs += all,
                Message::Assistant(_) => found.rest += all,
                Message::User(parts) => {
                    let told = parts.iter().filter(|part| is_context(part));
                    let told = told.map(part_letters).sum::<usize>() as u64;
                    found.instructions += told;
                    let is_summary = parts.iter().any(is_summary);
                    let place = if is_summary { &mut found.summary } else { &mut found.rest };
                    *place += all - told;
                }
            }
        }
        found.divided(self.divisor)
    }
}

impl Parts {
    /// All of it.
    pub fn total(self) -> u64 {
        let Self { prompt, tools, instructions, summary, outputs, rest } = self;
        prompt + tools + instructions + summary + outputs + rest
    }

    fn divided(self, by: u64) -> Self {
        let Self { prompt, tools, instructions, summary, outputs, rest } = self;
        Self {
            prompt: prompt / by,
            tools: tools / by,
            instructions: instructions / by,
            summary: summary / by,
            outputs: outputs / by,
            rest: rest / by,
        }
    }
}

fn is_summary(part: &UserPart) -> bool {
    matches!(part, UserPart::Text { text } if text.starts_with(SUMMARY_HEADING))
}
