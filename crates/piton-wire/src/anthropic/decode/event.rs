//! The events of a stream, typed, borrowing from the bytes.
//!
//! One struct for all events: the pieces of text and arguments that make up nearly all of a stream
//! are read in one pass, and what is rare stays raw until it is known what it is.

use std::borrow::Cow;

use piton_core::event::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Events, blocks and pieces that are read. Others are skipped.
const EVENTS: [&str; 7] = [
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "error",
    "message_delta",
    "message_start",
    "message_stop",
];
const BLOCKS: [&str; 4] = ["redacted_thinking", "text", "thinking", "tool_use"];
/// Keys of signatures and redacted thoughts. Their long values are lifted out before the parse.
pub(super) const OPAQUE_KEYS: [&str; 2] = ["\"signature\"", "\"data\""];
const PIECES: [&str; 4] = ["input_json_delta", "signature_delta", "text_delta", "thinking_delta"];

#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    pub(super) index: Option<u32>,
    #[serde(borrow)]
    pub(super) delta: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// More of a block, or the end of a message.
#[derive(Debug, Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    #[serde(borrow)]
    pub(super) signature: Option<&'a RawValue>,
    pub(super) partial_json: Option<String>,
    pub(super) stop_reason: Option<String>,
}

/// A block as it begins.
#[derive(Debug, Deserialize)]
pub(super) struct Start<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    #[serde(borrow)]
    pub(super) signature: Option<&'a RawValue>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// A message as it begins.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    pub(super) stop_reason: Option<String>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

/// What an answer cost so far. Counts are cumulative: later ones overwrite.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Tokens {
    #[serde(rename = "input_tokens")]
    fresh: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    written: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cached: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
}

impl Tokens {
    /// Takes in newer counts. Counts that cannot be read must not cost the answer.
    pub(super) fn take(&mut self, usage: Option<&RawValue>) {
        let newer: Self =
            usage.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        *self = Self {
            fresh: newer.fresh.or(self.fresh),
            written: newer.written.or(self.written),
            cached: newer.cached.or(self.cached),
            output: newer.output.or(self.output),
        };
    }

    /// The service counts what was read from and written to its cache apart from the rest.
    pub(super) fn usage(self) -> Usage {
        let [fresh, written, cached, output] =
            [self.fresh, self.written, self.cached, self.output].map(Option::unwrap_or_default);
        Usage { input: fresh.saturating_add(written).saturating_add(cached), output, cached }
    }
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
}

/// Whether an event that could not be read is none of ours, and may be skipped: not JSON at all,
/// such as another format's end mark, or of a kind or with a piece that is not known here.
pub(super) fn is_foreign(data: &str) -> bool {
    let Some(event) = kind(data) else { return !data.trim_start().starts_with('{') };
    let piece = event.delta.and_then(|delta| kind(delta.get())).map(|piece| piece.kind);
    match &*event.kind {
        "content_block_delta" => piece.is_some_and(|piece| !PIECES.contains(&&*piece)),
        known => !EVENTS.contains(&known),
    }
}

/// Whether a block that could not be read is one that has to be.
pub(super) fn is_known_block(block: &str) -> bool {
    kind(block).is_some_and(|block| BLOCKS.contains(&&*block.kind))
}

fn kind(data: &str) -> Option<Kind<'_>> {
    serde_json::from_str(data).ok()
}

/// A thought that came in pieces, as one block, from the JSON of its fields. Signatures are over the
/// value of the text, so escaping it anew does no harm; the signature itself is the JSON that came.
pub(super) fn thinking_block<'a>(thinking: &'a str, signature: &'a str) -> [&'a str; 5] {
    [r#"{"type":"thinking","thinking":"#, thinking, r#","signature":"#, signature, "}"]
}
