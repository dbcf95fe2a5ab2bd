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
    /// Change the message and send that instead, in a fork in front of it; also a message of an earlier turn.
    /// Without a text an editor opens with the old one; `-` reads it from standard input. Its files go along
    #[arg(long, value_name = "TEXT", num_args = 0.., conflicts_with = "fork")]
    pub(crate) edit: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) turn: TurnFlags,
}
