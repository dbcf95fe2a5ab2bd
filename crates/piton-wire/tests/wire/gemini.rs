//! Streams, bodies and failures of this dialect.

mod any_bytes;
mod bodies;
mod failures;
mod replayed;
mod rules;
mod streams;

use piton_wire::Ask;
use serde_json::Value;

use crate::transcripts::ask;

/// A request's frame; `gemini-3` must sign its calls.
fn gemini(model: &str) -> Ask {
    ask("google", model)
}

/// A body as events, one per value.
fn events(values: &[&str]) -> String {
    let events: Vec<_> = values.iter().map(|value| format!("data: {value}\r\n\r\n")).collect();
    events.concat()
}

/// A body as the growing array.
fn array(values: &[&str]) -> String {
    format!("[{}\n]\n", values.join("\n,\r\n"))
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}
