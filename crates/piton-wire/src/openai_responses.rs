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
mod variant;

use piton_core::event::ToolSpec;
use piton_core::transcript::Transcript;

pub use self::variant::OpenAiResponses;
use crate::cache::Cache;
use crate::{Ask, Decoder, Dialect, Failure, Takes, names};

/// Where requests go; base URLs of this family end with their version (`…/v1`, `…/codex`).
const PATH: &str = "/responses";

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
        variant::takes(*self, ask)
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
