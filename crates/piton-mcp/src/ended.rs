//! The ways in which a call can end.

use rmcp::model::CallToolResult;

/// How a call ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The server answered.
    Answered(CallToolResult),
    /// The server answered that it will not do it.
    Refused(String),
    /// The server did it, or began to, and says that it failed.
    Failed(String),
    /// Nothing of it has left.
    NeverSent(String),
    /// Nothing of it has left, because the server offers the tool no more, or as another one.
    Outdated(String),
    /// It has left, and no answer will come.
    Lost(String),
    /// It has left, then we were told to stop, and told the server.
    Cancelled,
    /// The server needs an answer to this, and nobody is there. It has nothing open meanwhile.
    Waiting(String),
}
