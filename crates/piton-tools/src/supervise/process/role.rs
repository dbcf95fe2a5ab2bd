//! Which of the two supervisors a process is.

use crate::reexec::WORD;

/// The two kinds of supervisors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Outer,
    Inner,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Outer => "outer",
            Self::Inner => "inner",
        }
    }

    pub(crate) fn arguments(self) -> [&'static str; 2] {
        [WORD, self.name()]
    }
}
