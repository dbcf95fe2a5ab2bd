//! Whose reading of the format is spoken.

use crate::{Ask, Takes};

/// A reading of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// `OpenAI` itself, Azure, and hosts that copy it without additions.
    OpenAi,
    /// `DeepSeek`, and hosts such as Moonshot and Z.ai that want `reasoning_content` back.
    DeepSeek,
    /// Mistral: ids of nine letters, no unknown keys.
    Mistral,
    /// `OpenRouter`: `reasoning_details` go back with the ids they speak of.
    OpenRouter,
    /// Servers on one's own machines: Ollama, vLLM, llama.cpp, and others with chat templates.
    Local,
}

impl Flavour {
    pub(super) fn takes(self, ask: &Ask) -> Takes {
        match self {
            Self::OpenAi => Takes::openai(&ask.model),
            Self::DeepSeek => Takes::NOTHING,
            // Whether a model sees is not in its name here; the server says so.
            Self::Mistral | Self::Local => Takes::IMAGES,
            // Reads documents itself for models that cannot.
            Self::OpenRouter => Takes { pdf: true, ..Takes::IMAGES },
        }
    }
}
