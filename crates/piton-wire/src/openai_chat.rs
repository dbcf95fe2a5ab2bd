//! `OpenAI` Chat Completions and the many servers that speak it.
//!
//! One format, five flavours. What differs between them is a table of small choices (how an id
//! looks, which reasoning field goes back, what a limit is called); what is strict in one of them
//! is done for all, because a body that the strictest server takes is taken by the others too:
//! roles alternate, arguments are JSON objects, names fit the narrowest pattern.

mod calls;
mod chunk;
mod decode;
mod encode;
mod failure;
mod native;
mod resets;
pub mod rules;
mod spelling;

use piton_core::event::ToolSpec;
use piton_core::transcript::Transcript;

use crate::cache::Cache;
use crate::{Ask, Decoder, Dialect, Failure, Takes, names};

/// Whose reading of the format is spoken.
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
    fn takes(self, ask: &Ask) -> Takes {
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

/// The dialect.
#[derive(Clone, Copy, Debug)]
pub struct OpenAiChat {
    /// Whose reading of it.
    pub flavour: Flavour,
}

impl Dialect for OpenAiChat {
    fn path(&self, _ask: &Ask) -> String {
        "/chat/completions".into()
    }

    fn headers(&self, _ask: &Ask) -> Vec<(&'static str, String)> {
        vec![("content-type", "application/json".into()), ("accept", "text/event-stream".into())]
    }

    fn encode(&self, transcript: &Transcript, ask: &Ask, cache: &mut Cache) -> Vec<u8> {
        encode::body(self.flavour, transcript, ask, cache)
    }

    fn takes(&self, ask: &Ask) -> Takes {
        self.flavour.takes(ask)
    }

    fn decoder(&self, tools: &[ToolSpec], ask: &Ask) -> Box<dyn Decoder> {
        names::restoring(Box::new(decode::ChatDecoder::new(self.flavour, ask)), tools)
    }

    fn failure(
        &self,
        status: u16,
        header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
    ) -> Failure {
        failure::of_answer(status, header, body)
    }
}
