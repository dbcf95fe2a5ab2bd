//! Where a conversation of another program came from, and what was mended when it was taken over.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::BlobRef;
use crate::id::Digest;

/// Most remarks that an entry holds; the others are counted.
pub const REMARKS_MAX: usize = 500;
/// Longest text of a remark, in bytes: an entry has a limit, and the original is kept whole.
pub const REMARK_BYTES_MAX: usize = 2_000;

/// The file that a conversation was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportSource {
    /// The program that wrote it, such as `claude-code`; `messages` for a plain list of messages.
    pub tool: String,
    /// In which form it was written.
    pub format: String,
    /// The version of that program, if the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The name of the session there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where the file lay.
    pub path: String,
    /// Digest of what was read. The same content is the same conversation.
    pub digest: Digest,
}

/// Something that was mended, left out or only noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportRemark {
    /// Of which kind, such as `call_without_result`. Later versions may know more kinds.
    pub kind: String,
    /// The line of the file, from 1; 0 if there are no lines, or no one line is meant.
    #[serde(default, skip_serializing_if = "is_nowhere")]
    pub line: u64,
    /// What is to be said of it: the name of a call, the words that were left out.
    pub text: String,
}

impl ImportRemark {
    /// A remark whose text fits into an entry.
    pub fn new(kind: impl Into<String>, line: u64, text: &str) -> Self {
        let mut end = text.len().min(REMARK_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut kept = text.get(..end).unwrap_or_default().to_owned();
        if end < text.len() {
            kept.push('…');
        }
        Self { kind: kind.into(), line, text: kept }
    }
}

/// A piece of the file itself, which is kept beside the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportPiece {
    /// What it holds; durable before the entry refers to it.
    pub blob: BlobRef,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nowhere(line: &u64) -> bool {
    *line == 0
}
