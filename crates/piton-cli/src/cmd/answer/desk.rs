//! What answers are written down with, and which process has done it.

use piton::Engine;
use piton_store::{Holder, Journal};
use tokio::time::Instant;

/// The process that has recorded the answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    /// This process.
    Here,
    /// The process that asked.
    There(Holder),
}

/// What answers are written down with.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) engine: Engine,
    /// Until when another process may take the answers.
    pub(super) deadline: Instant,
    /// Whether several questions may be answered: then a question that is not open any more does not
    /// hold up the others.
    pub(super) all: bool,
}

impl Desk {
    pub(super) fn journal(&self) -> &dyn Journal {
        &**self.engine.journal()
    }
}
