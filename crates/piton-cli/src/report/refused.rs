//! What to do when the engine cannot go on with a turn.

use piton::SessionError;
use piton_store::AppendError;

use super::storing::storing;

pub(super) fn going_on(error: &SessionError) -> Vec<String> {
    match error {
        SessionError::Append(AppendError::Store(error)) => storing(error),
        SessionError::Append(
            AppendError::Conflict { .. }
            | AppendError::Fenced { .. }
            | AppendError::Size { .. }
            | AppendError::Unknown { .. },
        )
        | SessionError::Files(_)
        | SessionError::Incomplete(_)
        | SessionError::EmptyMessage
        | SessionError::Refused(_)
        | SessionError::Workspace(_)
        | SessionError::Tools(_)
        | SessionError::Shared(_)
        | SessionError::NotAsked(_) => {
            vec!["what was recorded is kept: piton print shows it".into()]
        }
    }
}
