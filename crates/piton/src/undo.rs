//! Changes of files that can be taken back, for faces: which ones there are, what was there before, and
//! taking one back.
//!
//! Listing reads the kept versions alone and needs no journal. Taking a change back is a command to the
//! conversation that made it: recorded before the file is touched, and told to the model.

mod change;
mod turns;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use piton_core::command::{Command, Refusal};
use piton_core::event::UndoOutcome;
use piton_core::id::{CommandId, Timestamp};
use piton_core::state::{State, Undone, Verdict};
use piton_store::StoreError;
use piton_tools::undo::{Past, Undo};

pub use self::change::{FileChange, FileChangeState};
pub use self::turns::{ChangedFile, FileFate};

use crate::conversation::Conversation;
use crate::engine::Engine;
use crate::error::{CommandError, OpenError};
use crate::reader;
use crate::receipt::Accepted;

/// How often it is looked whether the process that works on the conversation is still there.
const HOLDER_EVERY: Duration = Duration::from_secs(1);

/// The changes of files whose old versions are kept.
#[derive(Clone, Debug)]
pub struct FileChanges {
    undo: Undo,
}

impl FileChanges {
    /// The changes that tools with this scratch directory made.
    pub fn new(scratch: &Path) -> Self {
        Self { undo: Undo::new(scratch) }
    }

    /// The changes of files in a workspace, the newest first. Left out are those that were meant and not
    /// made. Reads the files.
    pub fn of(&self, workspace: &Path) -> Vec<FileChange> {
        self.of_all(&[workspace])
    }

    /// The same for several workspaces, in one list.
    pub fn of_all(&self, workspaces: &[&Path]) -> Vec<FileChange> {
        let of = |Past { number, name, version, state }: Past| {
            // Of a change that was taken back, the version is kept that makes it again.
            let (before, after) = if version.undone {
                (version.after, version.before)
            } else {
                (version.before, version.after)
            };
            FileChange {
                number,
                name,
                conversation: version.conversation,
                workspace: version.workspace,
                path: version.path,
                before,
                after,
                state,
                at: Timestamp(version.at_us / 1_000),
                patch: version.patch,
            }
        };
        self.undo.history(workspaces).into_iter().map(of).collect()
    }

    /// What the file was before a change; absent if there was none.
    pub fn content_before(&self, change: &FileChange) -> io::Result<Option<Vec<u8>>> {
        self.undo.content(&change.name)
    }

    /// Takes a change back whose conversation is gone, so that nobody can record it. Says what was done.
    pub fn take_back_unrecorded(&self, change: &FileChange) -> Result<String, Refusal> {
        let done = self.undo.take_back(&change.name);
        done.map_err(|refusal| Refusal::Impossible { message: refusal.0 })
    }
}

/// A change that is being taken back: the command is durable.
#[derive(Clone, Debug)]
pub struct Undoing {
    conversation: Conversation,
    change: String,
    /// The command and the letter, if another process has to obey it.
    letter: Option<(CommandId, String)>,
}

/// What became of a change that was to be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoEnd {
    /// Whether it was taken back.
    pub outcome: UndoOutcome,
    /// More about it, for people; may be empty.
    pub text: String,
}

impl Engine {
    /// The changes of files whose old versions are kept.
    pub fn file_changes(&self) -> FileChanges {
        FileChanges::new(&self.parts().scratch)
    }

    /// Takes a change back, in the conversation that made it; in that of its parent, if a worker did.
    pub async fn undo(&self, change: &FileChange) -> Result<Undoing, CommandError> {
        self.conversation(&change.conversation.root()).undo(&change.name).await
    }
}

impl Conversation {
    /// Takes a change of a file back. The command is durable when this returns: recorded, or left as a
    /// letter for the process that has the writer's place. A change that is being taken back already is
    /// not taken back once more.
    pub async fn undo(&self, change: &str) -> Result<Undoing, CommandError> {
        let undoing = |letter| {
            let (conversation, change) = (self.clone(), change.to_owned());
            Undoing { conversation, change, letter }
        };
        let journal = self.journal()?;
        if journal.status(self.id()).await.map_err(failed)?.is_none() {
            return Err(CommandError::Open(Arc::new(OpenError::Unknown(self.id().clone()))));
        }
        let state = reader::state(&*journal, self.id()).await.map_err(failed)?;
        if state.unsettled_undos().any(|open| open.change == change) {
            return Ok(undoing(None));
        }
        match self.send(Command::undo(change)).await? {
            Accepted::Letter { command, letter } => Ok(undoing(Some((command, letter)))),
            accepted @ Accepted::Entry(_) => match accepted.refusal() {
                Some(refusal) => Err(CommandError::Refused(refusal.clone())),
                None => Ok(undoing(None)),
            },
        }
    }
}

impl Undoing {
    /// The letter in which the command lies, if another process works on the conversation.
    pub fn letter(&self) -> Option<&str> {
        self.letter.as_ref().map(|(_, letter)| letter.as_str())
    }

    /// The conversation that obeys the command.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The outcome, if it is known by now.
    pub async fn look(&self) -> Result<Option<UndoEnd>, CommandError> {
        let journal = self.conversation.journal()?;
        let state = reader::state(&*journal, self.conversation.id()).await.map_err(failed)?;
        self.found(&state)
    }

    /// Takes the letter back. A command that is taken by then counts.
    pub async fn withdraw(&self) -> Result<(), CommandError> {
        match self.letter() {
            Some(letter) => self.conversation.withdraw(letter).await,
            None => Ok(()),
        }
    }

    /// Waits for the outcome, whichever process performs. What a process that died has left is taken
    /// over here.
    pub async fn end(&self) -> Result<UndoEnd, CommandError> {
        loop {
            let journal = self.conversation.journal()?;
            let id = self.conversation.id();
            // First this: a process that has left has recorded before.
            let held = journal.status(id).await.map_err(failed)?;
            let held = held.is_some_and(|listed| listed.holder.is_some());
            let state = reader::state(&*journal, id).await.map_err(failed)?;
            if let Some(end) = self.found(&state)? {
                return Ok(end);
            }
            if !held {
                self.conversation.look().await?;
            }
            let grown = journal.wait_past(id, state.end);
            // Time is up: who holds the conversation is looked at again.
            if let Ok(Err(error)) = tokio::time::timeout(HOLDER_EVERY, grown).await {
                return Err(failed(error));
            }
        }
    }

    fn found(&self, state: &State) -> Result<Option<UndoEnd>, CommandError> {
        if let Some((command, _)) = &self.letter {
            match state.commands.get(command) {
                Some((_, Verdict::Refused(refusal))) => {
                    return Err(CommandError::Refused(refusal.clone()));
                }
                Some((_, Verdict::Taken)) => {}
                None => return Ok(None),
            }
        }
        let last = state.undos.iter().rfind(|undo| undo.intent.change == self.change);
        let ended = |Undone { outcome, text, .. }: &Undone| {
            Some(UndoEnd { outcome: (*outcome)?, text: text.clone() })
        };
        Ok(last.and_then(ended))
    }
}

fn failed(error: StoreError) -> CommandError {
    CommandError::Store(Arc::new(error))
}
