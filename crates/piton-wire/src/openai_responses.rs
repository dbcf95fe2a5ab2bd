//! `OpenAI` Responses, stateless, and the Codex variant of it.
//!
//! Every request carries all items: `store` is off, nothing refers to what a server may have kept,
//! no item has an id, and calls go by our own names. So a conversation survives a switch of account
//! or host; only encrypted reasoning is bound to where it came from, and it is left out elsewhere.
//!
//! Knows nothing of accounts, of `previous_response_id` and of background responses.

mod decode;
mod encode;
mod failure;
mod native;
pub mod rules;

use piton_core::event::ToolSpec;
use piton_core::transcript::Transcript;

use crate::cache::Cache;
use crate::{Ask, Decoder, Dialect, Failure, Takes, names};

/// Where requests go; base URLs of this family end with their version (`…/v1`, `…/codex`).
const PATH: &str = "/responses";

/// The dialect. The two differ in a table of small choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenAiResponses {
    /// The public API and the servers that speak it.
    Public,
    /// The backend behind a `ChatGPT` login, which takes fewer parameters and insists on some.
    Codex,
}

impl OpenAiResponses {
    fn name(self) -> &'static str {
        match self {
            Self::Public => "openai_responses",
            Self::Codex => "codex",
        }
    }
}

impl Dialect for OpenAiResponses {
    fn path(&self, _ask: &Ask) -> String {
        PATH.into()
    }

    fn headers(&self, ask: &Ask) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/json".into()),
            ("accept", "text/event-stream".into()),
        ];
        if *self == Self::Codex {
            headers.push(("originator", "piton".into()));
            headers.push(("openai-beta", "responses=experimental".into()));
            let conversation = header_value(&ask.cache_key);
            if !conversation.is_empty() {
                headers.push(("session-id", conversation.clone()));
                headers.push(("thread-id", conversation));
            }
        }
        headers
    }

    fn encode(&self, transcript: &Transcript, ask: &Ask, cache: &mut Cache) -> Vec<u8> {
        encode::body(*self, transcript, ask, cache)
    }

    fn takes(&self, ask: &Ask) -> Takes {
        match self {
            Self::Public if ask.host.contains("deepseek") => Takes::NOTHING,
            Self::Public => Takes::openai(&ask.model),
            // Its own client sends images and never documents.
            Self::Codex => Takes { pdf: false, ..Takes::openai(&ask.model) },
        }
    }

    fn decoder(&self, tools: &[ToolSpec], ask: &Ask) -> Box<dyn Decoder> {
        names::restoring(Box::new(decode::ResponsesDecoder::new(ask)), tools)
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

/// A conversation's name is free text; a header is not.
fn header_value(text: &str) -> String {
    text.chars().filter(char::is_ascii_graphic).collect()
}
