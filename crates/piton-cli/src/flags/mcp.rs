//! The flags of `piton mcp` and `piton sim mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use piton_sim::mcp::Fault;

/// The flags of `piton mcp`.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Without one, the servers are shown
    #[command(subcommand)]
    pub(crate) wish: Option<McpWish>,
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
    /// Write a server into your settings
    #[command(
        override_usage = "piton mcp add NAME [--sandbox] [--env KEY=VALUE]... -- COMMAND [ARGS]...
       piton mcp add NAME --url URL [--header KEY=VALUE]..."
    )]
    Add(NewServer),
    /// Take a server out of your settings
    Remove {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Let the servers of this workspace's .mcp.json be started, as it is now; piton trust does that with all else
    Trust {
        /// Take that back
        #[arg(long, conflicts_with = "unconfined")]
        revoke: bool,
        /// Let them run outside the sandbox
        #[arg(long)]
        unconfined: bool,
    },
}

/// A server as it is typed.
#[derive(Debug, Args)]
pub(crate) struct NewServer {
    /// Its name: a letter, then letters, digits, - and _
    #[arg(value_name = "NAME", value_parser = server_name)]
    pub(crate) name: String,
    /// Where it is, if it is no program of yours
    #[arg(long, value_name = "URL", value_parser = address, conflicts_with_all = ["env", "command"], required_unless_present = "command")]
    pub(crate) url: Option<String>,
    /// A header of every request to it; a value such as 'Bearer ${TOKEN}' is read from the environment
    #[arg(long = "header", value_name = "KEY=VALUE", value_parser = pair, conflicts_with = "command")]
    pub(crate) headers: Vec<(String, String)>,
    /// A variable for it; a value such as '${TOKEN}' is read from the environment
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) env: Vec<(String, String)>,
    /// Run the program in the sandbox
    #[arg(long, conflicts_with = "url")]
    pub(crate) sandbox: bool,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

fn server_name(text: &str) -> Result<String, String> {
    let is_taken = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    if begins && text.chars().all(is_taken) {
        return Ok(text.to_owned());
    }
    Err("a name is a letter, then letters, digits, - and _".into())
}

fn address(text: &str) -> Result<String, String> {
    // A variable may hold the beginning too.
    if ["http://", "https://", "${"].iter().any(|begin| text.starts_with(begin)) {
        return Ok(text.to_owned());
    }
    Err("an address begins with http:// or https://".into())
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err("it has the form KEY=VALUE".into()),
    }
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
