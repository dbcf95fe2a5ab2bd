//! What every dialect can do.

use std::fmt;

use piton_core::event::ToolSpec;
use piton_core::transcript::Transcript;

use crate::cache::Cache;
use crate::{Ask, Decoder, Failure, Takes};

/// A provider's wire format.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// Where the request goes, below the base URL.
    fn path(&self, ask: &Ask) -> String;

    /// Headers that the format itself asks for; authentication is not its business.
    fn headers(&self, ask: &Ask) -> Vec<(&'static str, String)>;

    /// Makes the body. Cannot fail: a transcript is valid by type, and everything that one provider
    /// rejects and another accepts (ids, order, empty parts) is mended here. The cache keeps what
    /// does not change from request to request, so a step costs what is new.
    fn encode(&self, transcript: &Transcript, ask: &Ask, cache: &mut Cache) -> Vec<u8>;

    /// Which files can be sent. What cannot is told to the model in its place.
    fn takes(&self, ask: &Ask) -> Takes;

    /// Reads one answer to a request that offered `tools`: calls come back with the real names of
    /// the tools, however those had to be spelled on the wire.
    fn decoder(&self, tools: &[ToolSpec], ask: &Ask) -> Box<dyn Decoder>;

    /// Says what an answer with an error status means.
    fn failure(&self, status: u16, header: &dyn Fn(&str) -> Option<String>, body: &[u8])
    -> Failure;
}
