//! The flags of `piton help` and `piton completions`.

use clap::{Args, ValueEnum};

/// The flags of `piton help`.
#[derive(Debug, Args)]
pub(crate) struct Help {
    /// A command such as `query` or `mcp list`, or a topic such as `permissions`
    #[arg(value_name = "TOPIC")]
    pub(crate) words: Vec<String>,
}

/// The flags of `piton completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// For whom
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Who reads what is printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
    /// The page of `man piton`
    Man,
}
