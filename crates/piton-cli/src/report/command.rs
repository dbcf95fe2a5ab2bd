//! What can go wrong with a command that a tool has started.

use std::io;

use piton::commands::NoCommand;
use piton_tools::supervise::InputFault;

/// Why a command cannot be found, read, written to or stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandFault {
    /// What was typed means no command.
    #[error(transparent)]
    NotFound(#[from] NoCommand),
    /// The record of the command cannot be used.
    #[error("cannot get at the command {name}")]
    Closed {
        /// The command.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing can be written to the command.
    #[error("nothing was written to the command {name}")]
    NotGiven {
        /// The command.
        name: String,
        /// Why.
        source: InputFault,
    },
    /// The input was closed before the command had everything.
    #[error(
        "the input of the command {name} was closed before it had everything: it got {} {taken} of \
         {length} bytes",
        if *.in_doubt { "at least" } else { "exactly" }
    )]
    CutOff {
        /// The command.
        name: String,
        /// How many bytes have reached the command.
        taken: u64,
        /// How many bytes were written.
        length: usize,
        /// Whether more bytes may have reached it.
        in_doubt: bool,
    },
    /// The command does not end.
    #[error("the command {name} does not end, although it was killed")]
    Endless {
        /// The command.
        name: String,
    },
}

impl CommandFault {
    /// What to do next, one way per line.
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::NotFound(NoCommand::Unknown { .. }) => {
                vec!["piton ps --all shows all of them".into()]
            }
            Self::NotFound(NoCommand::Ambiguous { found, .. }) => {
                vec![format!("name one of these: {}", found.join(", "))]
            }
            Self::NotGiven { source: InputFault::NoInput, .. } => {
                vec!["only a command that was started with `input` reads anything".into()]
            }
            Self::NotGiven { source: InputFault::NotRunning, name } => {
                vec![format!("piton logs {name} shows what it has printed")]
            }
            Self::Closed { .. } | Self::NotGiven { .. } | Self::CutOff { .. } => Vec::new(),
            Self::Endless { .. } => vec!["it hangs in the kernel; try again later".into()],
        }
    }
}
