//! Where tools work.

use std::path::PathBuf;

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
    /// What may run without asking. A command that nobody was asked about is confined, and what rules
    /// forbid is left out by tools that look around.
    pub permissions: Permissions,
    /// What file tools neither read nor change nor show, wherever it lies.
    pub closed: Closed,
}
