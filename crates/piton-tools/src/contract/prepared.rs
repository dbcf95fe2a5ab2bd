//! What a tool finds before a call starts, and after its driver died.

use piton_core::event::Handle;

use super::finished::Finished;

/// What [`Tool::prepare`](crate::Tool::prepare) found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// What settles the call after a crash.
    pub handle: Handle,
    /// The path that the call works on, relative to the workspace, behind all links.
    pub path: Option<String>,
}

/// What became of a call in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It provably did not take effect: it may run.
    NotApplied,
    /// It provably took effect; this is its result.
    Applied(Finished),
    /// It is still at it: [`Tool::run`](crate::Tool::run) with the same handle waits for its end, and starts nothing.
    Running,
    /// Neither can be proved; the text says what was found.
    Unknown(String),
}
