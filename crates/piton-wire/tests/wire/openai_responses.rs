//! Streams, bodies and failures of this dialect.

mod bodies;
mod failures;
mod real;
mod rules;
mod streams;

use piton_wire::Ask;

use crate::transcripts::ask;

/// A model that reasons.
fn frame() -> Ask {
    ask("openai", "gpt-5")
}
