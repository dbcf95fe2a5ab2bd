//! The flags of `piton` alone, which opens a chat.

use std::path::PathBuf;

use clap::Args;

use super::query::Mode;

/// The flags of a chat.
#[derive(Debug, Default, Args)]
pub(crate) struct Chat {
    /// Go on with the last conversation of this workspace, as `piton query -c TEXT` does
    #[arg(long = "continue", short = 'c', conflicts_with = "id")]
    pub(crate) go_on: bool,
    /// Go on with this conversation, or with the one whose id begins so
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Who answers: provider/model, demo, or script:FILE
    #[arg(long, short = 'm', value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What may run without asking
    #[arg(long, value_name = "MODE")]
    pub(crate) permissions: Option<Mode>,
    /// A directory beside the workspace that tools may read and write; can be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
}
