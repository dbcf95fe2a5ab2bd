//! The flags of `piton import`.

use std::path::PathBuf;

use clap::Args;

/// Most sessions that are listed unless told otherwise.
const LIST_ROWS: usize = 20;

/// The flags of `piton import`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Import {
    /// A session file, a directory with some, or a number of --list; `-` is standard input. Their files are
    /// only read
    #[arg(value_name = "FILE|DIR|N", required_unless_present = "list")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only this session of a file that holds several
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Work in the present workspace from now on, not where the session worked
    #[arg(long)]
    pub(crate) here: bool,
    /// Show the sessions of other agents in their usual places with numbers, the newest first
    #[arg(long, conflicts_with_all = ["paths", "session", "here"])]
    pub(crate) list: bool,
    /// With --list: all of them, not only the newest
    #[arg(long, requires = "list")]
    pub(crate) all: bool,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

impl Import {
    /// Most rows that are shown.
    pub(crate) fn rows_max(&self) -> usize {
        if self.all { usize::MAX } else { LIST_ROWS }
    }
}
