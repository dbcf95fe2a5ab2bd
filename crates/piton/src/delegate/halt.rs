//! Why a worker cannot go on, and who is told.

use piton_store::{AppendError, LeaseError};
use piton_tools::{Ran, Refusal};

use crate::error::{OpenError, SessionError};

/// Why a worker cannot go on.
#[derive(Debug)]
pub(super) enum Halt {
    /// For a reason that the model can be told.
    Refused(Refusal),
    /// The store has failed. The model is told nothing of that: it would take the work for not done,
    /// and hand it out again. The conversation that it works for is in the same store, and stops too.
    Store(AppendError),
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<AppendError> for Halt {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Store(_)
            | AppendError::Fenced { .. }
            | AppendError::Conflict { .. }
            | AppendError::Unknown { .. } => Self::Store(error),
            // It would be too large the next time, too.
            AppendError::Size { .. } => failed(&error),
        }
    }
}

impl From<OpenError> for Halt {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store(error) | OpenError::Lease(LeaseError::Store(error)) => {
                Self::Store(error.into())
            }
            OpenError::Unknown(_)
            | OpenError::Workspace { .. }
            | OpenError::WorkspaceName { .. }
            | OpenError::Lease(LeaseError::Held { .. }) => {
                Refusal(format!("The worker cannot begin: {error}.")).into()
            }
        }
    }
}

impl From<SessionError> for Halt {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Append(error) => error.into(),
            SessionError::Incomplete(_)
            | SessionError::EmptyMessage
            | SessionError::Files(_)
            | SessionError::NotAsked(_)
            | SessionError::Refused(_)
            | SessionError::Shared(_)
            | SessionError::Workspace(_)
            | SessionError::Tools(_) => failed(&error),
        }
    }
}

fn failed(error: &dyn std::error::Error) -> Halt {
    Refusal(format!("The worker failed: {error}.")).into()
}

impl From<Halt> for Ran {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Refused(refusal) => Self::Finished(refusal.into()),
            Halt::Store(error) => Self::Unrecorded(Box::new(error)),
        }
    }
}
