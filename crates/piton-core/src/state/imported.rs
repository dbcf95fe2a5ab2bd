//! What is known of a conversation that another program wrote.

use super::State;
use crate::event::{Event, ImportPiece, ImportRemark, ImportSource};
use crate::id::Timestamp;

/// Where a conversation came from, and what was mended when it was taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The file and the program that wrote it.
    pub source: ImportSource,
    /// What was mended, left out or noted.
    pub remarks: Vec<ImportRemark>,
    /// How many more remarks there were.
    pub more: u64,
    /// What was read, byte for byte.
    pub originals: Vec<ImportPiece>,
    /// When it was taken over.
    pub at: Timestamp,
}

impl State {
    /// A conversation comes from one place; only before its first turn.
    pub(super) fn take_over(&mut self, event: &Event, at: Timestamp) -> bool {
        let Event::ConversationImported { source, remarks, more, originals } = event.clone() else {
            return false;
        };
        if self.imported.is_some() || !self.turns.is_empty() {
            return false;
        }
        self.touched = self.touched.max(at);
        self.imported = Some(Imported { source, remarks, more, originals, at });
        true
    }
}
