//! Anthropic Messages.
//!
//! Knows the shape and the sequence rules of one endpoint. Refuses to know which account is asked,
//! how often, and what a tool does: a transcript comes in, bytes go out, and the other way round.

mod blank;
mod decode;
mod encode;
mod failure;
mod model;
mod native;
pub mod rules;
mod sound;

use piton_core::event::ToolSpec;
use piton_core::transcript::Transcript;

use crate::cache::Cache;
use crate::{Ask, Decoder, Dialect, Failure, Takes, names};

/// The version of the format that is spoken here.
const VERSION: &str = "2023-06-01";

/// The dialect of Anthropic and of every host that offers its Messages endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anthropic;

impl Dialect for Anthropic {
    fn path(&self, _ask: &Ask) -> String {
        "/v1/messages".into()
    }

    fn headers(&self, _ask: &Ask) -> Vec<(&'static str, String)> {
        vec![("content-type", "application/json".into()), ("anthropic-version", VERSION.into())]
    }

    fn encode(&self, transcript: &Transcript, ask: &Ask, cache: &mut Cache) -> Vec<u8> {
        encode::body(transcript, ask, cache)
    }

    fn takes(&self, ask: &Ask) -> Takes {
        model::takes(&ask.model)
    }

    fn decoder(&self, tools: &[ToolSpec], ask: &Ask) -> Box<dyn Decoder> {
        names::restoring(Box::new(decode::Reader::new(ask)), tools)
    }

    fn failure(
        &self,
        status: u16,
        header: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
    ) -> Failure {
        failure::from_http(status, header, body)
    }
}
