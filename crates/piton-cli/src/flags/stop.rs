//! The flags of `piton stop`.

use clap::Args;

/// How long a process is waited for to stop its turn, or to take a change back, in seconds. It looks for letters at once; one
/// that does not is stopped, or busy with something else.
pub(crate) const STOP_WAIT_S: u64 = 10;

/// The flags of `piton stop`.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The same, as other commands take it
    #[arg(long = "id", value_name = "ID", conflicts_with = "id", hide = true)]
    pub(crate) id_flag: Option<String>,
    /// How long to wait until the process has stopped the turn
    #[arg(long, value_name = "SECONDS", default_value_t = STOP_WAIT_S, allow_negative_numbers = true)]
    pub(crate) wait: u64,
}
