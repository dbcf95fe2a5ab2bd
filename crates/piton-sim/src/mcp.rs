//! A small MCP server for tests of this and other agents, over pipes or streamable HTTP.
//!
//! Its tools write their effects into a ledger, so that they can be counted, and a [`Fault`] ends the
//! server, or the agent that started it, at a known point of a known call. Written by hand: a client
//! is not tested against its own library.

mod fault;
mod http;
mod out;
mod pipes;
mod pointer;
mod requests;
mod seat;
mod tasks;
mod tools;

use std::path::PathBuf;

pub use self::fault::{Fault, NotAFault};
pub use self::http::serve_http;
pub use self::pipes::serve_pipes;

/// How the server serves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where effects are written down, one line each.
    pub ledger: Option<PathBuf>,
    /// What goes wrong, each once.
    pub faults: Vec<Fault>,
    /// The only tools that are listed; all if empty.
    pub only: Vec<String>,
    /// Whether it speaks only the newest revision, and makes a task of every call that may be one.
    pub modern: bool,
}
