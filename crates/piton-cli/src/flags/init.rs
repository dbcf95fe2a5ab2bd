//! The flags of `piton init`.

use clap::Args;

/// The flags of `piton init`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Init {
    /// Write the file without a question
    #[arg(long, short)]
    pub(crate) yes: bool,
}
