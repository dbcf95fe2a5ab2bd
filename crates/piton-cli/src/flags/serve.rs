//! The flags of `piton serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The flags of `piton serve`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Serve {
    #[command(subcommand)]
    pub(crate) wish: Option<ServeWish>,
    /// The address and the port; port 0 takes one that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// A directory that conversations may work in; may be given several times [default: this workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) open: Vec<PathBuf>,
    /// Encrypt: the certificate of the server in PEM form, with those that vouch for it
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM form
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Listen on an address that others can reach, without encryption: whoever can read the network can
    /// read the conversations and take the token
    #[arg(long)]
    pub(crate) unencrypted: bool,
    /// Go on in the background; piton serve stop ends it
    #[arg(long)]
    pub(crate) background: bool,
    /// This is the process that goes on in the background
    #[arg(long, hide = true)]
    pub(crate) in_background: bool,
    /// One JSON object per line on standard output: the address
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do beside serving.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeWish {
    /// Make a token for a program, list tokens, or revoke one
    Token(TokenFlags),
    /// Say where the server of this home is reached, and sign another browser in
    Status,
    /// End the server of this home; its turns can be resumed
    Stop,
    /// Print a unit for systemd that keeps a server running for this user
    Unit(UnitFlags),
}

/// The flags of `piton serve unit`: those of the server that the unit starts.
#[derive(Debug, Args)]
pub(crate) struct UnitFlags {
    /// The address and the port; a server that others look for needs a fixed one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4747")]
    pub(crate) listen: SocketAddr,
    /// A directory that conversations may work in; may be given several times [default: this workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) open: Vec<PathBuf>,
}

/// The flags of `piton serve token`.
#[derive(Debug, Args)]
pub(crate) struct TokenFlags {
    /// The name of the new token; its secret goes to standard output, once
    #[arg(value_name = "NAME", required_unless_present_any = ["list", "revoke"])]
    pub(crate) name: Option<String>,
    /// Show the names of all tokens
    #[arg(long, conflicts_with = "name")]
    pub(crate) list: bool,
    /// Revoke the token of this name, also for a server that runs
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "list"])]
    pub(crate) revoke: Option<String>,
}
