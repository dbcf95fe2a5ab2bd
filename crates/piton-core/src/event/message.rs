//! Messages of a user: what they consist of, and what can change while one waits.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::QueuePlace;
use super::tool::BlobRef;
use crate::id::MessageId;

/// A piece of a user message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "part")]
pub enum UserPart {
    /// What the user typed.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// A file that travels by reference.
    File {
        /// Its name.
        name: String,
        /// Its media type.
        media_type: String,
        /// Its content.
        blob: BlobRef,
    },
    /// A textual file sent inside the message; kept apart from what the user typed.
    InlinedFile {
        /// Its name.
        name: String,
        /// Its media type.
        media_type: String,
        /// Its content.
        text: Arc<str>,
    },
}

/// What changes about a message that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum QueueChange {
    /// What it consists of.
    Parts {
        /// All of it, in order.
        parts: Vec<UserPart>,
    },
    /// What it waits for.
    Place {
        /// The place.
        place: QueuePlace,
    },
    /// It goes right in front of another one that waits.
    Before {
        /// The other one.
        before: MessageId,
    },
    /// It goes behind all others.
    Last,
}

impl UserPart {
    /// A typed text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Whether there is something in it that a model could read. Providers refuse blank texts.
    pub fn has_content(&self) -> bool {
        match self {
            Self::Text { text } => !text.trim().is_empty(),
            Self::File { .. } | Self::InlinedFile { .. } => true,
        }
    }
}
