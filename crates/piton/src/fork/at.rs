//! Where a fork is cut, as somebody asks for it.

use piton_core::id::{MessageId, Seq, TurnId};

/// Where a fork is cut from its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForkAt {
    /// Behind everything. A turn that is open there is open in the fork.
    End,
    /// Behind all of a turn.
    Turn(TurnId),
    /// In front of a turn.
    BeforeTurn(TurnId),
    /// In front of a message; in front of its turn, if it began one.
    Before(MessageId),
    /// Behind a message and in front of its answer.
    Behind(MessageId),
    /// Behind an entry.
    Entry(Seq),
}
