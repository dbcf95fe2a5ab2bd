//! The flags of `piton retry`.

use clap::Args;

use super::query::TurnFlags;

/// The flags of `piton retry`.
#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// A message of the newest turn, or the beginning of its id; else the last one. `piton print --attempts`
    /// names them
    #[arg(value_name = "MESSAGE")]
    pub(crate) message: Option<String>,
    /// Try it in a fork, which shares everything through the message; also a message of an earlier turn
    #[arg(long)]
    pub(crate) fork: bool,
    #[command(flatten)]
    pub(crate) turn: TurnFlags,
}
