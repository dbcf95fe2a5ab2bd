//! Who may answer: every dialect and flavour, with the models that they treat differently.

use piton_wire::anthropic::{self, Anthropic};
use piton_wire::gemini::{self, Gemini};
use piton_wire::openai_chat::{self, Flavour, OpenAiChat};
use piton_wire::openai_responses::{self, OpenAiResponses};
use piton_wire::{Ask, Dialect, Effort};
use serde_json::Value;

use super::luck::Luck;
use crate::transcripts::ask;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Anthropic,
    Chat(Flavour),
    Responses,
    Codex,
    Gemini,
}

/// A model behind a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Voice {
    pub(crate) format: Format,
    pub(crate) provider: &'static str,
    pub(crate) model: &'static str,
}

const fn voice(format: Format, provider: &'static str, model: &'static str) -> Voice {
    Voice { format, provider, model }
}

/// All of them. Some models are reached in two formats: their sidecars then come home to a format
/// that did not write them.
pub(crate) const VOICES: [Voice; 16] = [
    voice(Format::Anthropic, "anthropic", "claude-sonnet-4-5"),
    voice(Format::Anthropic, "anthropic", "claude-opus-4-7"),
    voice(Format::Anthropic, "anthropic", "claude-3-5-haiku"),
    voice(Format::Anthropic, "moonshot", "kimi-k2"),
    voice(Format::Chat(Flavour::OpenAi), "openai", "gpt-5"),
    voice(Format::Chat(Flavour::DeepSeek), "deepseek", "deepseek-v4"),
    voice(Format::Chat(Flavour::Mistral), "mistral", "mistral-large"),
    voice(Format::Chat(Flavour::OpenRouter), "openrouter", "anthropic/claude-sonnet-4.5"),
    voice(Format::Chat(Flavour::OpenRouter), "openrouter", "google/gemini-3-pro"),
    voice(Format::Chat(Flavour::Local), "local", "qwen3"),
    voice(Format::Responses, "openai", "gpt-5"),
    voice(Format::Responses, "deepseek", "deepseek-v4"),
    voice(Format::Codex, "chatgpt", "gpt-5-codex"),
    voice(Format::Gemini, "google", "gemini-2.0-flash"),
    voice(Format::Gemini, "google", "gemini-2.5-flash"),
    voice(Format::Gemini, "google", "gemini-3-pro"),
];

impl Voice {
    pub(crate) fn dialect(self) -> Box<dyn Dialect> {
        match self.format {
            Format::Anthropic => Box::new(Anthropic),
            Format::Chat(flavour) => Box::new(OpenAiChat { flavour }),
            Format::Responses => Box::new(OpenAiResponses::Public),
            Format::Codex => Box::new(OpenAiResponses::Codex),
            Format::Gemini => Box::new(Gemini),
        }
    }

    pub(crate) fn ask(self) -> Ask {
        ask(self.provider, self.model)
    }

    /// The same, with settings that change the body's frame.
    pub(crate) fn any_ask(self, luck: &mut Luck) -> Ask {
        let efforts = [
            None,
            Some(Effort::None),
            Some(Effort::Minimal),
            Some(Effort::Low),
            Some(Effort::Medium),
            Some(Effort::High),
            Some(Effort::Max),
        ];
        let max_tokens = luck.pick(&[Some(4096), None, Some(0), Some(2000), Some(64_000)]);
        Ask { effort: luck.pick(&efforts), max_tokens, ..self.ask() }
    }

    /// Whether sidecars of the one may be sent to the other.
    pub(crate) fn is_at_home_with(self, other: Self) -> bool {
        (self.provider, self.model) == (other.provider, other.model)
    }

    /// What signs the blocks of this provider's model, and no other's. Base64, as it should be.
    pub(crate) fn signature(self) -> String {
        let home = VOICES.iter().position(|voice| voice.is_at_home_with(self));
        format!("SIGNATURE{:03}", home.unwrap_or(VOICES.len()))
    }

    /// Whether this voice is ever sent its own reasoning again.
    pub(crate) fn signs(self) -> bool {
        !matches!(self.format, Format::Chat(Flavour::OpenAi | Flavour::Mistral))
    }

    /// What this voice's service would reject in a body.
    pub(crate) fn violations(self, body: &Value) -> Vec<String> {
        match self.format {
            Format::Anthropic => anthropic::rules::violations(body),
            Format::Chat(flavour) => openai_chat::rules::flavour_violations(body, flavour),
            Format::Responses => openai_responses::rules::violations(body),
            Format::Codex => openai_responses::rules::codex_violations(body),
            Format::Gemini => gemini::rules::violations_for(self.model, body),
        }
    }

    /// Where a body has the schema of its first tool.
    pub(crate) fn first_schema(self) -> &'static str {
        match self.format {
            Format::Anthropic => "/tools/0/input_schema",
            Format::Chat(_) => "/tools/0/function/parameters",
            Format::Responses | Format::Codex => "/tools/0/parameters",
            Format::Gemini => "/tools/0/functionDeclarations/0/parametersJsonSchema",
        }
    }

    /// The name of the file that keeps its bodies: the format, then what else a validator must know.
    pub(crate) fn file(self) -> String {
        let name = match self.format {
            Format::Anthropic => "anthropic",
            Format::Chat(Flavour::OpenAi) => "openai_chat-openai",
            Format::Chat(Flavour::DeepSeek) => "openai_chat-deepseek",
            Format::Chat(Flavour::Mistral) => "openai_chat-mistral",
            Format::Chat(Flavour::OpenRouter) => "openai_chat-openrouter",
            Format::Chat(Flavour::Local) => "openai_chat-local",
            Format::Responses => "openai_responses",
            Format::Codex => "codex",
            Format::Gemini => return format!("gemini-{}.jsonl", self.model),
        };
        format!("{name}.jsonl")
    }
}
