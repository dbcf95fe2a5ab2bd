//! The two readings of the format, and the files that each takes.

use crate::{Ask, Takes};

/// The dialect. The two differ in a table of small choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenAiResponses {
    /// The public API and the servers that speak it.
    Public,
    /// The backend behind a `ChatGPT` login, which takes fewer parameters and insists on some.
    Codex,
}

impl OpenAiResponses {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Public => "openai_responses",
            Self::Codex => "codex",
        }
    }
}

pub(super) fn takes(variant: OpenAiResponses, ask: &Ask) -> Takes {
    match variant {
        OpenAiResponses::Public if ask.host.contains("deepseek") => Takes::NOTHING,
        OpenAiResponses::Public => Takes::openai(&ask.model),
        // Its own client sends images and never documents.
        OpenAiResponses::Codex => Takes { pdf: false, ..Takes::openai(&ask.model) },
    }
}
