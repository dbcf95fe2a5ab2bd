//! The flags of `piton mcp` and `piton sim mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use piton_sim::mcp::Fault;

/// The flags of `piton mcp`.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) wish: McpWish,
    /// One JSON object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do about servers of tools.
#[derive(Debug, Subcommand)]
pub(crate) enum McpWish {
    /// Show the servers, whether they answer, and why not
    List,
    /// Show the tools that they offer
    Tools {
        /// The server; else all of them
        #[arg(value_name = "SERVER")]
        server: Option<String>,
    },
    /// Let the servers of this workspace's .mcp.json be started, as it is now
    Trust {
        /// Take that back
        #[arg(long)]
        revoke: bool,
    },
}

/// The flags of `piton sim mcp`.
#[derive(Debug, Args)]
pub(crate) struct SimMcp {
    /// Where effects are written down, one line each
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// What goes wrong, once: WHAT@PHASE[:KEY], for example die@effect:c2; can be given several times
    #[arg(long = "fault", value_name = "FAULT")]
    pub(crate) faults: Vec<Fault>,
    /// A tool to list; can be given several times; else all of them
    #[arg(long = "only", value_name = "TOOL")]
    pub(crate) only: Vec<String>,
    /// Speak only the newest revision, and make a task of every call that may be one
    #[arg(long)]
    pub(crate) modern: bool,
    /// Serve over HTTP on 127.0.0.1 instead of standard input and output
    #[arg(long)]
    pub(crate) http: bool,
    /// The port for that; 0 takes one that is free
    #[arg(long, value_name = "N", default_value_t = 0, requires = "http")]
    pub(crate) port: u16,
}
