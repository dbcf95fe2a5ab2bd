//! What to do when the engine refuses to open a conversation, or to go on with it.

use piton::{OpenError, SessionError};
use piton_store::{AppendError, LeaseError};

use super::storing::storing;

/// What to do about a directory whose path cannot be written down.
pub(super) const RENAME: &str =
    "a conversation records where it works, as text: rename the directory, or work in another one";

pub(super) fn opening(error: &OpenError) -> Vec<String> {
    match error {
        OpenError::Unknown(_) => vec!["piton ls shows all conversations".into()],
        OpenError::Workspace { .. } => vec![
            "the conversation works in that directory: bring it back".into(),
            "or begin another one here: piton query --new \"TEXT\"".into(),
        ],
        OpenError::WorkspaceName { .. } => vec![RENAME.into()],
        OpenError::Lease(LeaseError::Held { .. }) => vec![
            "to wait longer for it: --lock-wait SECONDS".into(),
            "or begin another conversation: piton query --new \"TEXT\"".into(),
        ],
        OpenError::Lease(LeaseError::Store(error)) | OpenError::Store(error) => storing(error),
    }
}

pub(super) fn going_on(error: &SessionError) -> Vec<String> {
    match error {
        SessionError::FileRefused { .. } => vec![
            "choose a model that takes it with --model; docs/models.md says what each takes".into(),
            "or leave it in this directory and name it, and let the tools look at it".into(),
        ],
        SessionError::FilesSize { .. } => vec!["send fewer or smaller files".into()],
        SessionError::Append(AppendError::Store(error)) => storing(error),
        SessionError::Append(
            AppendError::Conflict { .. }
            | AppendError::Fenced { .. }
            | AppendError::Size { .. }
            | AppendError::Unknown { .. },
        )
        | SessionError::Incomplete(_)
        | SessionError::EmptyMessage
        | SessionError::Refused(_)
        | SessionError::Workspace(_)
        | SessionError::Shared(_)
        | SessionError::NotAsked(_) => {
            vec!["what was recorded is kept: piton print shows it".into()]
        }
    }
}
