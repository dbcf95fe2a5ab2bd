//! Thinking blocks, kept as they came and sent back as they came.
//!
//! Signatures bind the text of a thought to the model and the host that had it. So a block goes
//! back byte for byte to where it came from, or not at all: a thought is never sent as plain text,
//! and never without its neighbours, because the service accepts a message without any of its
//! thoughts but not one with some of them.

use std::fmt::Write as _;

use piton_core::event::Native;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::sound;
use crate::Ask;

/// Where an answer comes from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    provider: String,
    host: String,
    model: String,
}

impl Origin {
    pub(super) fn of(ask: &Ask) -> Self {
        Self { provider: ask.provider.clone(), host: ask.host.clone(), model: ask.model.clone() }
    }
}

/// A thinking block and its place: how many texts and calls of the answer stand before it.
#[derive(Debug, Deserialize)]
pub(super) struct Kept<'a> {
    pub(super) before: usize,
    #[serde(borrow)]
    pub(super) block: &'a RawValue,
}

/// Thinking blocks on their way into the journal.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    raw: String,
}

/// More than what is written around what is in a block.
const FRAME_BYTES: usize = 128;

impl Keeper {
    /// With room for blocks that hold so many bytes: they can be large, and growing copies.
    pub(super) fn with_room(sizes: impl Iterator<Item = usize>) -> Self {
        let bytes = sizes.filter(|bytes| 0 < *bytes).map(|bytes| bytes + FRAME_BYTES).sum();
        Self { raw: String::with_capacity(bytes) }
    }

    /// Keeps a block whose JSON text is that of the pieces together.
    pub(super) fn keep(&mut self, before: usize, block: &[&str]) {
        self.raw.push(if self.raw.is_empty() { '[' } else { ',' });
        // Writing to a string cannot fail.
        write!(self.raw, r#"{{"before":{before},"block":"#).unwrap_or_default();
        self.raw.extend(block.iter().copied());
        self.raw.push('}');
    }

    /// What was kept, if anything.
    pub(super) fn finish(mut self, origin: &Origin) -> Option<Native> {
        if self.raw.is_empty() {
            return None;
        }
        self.raw.push(']');
        let Origin { provider, host, model } = origin.clone();
        Some(Native { provider, host, model, raw: self.raw.into() })
    }
}

/// The blocks that may be sent with `ask`, in order: all of them, or none.
pub(super) fn replayable<'a>(native: Option<&'a Native>, ask: &Ask) -> Vec<Kept<'a>> {
    let Some(native) = native else { return Vec::new() };
    if native.provider != ask.provider || native.host != ask.host || native.model != ask.model {
        return Vec::new();
    }
    let kept: Vec<Kept<'a>> = serde_json::from_str(&native.raw).unwrap_or_default();
    if kept.iter().all(|kept| is_signed(kept.block)) { kept } else { Vec::new() }
}

/// Whether the service would take the block as one of its own.
fn is_signed(block: &RawValue) -> bool {
    let Some(block) = sound::object(block.get()) else { return false };
    let has = |field: &str| block.get(field).and_then(Value::as_str);
    let proof = match has("type") {
        Some("thinking") if has("thinking").is_some() => has("signature"),
        Some("redacted_thinking") => has("data"),
        Some(_) | None => None,
    };
    proof.is_some_and(|proof| !proof.is_empty())
}
