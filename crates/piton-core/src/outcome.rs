//! How a run of the driver left the turn: the five ways a turn ends, told by one value.

use crate::event::{BreakReason, TurnEnd};
pub use crate::state::Failure;
use crate::state::{State, Turn};

/// How a turn stands when its driver has nothing more to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model gave its final answer.
    Done,
    /// A person closed the turn.
    Closed(TurnEnd),
    /// Work was done and kept, the turn is not over. Can be resumed.
    Incomplete(Cause),
    /// The turn broke before any work was done. The message is kept; can be resumed.
    Error(Cause),
    /// Only a person can move it on.
    WaitingForInput,
    /// There is no turn.
    Nothing,
}

/// Why a turn is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The reason; none when no driver said why.
    pub reason: Option<BreakReason>,
    /// The failure behind an API error.
    pub failure: Option<Failure>,
    /// More about it, for people.
    pub message: String,
}

impl Ending {
    /// How the newest turn stands.
    pub fn of(state: &State) -> Self {
        let Some(turn) = state.turns.last() else { return Self::Nothing };
        match turn.end {
            Some(TurnEnd::Completed) => return Self::Done,
            Some(end) => return Self::Closed(end),
            None => {}
        }
        if turn.broke.is_none() && is_waiting(turn) {
            return Self::WaitingForInput;
        }
        let reason = turn.broke.as_ref().map(|broke| broke.reason);
        let failure = turn.steps().next_back().and_then(|step| step.failure.clone());
        let cause = Cause {
            reason,
            failure: failure.filter(|_| may_be_caused_by_a_failure(reason)),
            message: turn
                .broke
                .as_ref()
                .map_or_else(|| "the process was lost".into(), |broke| broke.message.clone()),
        };
        if turn.has_work() { Self::Incomplete(cause) } else { Self::Error(cause) }
    }
}

/// Whether a person is asked, in this conversation or in one that works for it.
fn is_waiting(turn: &Turn) -> bool {
    turn.pending_inquiries().next().is_some() || turn.parked().is_some()
}

/// A failed request explains an API error, a request that was too large, and a turn that nobody
/// explained; the other reasons explain themselves.
fn may_be_caused_by_a_failure(reason: Option<BreakReason>) -> bool {
    match reason {
        None | Some(BreakReason::ApiError | BreakReason::Limit) => true,
        Some(BreakReason::EmptyAnswer | BreakReason::MaxSteps | BreakReason::Interrupted) => false,
    }
}
