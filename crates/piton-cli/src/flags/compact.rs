//! The flags of `piton compact`, `piton uncompact` and `piton tokens`.

use clap::Args;

/// The flags of `piton compact`.
#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// What the summary should tell above all
    #[arg(long, value_name = "TEXT")]
    pub(crate) focus: Option<String>,
}

/// The flags of `piton uncompact`.
#[derive(Debug, Args)]
pub(crate) struct Uncompact {
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
}

/// The flags of `piton tokens`.
#[derive(Debug, Args)]
pub(crate) struct TokensFlags {
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
