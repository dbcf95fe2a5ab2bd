//! Files that a transcript refers to: which ones go along, and what they hold.
//!
//! The state knows files by their digest only. The engine adds the contents when it sends a
//! transcript. The model is told of a content that is missing, because a conversation must outlive a
//! lost file.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::message::Message;
use crate::attachment::{self, FILES_BYTES_MAX};
use crate::event::{BlobRef, UserPart};
use crate::id::Digest;

/// Bytes of text that cost a model as much as an image does: about 1,600 tokens.
const IMAGE_TEXT_BYTES: usize = 6_400;
/// Bytes of a document that cost as much as one byte of text; the rest is layout and pictures.
const DOCUMENT_BYTES_PER_TEXT_BYTE: usize = 16;

/// Contents by digest. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<Digest, Arc<[u8]>>);

impl Files {
    /// Adds what a file holds.
    pub fn insert(&mut self, digest: Digest, content: Arc<[u8]>) {
        self.0.insert(digest, content);
    }

    /// What a file holds.
    pub fn get(&self, digest: &Digest) -> Option<&[u8]> {
        self.0.get(digest).map(|content| &**content)
    }

    /// What a file holds, to be kept elsewhere too.
    pub fn share(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        self.0.get(digest).cloned()
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// The files of messages and of results.
pub(super) fn of(messages: &[Message]) -> impl Iterator<Item = &BlobRef> {
    let said = messages.iter().flat_map(|message| match message {
        Message::User(parts) => parts.as_slice(),
        Message::Assistant(_) | Message::Results(_) => &[],
    });
    let given = messages.iter().flat_map(|message| match message {
        Message::Results(results) => results.as_slice(),
        Message::User(_) | Message::Assistant(_) => &[],
    });
    said.chain(given.flat_map(|result| &result.files)).filter_map(|part| match part {
        UserPart::File { blob, .. } => Some(blob),
        UserPart::Text { .. } | UserPart::InlinedFile { .. } => None,
    })
}

/// Stands in the place of a file that newer ones took the room of.
pub(super) fn no_longer_sent(name: &str, media_type: &str) -> UserPart {
    let heading = attachment::heading(name, media_type);
    let most = attachment::limit(FILES_BYTES_MAX);
    UserPart::text(format!(
        "{heading}(No longer sent: a request carries the newest {most} of files.)"
    ))
}

/// As how many letters a file counts in an estimate.
pub(super) fn letters(media_type: &str, blob: &BlobRef) -> usize {
    let bytes = usize::try_from(blob.bytes).unwrap_or(usize::MAX);
    if media_type.starts_with("image/") {
        IMAGE_TEXT_BYTES
    } else if attachment::is_textual(media_type) {
        bytes
    } else {
        bytes / DOCUMENT_BYTES_PER_TEXT_BYTE
    }
}
