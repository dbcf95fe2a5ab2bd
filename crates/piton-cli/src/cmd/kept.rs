//! Which command is meant: `CONVERSATION/CALL`, or one of the two where that is clear.

use piton::commands::{Commands, Kept, NoCommand};

use crate::report::CommandFault;

/// The command that was typed.
pub(super) fn find(commands: &Commands, typed: &str) -> Result<Kept, CommandFault> {
    commands.find(typed).map_err(|none| match none {
        NoCommand::Unknown { typed } => CommandFault::Unknown { typed },
        NoCommand::Ambiguous { typed, found } => CommandFault::Ambiguous { typed, found },
    })
}
