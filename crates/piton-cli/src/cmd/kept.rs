//! Which command is meant: `CONVERSATION/CALL`, or one of the two where that is clear.

use std::io;

use piton::commands::{Commands, Kept, NoCommand};
use piton_tools::supervise::InputFault;

/// Why a command cannot be found, read, written to or stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandFault {
    /// None is called so.
    #[error("there is no command {typed}")]
    Unknown {
        /// What was typed.
        typed: String,
    },
    /// Several are called so.
    #[error("several commands are meant by {typed}")]
    Ambiguous {
        /// What was typed.
        typed: String,
        /// Which ones.
        found: Vec<String>,
    },
    /// Its record cannot be used.
    #[error("cannot get at the command {name}")]
    Closed {
        /// Which one.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing can be written to it.
    #[error("nothing was written to the command {name}")]
    NotGiven {
        /// Which one.
        name: String,
        /// Why.
        source: InputFault,
    },
    /// Its input was closed before it had all that was written.
    #[error(
        "the input of the command {name} was closed before it had everything: it got {} {taken} of \
         {length} bytes",
        if *.in_doubt { "at least" } else { "exactly" }
    )]
    CutOff {
        /// Which one.
        name: String,
        /// How much it has.
        taken: u64,
        /// Of how much.
        length: usize,
        /// Whether nobody knows if it has more.
        in_doubt: bool,
    },
    /// It does not end.
    #[error("the command {name} does not end, although it was killed")]
    Endless {
        /// Which one.
        name: String,
    },
}

impl CommandFault {
    /// What to do next, one way per line.
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown { .. } => vec!["piton ps --all shows all of them".into()],
            Self::Ambiguous { found, .. } => {
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

/// The command that was typed.
pub(super) fn find(commands: &Commands, typed: &str) -> Result<Kept, CommandFault> {
    commands.find(typed).map_err(|none| match none {
        NoCommand::Unknown { typed } => CommandFault::Unknown { typed },
        NoCommand::Ambiguous { typed, found } => CommandFault::Ambiguous { typed, found },
    })
}
