//! The flags of `piton attach`.

use std::path::PathBuf;

use clap::Args;

/// The flags of `piton attach`.
#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// The conversation, or the beginning of its id; or the address of a server: http://HOST:PORT, with /c/ID
    /// for one conversation. Else the newest one of this workspace
    #[arg(value_name = "ID|URL")]
    pub(crate) target: Option<String>,
    /// The conversation at the server whose address is given
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// A file with the token for the server; else the variable `PITON_TOKEN` has it
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// One JSON object per line, as piton query --json prints them, until the turn is over
    #[arg(long)]
    pub(crate) json: bool,
}
