//! Tokens of an answer, as this service counts them.

use piton_core::event::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Counts {
    #[serde(rename = "promptTokenCount")]
    prompt: Option<u64>,
    #[serde(rename = "toolUsePromptTokenCount")]
    tool_prompt: Option<u64>,
    #[serde(rename = "cachedContentTokenCount")]
    cached: Option<u64>,
    #[serde(rename = "candidatesTokenCount")]
    text: Option<u64>,
    #[serde(rename = "thoughtsTokenCount")]
    thoughts: Option<u64>,
}

/// The last value of each count; a chunk may repeat only some of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    prompt: u64,
    tool_prompt: u64,
    cached: u64,
    text: u64,
    thoughts: u64,
}

impl Counted {
    /// Takes in what a chunk says. Odd counts are not worth an answer.
    pub(super) fn take(&mut self, raw: &RawValue) {
        let Ok(counts) = serde_json::from_str::<Counts>(raw.get()) else {
            return;
        };
        for (known, new) in [
            (&mut self.prompt, counts.prompt),
            (&mut self.tool_prompt, counts.tool_prompt),
            (&mut self.cached, counts.cached),
            (&mut self.text, counts.text),
            (&mut self.thoughts, counts.thoughts),
        ] {
            *known = new.unwrap_or(*known);
        }
    }

    /// What server-side tools read is counted apart, and so are thoughts; the prompt includes what
    /// came from a cache.
    pub(super) fn usage(self) -> Usage {
        Usage {
            input: self.prompt.saturating_add(self.tool_prompt),
            output: self.text.saturating_add(self.thoughts),
            cached: self.cached,
        }
    }
}
