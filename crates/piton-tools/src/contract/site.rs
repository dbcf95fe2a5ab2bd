//! Where tools work.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use piton_core::event::Permissions;
use piton_core::id::ConversationId;

use super::closed::Closed;
use crate::sandbox;

/// Where tools work.
#[derive(Clone, Debug)]
pub struct Site {
    /// The directory that paths are confined to, canonical.
    pub workspace: PathBuf,
    /// A directory for long outputs while they are written, and for old versions of changed files.
    pub scratch: PathBuf,
    /// The conversation, after which records that outlive this process are named.
    pub conversation: ConversationId,
    /// What may run without asking, and in which directories beside the workspace. A command that nobody was asked about is confined, and what rules
    /// forbid is left out by tools that look around.
    pub permissions: Permissions,
    /// What file tools neither read nor change nor show, wherever it lies.
    pub closed: Closed,
}

impl Site {
    /// The directory beside the workspace that a path without links lies in, if tools may work there.
    pub(crate) fn added(&self, path: &Path) -> Option<&Path> {
        let directories = self.permissions.directories.iter().map(Path::new);
        directories.filter(|it| it.is_absolute()).find(|directory| path.starts_with(directory))
    }

    /// The name under which programs outside the sandbox obey a file that has several names, if `path` is another of
    /// them.
    pub(crate) fn obeyed_as(&self, path: &Path) -> Option<PathBuf> {
        let file = path.symlink_metadata().ok().filter(|it| it.is_file() && 1 < it.nlink())?;
        let Permissions { directories, protect, .. } = &self.permissions;
        let roots =
            [&self.workspace].into_iter().cloned().chain(directories.iter().map(Into::into));
        let more: Vec<_> = protect.iter().map(PathBuf::from).collect();
        sandbox::other_name(path, &file, &roots.collect::<Vec<_>>(), &more)
    }

    /// The workspace and the directories beside it, for the model.
    pub(crate) fn told(&self) -> String {
        let workspace = self.workspace.display();
        match self.permissions.directories.as_slice() {
            [] => format!("the workspace {workspace}"),
            added => format!("the workspace {workspace} and the added {}", added.join(", ")),
        }
    }
}
