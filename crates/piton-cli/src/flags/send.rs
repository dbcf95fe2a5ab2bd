//! The flags of `piton send`.

use clap::Args;

/// The flags of `piton send`.
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The command, as `piton ps` names it; its call or its conversation is enough where that is clear
    #[arg(value_name = "COMMAND")]
    pub(crate) command: String,
    /// A line to write; `-` writes what standard input has, as it is
    #[arg(value_name = "TEXT", required_unless_present = "eof")]
    pub(crate) text: Option<String>,
    /// Without a line end
    #[arg(short = 'n')]
    pub(crate) bare: bool,
    /// Then close its input: it reads to the end
    #[arg(long)]
    pub(crate) eof: bool,
}
