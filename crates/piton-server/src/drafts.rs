//! Drafts at rest: a file for each conversation in the home, whole or not there.
//!
//! A draft is what somebody types at this moment, so the last writer wins and nothing is locked. It is not
//! what `piton draft` shows: those are messages that were sent and did not arrive.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use piton::ConversationId;
use piton_agent::make_private;
use piton_core::id::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::fs;
use tokio::io::AsyncWriteExt as _;

use crate::chance;

/// Longest draft, in bytes.
pub(crate) const DRAFT_BYTES_MAX: usize = 256 * 1024;
/// Most drafts of a home; the oldest go first.
const DRAFTS_MAX: usize = 500;
/// How long a draft is kept that nobody touches.
const DRAFT_LIFE: Duration = Duration::from_hours(30 * 24);
/// What a file of a draft allows: reading and writing to its owner, nothing to others.
const PRIVATE: u32 = 0o600;

/// What is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Draft {
    /// The text; empty if there is none.
    pub(crate) text: String,
    /// When the server got it.
    pub(crate) at: Timestamp,
}

/// The drafts of a home.
#[derive(Clone, Debug)]
pub struct Drafts {
    directory: PathBuf,
}

impl Drafts {
    /// Those of a home, which need not be there.
    pub fn of(home: &Path) -> Self {
        Self { directory: home.join("serve").join("drafts") }
    }

    /// Where the draft of a conversation is, if there is one. Names of conversations may be made by others,
    /// so their digest is the name of the file.
    pub fn file(&self, id: &ConversationId) -> PathBuf {
        self.directory.join(chance::digest(id.as_str()))
    }

    /// Removes the draft of a conversation, if there is one.
    pub(crate) async fn forget(&self, id: &ConversationId) -> io::Result<()> {
        match fs::remove_file(self.file(id)).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes the draft of a conversation if it says what was sent, or if that goes on from it. Another one
    /// is another message.
    pub(crate) async fn sent(&self, id: &ConversationId, text: &str, from: Option<Timestamp>) {
        // One that stays is seen, and can be removed by hand.
        if let Ok(Some(draft)) = self.read(id).await
            && (draft.text.trim() == text.trim() || Some(draft.at) == from)
        {
            self.forget(id).await.unwrap_or_default();
        }
    }

    /// The draft of a conversation. One that cannot be understood is none.
    pub(crate) async fn read(&self, id: &ConversationId) -> io::Result<Option<Draft>> {
        match fs::read(self.file(id)).await {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps a draft in the place of the one before.
    pub(crate) async fn keep(&self, id: &ConversationId, draft: &Draft) -> io::Result<()> {
        make_private(&self.directory)?;
        let file = self.file(id);
        if !fs::try_exists(&file).await? {
            self.make_room(SystemTime::now()).await?;
        }
        let half = self.directory.join(format!("{}.half", chance::name()));
        let text = serde_json::to_vec(draft).unwrap_or_default();
        let written = write(&half, &text).await;
        let placed = match written {
            Ok(()) => fs::rename(&half, &file).await,
            Err(error) => Err(error),
        };
        if placed.is_err() {
            fs::remove_file(&half).await.unwrap_or_default();
        }
        placed
    }

    /// Removes drafts that are too old, and the oldest where there are too many.
    async fn make_room(&self, now: SystemTime) -> io::Result<()> {
        let mut kept = Vec::new();
        let mut entries = fs::read_dir(&self.directory).await?;
        while let Some(entry) = entries.next_entry().await? {
            let Ok(modified) = entry.metadata().await.and_then(|found| found.modified()) else {
                continue;
            };
            kept.push((modified, entry.path()));
        }
        kept.sort();
        let surplus = (kept.len() + 1).saturating_sub(DRAFTS_MAX);
        for (at, (modified, path)) in kept.into_iter().enumerate() {
            let is_old = now.duration_since(modified).is_ok_and(|age| DRAFT_LIFE < age);
            if at < surplus || is_old {
                fs::remove_file(path).await.unwrap_or_default();
            }
        }
        Ok(())
    }
}

async fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(PRIVATE).open(path).await?;
    file.write_all(content).await?;
    file.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft { text: text.to_owned(), at: Timestamp(5) }
    }

    fn files(drafts: &Drafts) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&drafts.directory).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    #[tokio::test]
    async fn a_draft_is_kept_until_its_text_is_sent() {
        let home = tempfile::tempdir().unwrap();
        let drafts = Drafts::of(home.path());
        let id = ConversationId::new("../../escape");
        assert_eq!(drafts.read(&id).await.unwrap(), None);
        drafts.keep(&id, &draft("one")).await.unwrap();
        drafts.keep(&id, &draft("two")).await.unwrap();
        assert_eq!(drafts.read(&id).await.unwrap(), Some(draft("two")));
        assert_eq!(files(&drafts).len(), 1, "nothing else is left there");
        drafts.sent(&id, "one", Some(Timestamp(4))).await;
        assert_eq!(drafts.read(&id).await.unwrap(), Some(draft("two")), "another text was sent");
        drafts.sent(&id, "two\n", None).await;
        assert_eq!(drafts.read(&id).await.unwrap(), None);
        drafts.keep(&id, &draft("thr")).await.unwrap();
        drafts.sent(&id, "three", Some(Timestamp(5))).await;
        assert_eq!(drafts.read(&id).await.unwrap(), None, "the message went on from it");
        drafts.forget(&id).await.unwrap();
    }

    #[tokio::test]
    async fn old_drafts_go_and_their_number_has_an_end() {
        let home = tempfile::tempdir().unwrap();
        let drafts = Drafts::of(home.path());
        let name = |number: usize| ConversationId::new(format!("c{number}"));
        let now = SystemTime::now();
        for number in 0..=DRAFTS_MAX {
            drafts.keep(&name(number), &draft("x")).await.unwrap();
            let file = std::fs::File::options().write(true).open(drafts.file(&name(number)));
            let age = Duration::from_secs((DRAFTS_MAX - number) as u64);
            file.unwrap().set_modified(now - age).unwrap();
        }
        assert_eq!(files(&drafts).len(), DRAFTS_MAX);
        assert_eq!(drafts.read(&name(0)).await.unwrap(), None, "the oldest went");
        drafts.make_room(now + DRAFT_LIFE - Duration::from_secs(99)).await.unwrap();
        assert_eq!(files(&drafts).len(), 100, "those that are younger");
    }

    #[tokio::test]
    async fn a_file_that_is_no_draft_is_none() {
        let home = tempfile::tempdir().unwrap();
        let drafts = Drafts::of(home.path());
        let id = ConversationId::new("a");
        drafts.keep(&id, &draft("x")).await.unwrap();
        std::fs::write(drafts.file(&id), "{").unwrap();
        assert_eq!(drafts.read(&id).await.unwrap(), None);
    }
}
