//! A command line that is to run, whichever tool asked for it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::contract::{Job, Site};
use crate::sandbox::{Lacking, Policy, Rules};
use crate::supervise::InputFile;

/// What is to run, and where.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) command: String,
    pub(super) directory: PathBuf,
    pub(super) timeout_s: Option<u64>,
    pub(super) wait_s: Option<u64>,
    pub(super) keep: bool,
    /// What it reads.
    pub(super) input: Reads,
    pub(super) walls: Walls,
}

impl Line {
    /// The directory from the workspace, behind all links; in an added directory the whole path.
    pub(super) fn place(&self, site: &Site) -> Option<String> {
        let below = self.directory.strip_prefix(&site.workspace);
        let place = below.unwrap_or(&self.directory).to_str()?;
        Some(if place.is_empty() { "." } else { place }.to_owned())
    }
}

/// What a command reads.
#[derive(Clone, Debug)]
pub(super) enum Reads {
    /// Nothing.
    Nothing,
    /// This.
    Bytes(InputFile),
    /// What it is given later.
    Later,
    /// The same, on a terminal.
    Terminal,
}

/// Whether a command is confined where the rules say so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Walls {
    Up,
    /// By rules of its own.
    By(Arc<Rules>),
    Down,
}

impl Walls {
    /// What the command of a call may do, where others are confined by these rules; `None` if it is not confined.
    pub(super) fn policy(&self, rules: &Rules, job: &Job) -> Result<Option<Policy>, Lacking> {
        match self {
            Self::Up => rules.policy(job),
            Self::By(own) => own.policy(job),
            // What cannot be confined is not run where all commands must be.
            Self::Down => rules.policy(job).map(|_| None),
        }
    }
}

impl Reads {
    /// What is there from the beginning.
    pub(super) fn bytes(self) -> Option<InputFile> {
        match self {
            Self::Bytes(input) => Some(input),
            Self::Nothing | Self::Later | Self::Terminal => None,
        }
    }
}
