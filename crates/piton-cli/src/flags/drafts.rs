//! The flags of `piton draft`.

use clap::{Args, Subcommand};

/// The flags of `piton draft`.
#[derive(Debug, Args)]
pub(crate) struct DraftsFlags {
    #[command(subcommand)]
    wish: Option<DraftWish>,
    /// Forget this message, or the one whose name begins so
    #[arg(long, value_name = "NAME", hide = true)]
    forget: Option<String>,
    /// One JSON object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do with a kept message.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum DraftWish {
    /// Print its whole text
    Show {
        /// Its name, or the beginning of it; else the newest
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Write it anew in your editor
    Edit {
        /// Its name, or the beginning of it; else the newest
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Forget it
    Drop {
        /// Its name, or the beginning of it; not needed if only one is kept
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}

impl DraftsFlags {
    /// What to do; lists them if nothing is said.
    pub(crate) fn wish(&self) -> Option<DraftWish> {
        let forget = self.forget.clone().map(|name| DraftWish::Drop { name: Some(name) });
        forget.or_else(|| self.wish.clone())
    }
}
