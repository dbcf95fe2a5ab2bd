//! What can go wrong with taking over a session of another agent.

use std::path::PathBuf;

use piton::import::WriteError;
use piton_import::{FILE_BYTES_MAX, ImportError};

use super::code::Code;

/// How much of a file that is too large is proposed, in bytes.
const PART_BYTES: u64 = FILE_BYTES_MAX - 16 * 1024 * 1024;

/// Why a session is not taken over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportFault {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ImportError),
    /// It cannot be written down.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A directory without sessions.
    #[error("there is no session file in {} that piton knows", path.display())]
    NothingBelow {
        /// The directory.
        path: PathBuf,
    },
    /// No session of the list has that number.
    #[error("there is no session {number} in the list; there are {count}")]
    NoSuchNumber {
        /// What was typed.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// None of several files.
    #[error("nothing was imported from {all} files, as was said")]
    None {
        /// Of how many.
        all: usize,
    },
    /// Some sessions of several.
    #[error("{failed} of {all} were not imported, as was said")]
    Some {
        /// How many.
        failed: usize,
        /// Of how many.
        all: usize,
    },
}

impl ImportFault {
    pub(super) fn code(&self) -> Code {
        match self {
            Self::Read(_)
            | Self::None { .. }
            | Self::NothingBelow { .. }
            | Self::NoSuchNumber { .. } => Code::Usage,
            Self::Write(_) | Self::Some { .. } => Code::Failed,
        }
    }

    /// What to do next, one way per line.
    pub(super) fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Read(ImportError::TooLarge { path, .. }) => {
                return vec![format!(
                    "any run of whole lines is a session file too; to import its end: tail -c {PART_BYTES} \
                     '{}' | tail -n +2 >end.jsonl, then: piton import end.jsonl",
                    path.display()
                )];
            }
            Self::Read(ImportError::NoSession { .. }) => {
                "piton import --list shows the sessions with their names"
            }
            Self::NoSuchNumber { .. } => "piton import --list --all shows them with their numbers",
            Self::Read(_) | Self::None { .. } | Self::NothingBelow { .. } => {
                "piton import --list shows the sessions of other agents that are here"
            }
            Self::Write(_) | Self::Some { .. } => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}
