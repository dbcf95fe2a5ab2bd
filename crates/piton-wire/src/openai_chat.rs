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
mod flavour;
mod native;
mod resets;
pub mod rules;
mod spelling;

use piton_core::event::ToolSpec;
use piton_core::transcript::Transcript;

pub use self::flavour::Flavour;
use crate::cache::Cache;
use crate::{Ask, Decoder, Dialect, Failure, Takes, names};

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
