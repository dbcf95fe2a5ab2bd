//! Where tools work.

use std::path::{Path, PathBuf};

use piton_core::event::Permissions;
use piton_core::id::ConversationId;

use super::closed::Closed;

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

    /// The workspace and the directories beside it, for the model.
    pub(crate) fn told(&self) -> String {
        let workspace = self.workspace.display();
        match self.permissions.directories.as_slice() {
            [] => format!("the workspace {workspace}"),
            added => format!("the workspace {workspace} and the added {}", added.join(", ")),
        }
    }
}
