//! The flags of `piton compact`, `piton uncompact` and `piton tokens`.

use clap::Args;

use super::stop::STOP_WAIT_S;

/// The flags of `piton compact`.
#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// What the summary should tell above all
    #[arg(long, value_name = "TEXT")]
    pub(crate) focus: Option<String>,
    /// How long to wait until a process at work on the conversation has taken it
    #[arg(long, value_name = "SECONDS", default_value_t = STOP_WAIT_S)]
    pub(crate) wait: u64,
}

/// The flags of `piton uncompact`.
#[derive(Debug, Args)]
pub(crate) struct Uncompact {
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// How long to wait until a process at work on the conversation has taken it
    #[arg(long, value_name = "SECONDS", default_value_t = STOP_WAIT_S)]
    pub(crate) wait: u64,
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
