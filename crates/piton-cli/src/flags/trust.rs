//! The flags of `piton trust`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The flags of `piton trust`.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Without one, what this workspace brings is shown, and you are asked
    #[command(subcommand)]
    pub(crate) wish: Option<TrustWish>,
    /// Trust what is shown, without a question
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// One JSON object per line; nothing is asked
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do about trust.
#[derive(Debug, Subcommand)]
pub(crate) enum TrustWish {
    /// Show the workspaces that something was said about
    Ls,
    /// Take back all trust in a workspace
    Revoke {
        /// The workspace; else the one that you are in
        #[arg(value_name = "DIRECTORY")]
        workspace: Option<PathBuf>,
    },
}
