//! Gemini `streamGenerateContent`, at Google's own API, at Vertex, and behind gateways.
//!
//! Knows the two framings (`alt=sse` and the growing JSON array), what must be replayed verbatim
//! (thought signatures) and what an unsigned history needs instead. Refuses server-side state:
//! no `cachedContent`, no stored conversations; a request carries all that it means. Prompt caches
//! work on the prefix here, so there is no hint to send, only bytes that stay the same.

mod decode;
mod encode;
mod failure;
mod finish;
mod frames;
mod model;
mod native;
mod nesting;
mod partial_args;
pub mod rules;
mod usage;

use piton_core::event::ToolSpec;
use piton_core::transcript::Transcript;

use crate::cache::Cache;
use crate::{Ask, Decoder, Dialect, Failure, Takes, names};

/// The dialect. The base URL ends with the version (`…/v1beta`), or with `…/publishers/google` at
/// Vertex, because only the deployment knows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gemini;

impl Dialect for Gemini {
    fn path(&self, ask: &Ask) -> String {
        let model = url_path(&ask.model);
        // Tuned and foreign models are named with their collection.
        let collection = if model.contains('/') { "" } else { "models/" };
        format!("/{collection}{model}:streamGenerateContent?alt=sse")
    }

    fn headers(&self, _: &Ask) -> Vec<(&'static str, String)> {
        vec![("content-type", "application/json".into())]
    }

    fn encode(&self, transcript: &Transcript, ask: &Ask, cache: &mut Cache) -> Vec<u8> {
        encode::body(transcript, ask, cache)
    }

    fn takes(&self, _: &Ask) -> Takes {
        model::TAKES
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
        failure::of_answer(status, header, body)
    }
}

/// The name is the user's: it must not reach another path or add parameters.
fn url_path(model: &str) -> String {
    let mut path = String::with_capacity(model.len());
    for byte in model.trim_matches('/').bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'@' | b'/' => {
                path.push(char::from(byte));
            }
            byte => path.extend(['%', hex(byte >> 4), hex(byte & 15)]),
        }
    }
    path
}

fn hex(digit: u8) -> char {
    char::from_digit(u32::from(digit), 16).unwrap_or('0').to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_stays_in_its_path() {
        assert_eq!(url_path("gemini-3?key=1#x y"), "gemini-3%3Fkey%3D1%23x%20y");
        assert_eq!(url_path("tunedModels/mine"), "tunedModels/mine");
    }
}
