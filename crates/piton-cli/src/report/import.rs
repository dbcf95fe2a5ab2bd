//! What can go wrong with taking over a session of another agent.

use std::path::PathBuf;

use piton::import::WriteError;
use piton_import::ImportError;

use super::code::Code;

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
            Self::Read(_) | Self::NothingBelow { .. } | Self::NoSuchNumber { .. } => Code::Usage,
            Self::Write(_) | Self::Some { .. } => Code::Failed,
        }
    }

    /// What to do next, one way per line.
    pub(super) fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Read(ImportError::TooLarge { .. }) => {
                "give a part of it: any run of whole lines is a session file too"
            }
            Self::Read(ImportError::NoSession { .. }) => {
                "piton import --list shows the sessions with their names"
            }
            Self::NoSuchNumber { .. } => "piton import --list --all shows them with their numbers",
            Self::Read(_) | Self::NothingBelow { .. } => {
                "piton import --list shows the sessions of other agents that are here"
            }
            Self::Write(_) | Self::Some { .. } => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}
