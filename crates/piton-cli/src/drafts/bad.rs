//! Drafts that cannot be read: a broken disk, another program, another encoding.
//!
//! Each is told once and set aside, where nothing looks for messages to send. `piton draft` still names
//! it, so that nothing is lost.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use piton_agent::make_private;

/// Where they are set aside, beside the drafts of a directory.
const PLACE: &str = "unreadable";

/// A draft that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadDraft {
    pub(crate) path: PathBuf,
    /// Why it cannot.
    pub(crate) why: String,
}

impl BadDraft {
    pub(super) fn new(path: &Path, why: impl ToString) -> Self {
        Self { path: path.to_owned(), why: why.to_string() }
    }

    /// Those that were set aside in a directory of drafts, by name.
    pub(super) fn aside(directory: &Path) -> Vec<Self> {
        let found = fs::read_dir(directory.join(PLACE)).into_iter().flatten().flatten();
        let mut found: Vec<_> =
            found.map(|file| Self::new(&file.path(), "it was set aside")).collect();
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }

    /// Its name, as that of other drafts: without the conversation.
    pub(crate) fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Moves it to where nobody looks for messages.
    pub(crate) fn set_aside(mut self) -> io::Result<Self> {
        let place = self.path.with_file_name(PLACE);
        make_private(&place)?;
        let path = place.join(self.path.file_name().unwrap_or_default());
        fs::rename(&self.path, &path)?;
        self.path = path;
        Ok(self)
    }

    /// Nobody wants it any more.
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}
