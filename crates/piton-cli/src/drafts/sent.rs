//! Whether the message of a draft was sent after all.

use std::ops::ControlFlow;

use piton::reader;
use piton_core::id::Seq;
use piton_store::{Journal, StoreError};

use super::Draft;
use crate::report::Fault;

/// The drafts whose messages were not sent. Those that arrived are removed; those that lie in a letter
/// are left alone.
pub(crate) async fn only_unsent(
    drafts: Vec<Draft>,
    journal: &dyn Journal,
) -> Result<Vec<Draft>, Fault> {
    let mut unsent = Vec::new();
    for draft in drafts {
        if draft.has_arrived(journal).await? {
            draft.remove();
        } else if !draft.is_posted(journal).await? {
            unsent.push(draft);
        }
    }
    Ok(unsent)
}

impl Draft {
    /// Whether its message lies in a letter that nobody has taken yet.
    async fn is_posted(&self, journal: &dyn Journal) -> Result<bool, Fault> {
        let Some(conversation) = &self.conversation else { return Ok(false) };
        let letters = journal.letters(conversation).await?;
        let name = format!("-{}", self.message);
        Ok(letters.iter().any(|letter| letter.id.ends_with(&name)))
    }

    /// Whether the conversation that it is meant for has its message.
    pub(crate) async fn has_arrived(&self, journal: &dyn Journal) -> Result<bool, Fault> {
        let Some(conversation) = &self.conversation else { return Ok(false) };
        let mut found = false;
        let read = reader::each_record(journal, conversation, Seq::default(), |record| {
            found |= reader::brings(&reader::entry(&record), &self.message);
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match read.await {
            // The message would have been its first.
            Err(StoreError::UnknownConversation(_)) => Ok(false),
            // The rest cannot be read. A draft that was not found is kept, so that a person can decide.
            Err(StoreError::DamagedEntry { .. } | StoreError::Damaged { .. }) => Ok(found),
            read => Ok(read.map(|_| found)?),
        }
    }
}
