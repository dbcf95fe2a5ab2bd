//! What to do about a conversation that cannot be opened.

use piton::OpenError;
use piton_store::LeaseError;

use super::storing::storing;

/// What to do about a directory whose path cannot be written down.
pub(super) const RENAME: &str =
    "a conversation records where it works, as text: rename the directory, or work in another one";

/// What to do about a conversation whose directory is gone or wrong.
const BIND: &str = "to work in another directory: piton query --workspace DIR --id ID \"TEXT\"";

pub(super) fn opening(error: &OpenError) -> Vec<String> {
    match error {
        OpenError::Unknown(_) => vec!["piton ls --all shows all conversations".into()],
        OpenError::Workspace { .. } => vec![
            "the conversation works in that directory: bring it back".into(),
            BIND.into(),
            "or begin another one here: piton query --new \"TEXT\"".into(),
        ],
        OpenError::WorkspaceName { .. } => vec![RENAME.into()],
        OpenError::Lease(LeaseError::Held { .. }) => vec![
            "to leave the message for that process, behind its turn: --queue".into(),
            "to say it to the turn that runs: --steer".into(),
            "to wait longer for it: --lock-wait SECONDS".into(),
            "or begin another conversation: piton query --new \"TEXT\"".into(),
        ],
        OpenError::Lease(LeaseError::Store(error)) | OpenError::Store(error) => storing(error),
    }
}
