//! The flags of `piton drafts`.

use clap::Args;

/// The flags of `piton drafts`.
#[derive(Debug, Args)]
pub(crate) struct DraftsFlags {
    /// Forget this message, or the one whose name begins so
    #[arg(long, value_name = "NAME")]
    pub(crate) forget: Option<String>,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}
