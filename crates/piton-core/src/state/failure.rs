//! A failed try of a model request.

use crate::event::{Event, FailureClass, Rejected};
use crate::id::Timestamp;

/// A failed try of a model request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub class: FailureClass,
    /// What was said.
    pub message: String,
    /// How long the provider asked to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Chance for the back-off, 0 to 999.
    pub jitter_permille: u16,
    /// When.
    pub at: Timestamp,
    /// Native blocks of earlier answers that were refused.
    pub rejected: Option<Rejected>,
    /// How long an outage is waited for, in milliseconds, if nobody could be reached.
    pub outage_ms_max: Option<u64>,
}

impl Failure {
    /// What a recorded failure says.
    pub(super) fn of(event: &Event, at: Timestamp) -> Option<Self> {
        let Event::ModelFailed {
            class,
            message,
            retry_after_ms,
            jitter_permille,
            rejected,
            outage_ms_max,
            ..
        } = event
        else {
            return None;
        };
        Some(Self {
            class: *class,
            message: message.clone(),
            retry_after_ms: *retry_after_ms,
            jitter_permille: *jitter_permille,
            at,
            rejected: rejected.clone(),
            outage_ms_max: *outage_ms_max,
        })
    }
}
