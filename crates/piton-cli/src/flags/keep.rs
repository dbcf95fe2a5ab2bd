//! The flags of commands that name, show elsewhere and put away conversations.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

/// The flags of `piton rename`.
#[derive(Debug, Args)]
pub(crate) struct Rename {
    /// The conversation, or the beginning of its id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Its new title
    #[arg(value_name = "TITLE", required_unless_present = "suggest", num_args = 1..)]
    pub(crate) title: Vec<String>,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Let the model that answers in it find a title, if it has none
    #[arg(long, conflicts_with = "title")]
    pub(crate) suggest: bool,
}

/// The flags of `piton export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// What it becomes; else what the name of the file says, else md
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ExportFormat>,
    /// Where it is written to, a file that is not there yet; else, and with -, standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl Export {
    /// What it becomes.
    pub(crate) fn format(&self) -> ExportFormat {
        let end = self.output.as_deref().and_then(Path::extension).and_then(OsStr::to_str);
        let told = match end {
            Some("html" | "htm") => ExportFormat::Html,
            Some("jsonl") => ExportFormat::Jsonl,
            Some(_) | None => ExportFormat::Md,
        };
        self.format.unwrap_or(told)
    }
}

/// What a conversation becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Markdown
    Md,
    /// One page of HTML that needs nothing else, and runs nothing
    Html,
    /// All entries as they are stored, one JSON object per line
    Jsonl,
}

/// The flags of `piton archive`.
#[derive(Debug, Args)]
pub(crate) struct Archive {
    /// The conversations, or the beginnings of their ids
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// List them again, also those that were removed
    #[arg(long)]
    pub(crate) back: bool,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of `piton rm`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Rm {
    /// The conversations, or the beginnings of their ids
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Take them away for good, with their workers and files: nothing of them is left in the home
    #[arg(long)]
    pub(crate) purge: bool,
    /// With --purge: copy into forks what they share with these conversations, so that they lose nothing
    #[arg(long, requires = "purge")]
    pub(crate) detach: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads how long ago something may be at most: a number and its unit. In milliseconds.
pub(super) fn since(typed: &str) -> Result<u64, String> {
    const MINUTE_MS: u64 = 60_000;
    let wanted = || "a number and a unit is wanted: 90m, 12h, 3d or 2w".to_owned();
    let (number, unit) = typed.split_at(typed.find(char::is_alphabetic).unwrap_or(typed.len()));
    let unit_ms = match unit {
        "m" | "min" => MINUTE_MS,
        "h" => 60 * MINUTE_MS,
        "d" => 24 * 60 * MINUTE_MS,
        "w" => 7 * 24 * 60 * MINUTE_MS,
        _ => return Err(wanted()),
    };
    number.parse::<u64>().ok().and_then(|it| it.checked_mul(unit_ms)).ok_or_else(wanted)
}
