//! The exit codes. Nothing outside of `report` chooses one.

use std::process::ExitCode;

/// Exit codes, the same for every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// All is well.
    Ok = 0,
    /// The task failed and would fail again.
    Failed = 1,
    /// What was typed cannot be done.
    Usage = 2,
    /// A person has to answer.
    NeedsPerson = 3,
    /// A limit was reached.
    Limit = 4,
    /// It may work later.
    Transient = 5,
    /// There is an incomplete turn; nothing was done.
    Incomplete = 6,
    /// Somebody interrupted, or the terminal was closed.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}
