//! The commands that a journal knows: which were taken, and which were refused.

use crate::event::Refusal;

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was obeyed; the facts that it caused stand behind its entry.
    Taken,
    /// It was refused.
    Refused(Refusal),
}
