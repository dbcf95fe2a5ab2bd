//! The mark at the end of a stretch worth caching.

use serde::Serialize;

/// The mark as a field of a block.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
pub(super) struct Ephemeral {}

/// The mark as the last field of a block. Stands in the place of the block's closing brace.
pub(super) const MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}}"#;
